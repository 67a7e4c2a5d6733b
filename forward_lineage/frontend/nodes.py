"""The nodes that sqlglot has no class for: what Spark says with them is kept as text or as a list of arguments."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class TypedLiteral(exp.Expression, exp.Condition):
    """A literal that is more than a string or a plain number: ``DATE '1994-01-01'``, ``INTERVAL 1 DAY``, ``1L``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class KeywordCall(exp.Anonymous):
    """A call with words between its arguments: ``TRIM(BOTH 'x' FROM y)``; `words[i]` stands before `expressions[i]`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True, "words": True}


class UnaryPlus(exp.Unary):
    """``+x``: Spark keeps it, also in the name of the column."""


class PathExtract(exp.Expression, exp.Condition):
    """``v:a.b[0]``: a path into a variant or a JSON string, the path as text."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "path": True}
