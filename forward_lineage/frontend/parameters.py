"""Positional parameters: `?` takes its value from its place in the text, and a rewrite may repeat or move one.

They are named while the rules run and then printed as `?` again. The user's value that each takes is noted. A session
gives the values in that order; if only the text is wanted, another order is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from forward_lineage.frontend.dialect import print_verbatim
from udafs.errors import NotTracedError

_PREFIX = "__positional_"
_NAMED = re.compile(rf":{_PREFIX}(\d+)\b")


def name_positional(tree: exp.Expr) -> None:
    """Give every `?` of a statement a name of its own, numbered in the order of the user's text."""
    positional = [node for node in tree.find_all(exp.Placeholder) if node.args.get("this") is None]
    for number, node in enumerate(positional):
        node.set("this", f"{_PREFIX}{number}")
    in_order = _NAMED.findall(print_verbatim(tree)) if positional else []
    for place, number in enumerate(in_order):
        positional[int(number)].set("this", f"{_PREFIX}{place}")


def restore_positional(sql: str) -> tuple[str, tuple[int, ...]]:
    """Print the named parameters as `?` again.

    Args:
        sql: a statement whose parameters were named.

    Returns:
        the statement, and for each `?` in it the number, from 0, of the user's `?` that it stands for.
    """
    return _NAMED.sub("?", sql), tuple(int(number) for number in _NAMED.findall(sql))


def in_order(places: Sequence[int]) -> bool:
    """Say whether the user's values can be given to a rewritten statement unchanged."""
    return list(places) == list(range(len(places)))


def refuse_other_order(places: Sequence[int]) -> None:
    """Refuse a rewritten statement to which the user's values cannot be given unchanged.

    Raises:
        NotTracedError: a parameter is needed twice, left out, or needed before another that the user wrote first.
    """
    if not in_order(places):
        raise NotTracedError(
            "the rewritten query needs a positional parameter (?) twice, or in another order",
            instead="Use named parameters (:name).",
        )
