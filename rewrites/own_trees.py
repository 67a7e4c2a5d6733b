"""Whether a tree came through our front end: the rules know functions by the names that the user wrote.

sqlglot's own Spark dialect reads `rand()` as `exp.Rand` and `nvl(a, b)` as `exp.Coalesce`. A rule that looks for a call
by its name would not see it, and what it must refuse would pass. The front end (`forward_lineage.frontend`) keeps every
call as `exp.Anonymous`, besides the few that have a grammar of their own. Its own nodes (`TypedLiteral`, …) are no
classes of sqlglot's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sqlglot import exp

from rewrites.environment import Names
from rewrites.refusals import position_of
from udafs.errors import BadArgumentError

OWN_GRAMMAR = frozenset(
    {exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Collate, exp.Exists, exp.RegexpLike}
)
"""What sqlglot counts as functions and our dialect reads as operators: AND, CASE … WHEN, CAST, EXISTS, RLIKE, …"""


def accept(tree: exp.Expr, names: Names) -> exp.Expr:
    """Return a tree whose calls are the user's own; note the names in it that look like ours.

    Raises:
        BadArgumentError: sqlglot has given a function of the tree a meaning of its own.
    """
    for node in tree.walk():
        if isinstance(node, exp.Identifier):
            names.avoid(node.name)
        elif _has_foreign_meaning(node):
            raise BadArgumentError(
                f"{node.sql('spark')} was read as exp.{type(node).__name__}: this tree is not the front end's",
                at=position_of(node),
                instead="Give the text to rewrite_sql, or parse it with dialect=FaithfulSpark of"
                " forward_lineage.frontend.dialect, which keeps every call by its name.",
            )
    return tree


def _has_foreign_meaning(node: exp.Expr) -> bool:
    """Say whether a node is a function of sqlglot's that our dialect never makes."""
    if not isinstance(node, exp.Func) or isinstance(node, exp.Anonymous) or type(node) in OWN_GRAMMAR:
        return False
    return type(node).__module__.partition(".")[0] == "sqlglot"


def accepting(parse: Callable[[str], exp.Expr], names: Names) -> Callable[[str], exp.Expr]:
    """Return a `parse` whose trees are accepted: fragments of the catalog and texts of views come through here."""

    def accepted(text: str) -> exp.Expr:
        names.taken.update(_names_in(parse, text))
        return parse(text)

    return accepted


@lru_cache(maxsize=1024)
def _names_in(parse: Callable[[str], exp.Expr], text: str) -> frozenset[str]:
    """Accept what a text is parsed to, and return the names in it that look like ours; the same few come every time."""
    names = Names()
    accept(parse(text), names)
    return frozenset(names.taken)
