"""The nodes that sqlglot has no class for: what Spark says with them is kept as text or as a list of arguments.

To sqlglot each is a function, so that its own generators print a tree that holds one, if not as Spark SQL: rules and
messages may print a part of a tree. Two nodes are equal only if they mean the same. Spellings are in `meta`, which
equality passes over, and all parts with a meaning are arguments.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class TypedLiteral(exp.Expression, exp.Func):
    """A literal that is more than a string or a plain number: ``DATE '1994-01-01'``, ``INTERVAL 1 DAY``, ``1L``."""

    _hash_raw_args = True  # the case of letters within the quotes counts
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class KeywordCall(exp.Anonymous):
    """A call with words between its arguments: ``TRIM(BOTH 'x' FROM y)``; `words[i]` stands before `expressions[i]`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True, "words": True}


class UnaryPlus(exp.Unary, exp.Func):
    """``+x``: Spark keeps it, also in the name of the column."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class UnsignedRightShift(exp.Expression, exp.Binary, exp.Func):
    """``a >>> n``: zeros move in from the left, whatever the sign."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class PathExtract(exp.Expression, exp.Func):
    """``v:a.b[0]``: a path into a variant or a JSON string, the path as text."""

    _hash_raw_args = True  # the case of a field's name counts
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "path": True}


def type_of_text(text: str) -> exp.DataType:
    """Return a type that is kept as the user wrote it: no rewrite looks into one."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=text)


LEVELS = "levels"
"""Of a CTE, an argument that sqlglot does not know: the 5 of ``WITH RECURSIVE c MAX RECURSION LEVEL 5 AS (…)``."""


class PipeStep(exp.Expression):
    """An operator of pipe syntax as the user wrote it, for printing; `frontend.pipes` says what it means.

    `this` is its word, `expressions` and `group` what is listed behind it, `query` what has a grammar of its own.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False, "group": False, "query": False}
