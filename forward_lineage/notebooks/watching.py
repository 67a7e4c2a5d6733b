"""Cells as they run: IPython's events, and what each cell reads through a `ForwardLineage`.

It watches and warns; it changes nothing of what a cell does, and an error of its own never reaches a cell.
"""

from __future__ import annotations

import ast
import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from forward_lineage.cells.notebook import Notebook
from forward_lineage.notebooks.code_in_magics import code_in_magics
from forward_lineage.notebooks.ipyflow_door import IpyflowDoor
from forward_lineage.notebooks.stale_cells import Marks, Status, Why, told_before
from forward_lineage.session import ForwardLineage
from forward_lineage.session.rows_since import Now, Read, RowsSince, reads_of
from forward_lineage.session.watching import stop_watching, watch

_ATTRIBUTE = "_forward_lineage_watching"


@dataclass
class _Reads:
    """The reads of one cell, by the session that gave it."""

    rows: list[tuple[ForwardLineage, Read]] = field(default_factory=list)

    def add(self, session: ForwardLineage, reads: set[Read]) -> None:
        self.rows += [(session, read) for read in sorted(reads, key=lambda each: (each.name, each.version))]


class Watching:
    """Watches the cells of a shell.

    Args:
        shell: an `InteractiveShell`.

    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.notebook = Notebook(shell.user_ns, lambda value: isinstance(value, ForwardLineage))
        self.missed: dict[str, str] = {}
        self._ipyflow = IpyflowDoor(shell)
        self._reads: dict[str, _Reads] = {}
        self._why: dict[str, list[Why]] = {}  # what became of rows that cells read, when it was asked last
        self._now: _Reads | None = None
        self._key = ""
        self._deep = 0  # cells that run within a cell

    # ------------------------------------------------------------ on and off

    def start(self) -> None:
        """Watch from now on."""
        self.shell.events.register("pre_run_cell", self.before)
        self.shell.events.register("post_run_cell", self.after)
        watch(self._called)
        setattr(self.shell, _ATTRIBUTE, self)

    def stop(self) -> None:
        """Watch no more."""
        for event, call in (("pre_run_cell", self.before), ("post_run_cell", self.after)):
            if call in self.shell.events.callbacks[event]:
                self.shell.events.unregister(event, call)
        stop_watching(self._called)
        delattr(self.shell, _ATTRIBUTE)

    # ------------------------------------------------------------ events

    def before(self, info: Any) -> None:
        """Take note of a cell that is about to run, and warn if it uses what is stale."""
        self._deep += 1
        if self._deep > 1 or info.silent or not info.store_history:
            return
        self._key = str(info.cell_id or _text_key(info.raw_cell))
        with self._passive(_title(None, info.raw_cell)):
            stale = self.notebook.begin(self._key, self._without_magics(info.raw_cell))
            self._now = _Reads()
            if stale:
                self._warn(stale)

    def _without_magics(self, text: str) -> str:
        """Return a cell as Python; IPython takes several times as long for that as Python for parsing it."""
        if not text.lstrip().startswith("In ["):  # a prompt that was pasted would be Python, too
            with suppress(SyntaxError):
                ast.parse(text)
                return text
        return code_in_magics(self.shell.transform_cell(text))

    def after(self, result: Any) -> None:
        """Take note of what a cell did."""
        self._deep = max(0, self._deep - 1)
        read, self._now = self._now, None
        if self._deep or read is None:
            return
        title = _title(result.execution_count, result.info.raw_cell)
        with self._passive(title):
            self.notebook.end(title, failed=not result.success, reads_data=bool(read.rows))
            self._reads[self._key] = read
            self._why.pop(self._key, None)
        if self._ipyflow.runs:
            with self._passive("ipyflow"):
                self._ipyflow.cell_ran(self._key)

    def _called(self, session: Any, call: str, arguments: tuple[Any, ...], result: Any) -> None:
        if self._now is not None:
            with self._passive(call):
                self._now.add(session, reads_of(session, call, arguments, result))

    def _warn(self, stale: frozenset[str]) -> None:
        first = [cell.title for cell in self.notebook.to_run_before(stale) if cell.key != self._key]
        self.shell.display_pub.publish(told_before(stale, first))

    @contextmanager
    def _passive(self, what: str) -> Iterator[None]:
        collects = gc.isenabled()
        gc.disable()  # what we make is gone soon; a collection now would walk through the user's new lists for nothing
        try:
            yield
        except Exception as error:  # whatever it is: the user's cell goes on
            self.missed[what] = f"{type(error).__name__}: {error}"
        finally:
            if collects:
                gc.enable()

    # ------------------------------------------------------------ what is out of date

    def status(self, *, refresh: bool = False) -> Status:
        """Compare the rows that each cell read with those that there are now, and say which cells to run again.

        Args:
            refresh: register tables again first that have changed, so that it is known which of their rows did.

        """
        compared: dict[int, RowsSince] = {}
        why: dict[str, list[Why]] = {}
        for key, reads in self._reads.items():
            found = [self._compared(compared, session, refresh=refresh).since(read) for session, read in reads.rows]
            said = list(
                dict.fromkeys(Why(each.why, each.now is Now.CHANGED) for each in found if each.now is not Now.SAME)
            )
            if said and key in self.notebook.cells:
                why[key] = said
                self.notebook.data_changed(key)
                with self._passive("ipyflow"):
                    self._ipyflow.data_changed(self.notebook.outcomes(key))
            else:
                self.notebook.data_is_same(key)
        self._why = why
        return self._status()

    def marks(self) -> Marks:
        """Return the highlights of cells for JupyterLab; rows are as they were when `status` looked at them last."""
        return Marks(self._status().marks())

    def _status(self) -> Status:
        titles = {key: cell.title for key, cell in self.notebook.cells.items()}
        told = None
        with self._passive("ipyflow"):  # an alpha: another release may call things otherwise
            told = self._ipyflow.told()
        return Status(titles, self.notebook.highlights(told), dict(self._why), dict(self.missed))

    def _compared(self, compared: dict[int, RowsSince], session: ForwardLineage, *, refresh: bool) -> RowsSince:
        if id(session) not in compared:
            reads = {read for each in self._reads.values() for owner, read in each.rows if owner is session}
            if refresh:
                for table in RowsSince(session).unregistered_changes(reads):
                    session.refresh(table)
            compared[id(session)] = RowsSince(session)
        return compared[id(session)]


def watching_of(shell: Any) -> Watching | None:
    """Return what watches a shell, if anything does."""
    return getattr(shell, _ATTRIBUTE, None)


def _text_key(text: str) -> str:
    """A key for a cell whose front end gives no id: cells with one text are one cell."""
    return "text " + hashlib.sha256(text.strip().encode()).hexdigest()[:16]


def _title(number: int | None, text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    short = first if len(first) <= 40 else first[:39] + "…"
    return short if number is None else f"[{number}] {short}"
