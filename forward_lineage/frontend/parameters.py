"""Positional parameters: `?` takes its value from its place in the text, so a rewrite may neither repeat nor move one.

They are named while the rules run, and printed as `?` again if each still stands once, and in the user's order.
"""

from __future__ import annotations

import re

from sqlglot import exp

from udafs.errors import LineageError

_PREFIX = "__positional_"
_NAMED = re.compile(rf":{_PREFIX}(\d+)\b")


def name_positional(tree: exp.Expr) -> None:
    """Give every `?` of a statement a name of its own."""
    positional = [node for node in tree.find_all(exp.Placeholder) if node.args.get("this") is None]
    for number, node in enumerate(positional):
        node.set("this", f"{_PREFIX}{number}")


def restore_positional(rewritten: str, original: str) -> str:
    """Print the named parameters as `?` again.

    Args:
        rewritten: the rewritten statement.
        original: the statement before it was rewritten, its parameters named already.

    Raises:
        LineageError: a parameter is needed twice, or before another that the user wrote first.
    """
    if _NAMED.findall(rewritten) != _NAMED.findall(original):
        raise LineageError(
            "the rewritten query needs a positional parameter (?) twice, or in another order",
            instead="Use named parameters (:name).",
        )
    return _NAMED.sub("?", rewritten)
