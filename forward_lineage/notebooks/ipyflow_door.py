"""ipyflow, if the notebook runs it: its analysis counts, and it is told of rows that changed. It is never required.

ipyflow is the successor of NBSafety. It traces each statement, so it sees what a cell does within a value; it knows
nothing of rows outside of the notebook, and does not compare values. So cells that either of the two names count, and
rows that have changed are changes of its symbols, by its `mutate`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from forward_lineage.cells.highlights import Told


class IpyflowDoor:
    """The ipyflow of a shell, whenever it is loaded: before us, after us, or never.

    Args:
        shell: of the notebook.

    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._keys: dict[Any, str] = {}  # its id of a cell → ours

    @property
    def runs(self) -> bool:
        """Whether ipyflow traces the shell."""
        return "ipyflow" in sys.modules and type(self._shell).__module__.startswith("ipyflow")

    def cell_ran(self, key: str) -> None:
        """Take note of how ipyflow calls the cell that has just run."""
        flow = self._flow()
        if flow is not None:
            self._keys[flow.last_executed_cell_id] = key

    def data_changed(self, names: Collection[str]) -> tuple[str, ...]:
        """Tell ipyflow that values of names are not what they would be now.

        Args:
            names: of variables that were made of rows that have changed.

        Returns:
            the names that it knows, and was told of; none if it does not run here.

        """
        flow = self._flow()
        if flow is None:
            return ()
        known = {symbol.name: symbol for symbol in flow.global_scope.all_symbols_this_indentation()}
        told = tuple(sorted(known.keys() & set(names)))
        for name in told:
            known[name].mutate()
        return told

    def told(self) -> Told:
        """Return the cells that ipyflow calls waiting, ready and ready makers: stale, fresh and refreshers."""
        flow = self._flow()
        if flow is None:
            return Told()
        with _as_in_the_thesis(flow.mut_settings), _as_they_were():
            found = flow.check_and_link_multiple_cells()
        stale = self._ours(found.waiting_cells)
        makers = self._ours(maker for maker, waiters in found.ready_maker_links.items() if waiters)
        return Told(stale, self._ours(found.ready_cells) - stale, makers)

    def _ours(self, ids: Iterable[Any]) -> frozenset[str]:
        return frozenset(self._keys[each] for each in ids if each in self._keys)

    def _flow(self) -> Any:
        """The analysis; None if it does not run here."""
        return sys.modules["ipyflow"].flow() if self.runs else None


@contextmanager
def _as_in_the_thesis(settings: Any) -> Iterator[None]:
    """Check by liveness, and in whatever order cells stand; its own marks may go by other rules."""
    before = settings.exec_schedule, settings.flow_order
    settings.exec_schedule = type(settings.exec_schedule).LIVENESS_BASED
    settings.flow_order = type(settings.flow_order).ANY_ORDER
    try:
        yield
    finally:
        settings.exec_schedule, settings.flow_order = before


@contextmanager
def _as_they_were() -> Iterator[None]:
    """Leave the cells as ready as they were, for its own marks."""
    cells = sys.modules["ipyflow"].cells().current_cells_for_each_id()
    ready = {cell: cell.is_ready for cell in cells}
    try:
        yield
    finally:
        for cell, was in ready.items():
            cell.set_ready(was)
