"""Spark SQL as sqlglot reads and prints it, made faithful: what goes in comes out.

sqlglot translates between dialects, so its Spark parser gives well-known functions a meaning of their own and prints them under
another name (`nvl` → `coalesce`, `substr` → `substring`, `uuid(3)` → `uuid()`). Here nothing is translated: a function call keeps
the name and the arguments that the user wrote. Only calls with a grammar of their own (`CAST(x AS t)`) get a node of their own.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

# Calls whose arguments are not a plain list of expressions; everything else stays as written.
_SPECIAL_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY")
# Nodes that sqlglot rewrites for older Sparks on printing (QUALIFY to a subquery, nested WITH to the top, …).
_PRINTED_AS_READ = (exp.Select, exp.Create, exp.With, exp.CTE)


class FaithfulParser(SparkParser):
    """Keeps function calls as written."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name in _SPECIAL_GRAMMAR
    }


class FaithfulGenerator(SparkGenerator):
    """Prints nodes as they were read."""

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expression]]] = set()
    TABLESAMPLE_SEED_KEYWORD = "REPEATABLE"
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        node: transform for node, transform in SparkGenerator.TRANSFORMS.items() if node not in _PRINTED_AS_READ
    }


class FaithfulSpark(Spark):
    """Spark SQL, read and printed without translation."""

    Parser = FaithfulParser
    Generator = FaithfulGenerator


def print_sql(tree: exp.Expression) -> str:
    """Print a tree as one line of Spark SQL, function names as the user wrote them."""
    return tree.sql(dialect=FaithfulSpark, normalize_functions=False, comments=False)
