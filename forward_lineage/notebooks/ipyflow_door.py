"""ipyflow, if the notebook runs it: rows that have changed are changes of its symbols. It is never required.

ipyflow is the successor of NBSafety. It traces each statement, so it knows more of a notebook's names than we do. It
knows nothing of rows outside of the notebook, so that is what it is told, by its `mutate`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any


def data_changed(shell: Any, names: Collection[str]) -> tuple[str, ...]:
    """Tell ipyflow that values of names are not what they would be now.

    Args:
        shell: of the notebook.
        names: of variables that were made of rows that have changed.

    Returns:
        the names that it knows, and was told of; none if it does not run here.

    """
    known = _symbols(shell)
    told = []
    for name in sorted(names):
        symbol = known.get(name)
        if symbol is not None:
            symbol.mutate()
            told.append(name)
    return tuple(told)


def _symbols(shell: Any) -> dict[str, Any]:
    """The symbols of the notebook by name, in whatever of its versions runs; empty if none does."""
    module = sys.modules.get("ipyflow")
    if module is None or not type(shell).__module__.startswith("ipyflow"):
        return {}
    try:
        scope = module.flow().global_scope
        return {symbol.name: symbol for symbol in scope.all_symbols_this_indentation()}
    except Exception:  # an alpha: another release may call it otherwise
        return {}
