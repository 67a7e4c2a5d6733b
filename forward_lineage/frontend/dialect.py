"""Spark SQL as sqlglot reads and prints it, made faithful: what goes in comes out.

sqlglot translates between dialects. So its Spark parser gives well-known functions a meaning of their own, and prints
them under another name. (Examples are `nvl` → `coalesce`, `substr` → `substring`, `uuid(3)` → `uuid()`.) Here nothing
is translated.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from forward_lineage.frontend.printing import FaithfulGenerator, VerbatimGenerator
from forward_lineage.frontend.reading import FaithfulParser, FaithfulTokenizer


class FaithfulSpark(Spark):
    """Spark SQL, read and printed without translation."""

    NORMALIZE_NOT_NULL = False
    SUPPORTS_ORDER_BY_ALL = False  # to sqlglot, any expression whose name is ALL: `all`, t.all
    Tokenizer = FaithfulTokenizer
    Parser = FaithfulParser
    Generator = FaithfulGenerator


def print_sql(tree: exp.Expr) -> str:
    """Print a tree as one line of Spark SQL, names as the user wrote them."""
    return FaithfulGenerator(dialect=FaithfulSpark, normalize_functions=False, comments=False).generate(
        tree, copy=False
    )


def print_verbatim(tree: exp.Expr) -> str:
    """Print an unchanged tree with the user's own spellings, to be compared with what they wrote."""
    return VerbatimGenerator(dialect=FaithfulSpark, normalize_functions=False, comments=False).generate(
        tree, copy=False
    )
