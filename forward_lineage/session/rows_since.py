"""Whether rows that somebody read are what they were: of a table, or of a saved result, in some version.

Of a saved result the decision is that of `update`: a query that would give the same rows leaves it as it is, whatever
came to its tables. Of a table that a query read without saving, each row that changed counts: nobody knows the rows
that it looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forward_lineage.results import DECIDED_BY, meaning_of
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.session.session import ForwardLineage
from forward_lineage.showing.plain_text import counted
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.updating.row_differences import row_differences
from forward_lineage.store.updating.updating import Way
from udafs.errors import LineageError

_LISTED = 5
#: Calls that look at what there is, or change it, and give no rows to a cell.
_NO_READS = {
    *("register", "refresh", "unregister", "tables", "results", "drop", "stale", "changed", "update", "updates"),
    *("step", "pipeline", "show", "shown", "rewrite", "explain", "to_run", "ids"),
}


@dataclass(frozen=True)
class Read:
    """Rows that were read.

    Attributes:
        name: of a table or saved result.
        version: of it.
        is_result: whether it is a saved result.

    """

    name: str
    version: int
    is_result: bool


class Now(StrEnum):
    """The fate of rows."""

    SAME = "same"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Since:
    """The fate of rows that were read.

    Attributes:
        read: the rows.
        now: whether they are what they were.
        why: which of them are not, or why that is not known.

    """

    read: Read
    now: Now
    why: str = ""


def reads_of(session: ForwardLineage, call: str, arguments: tuple[Any, ...], result: Any) -> set[Read]:
    """Return the rows that a call of a session has read, as far as it says."""
    if call in _NO_READS:
        return set()
    if isinstance(result, SavedResult):
        return {Read(result.name, result.version, is_result=True)}
    found = _of_frame(session, result)
    if not found and arguments and isinstance(arguments[0], str):
        found = _named(session, arguments[0])
    return found


def _of_frame(session: ForwardLineage, frame: Any) -> set[Read]:
    meaning = meaning_of(frame) if hasattr(frame, "schema") else None
    tables = [] if meaning is None else [*meaning["tables"], *meaning.get(DECIDED_BY, ())]
    return {_read(session, table["name"], table["version"]) for table in tables}


def _named(session: ForwardLineage, name: str) -> set[Read]:
    if not name.replace(".", "_").isidentifier():
        return set()
    parts = session._parts
    saved = parts.library.find(name)
    if saved is not None:
        return {Read(saved.name, saved.version, is_result=True)}
    manifest = parts.tables.get(name)
    return set() if manifest is None else {Read(manifest.name, manifest.version, is_result=False)}


def _read(session: ForwardLineage, name: str, version: int) -> Read:
    saved = session._parts.library.find(name)
    if saved is None:
        return Read(name, version, is_result=False)
    return Read(name, saved.version, is_result=True)


class RowsSince:
    """Compares rows that were read with those that there are now; each result and table once.

    Args:
        session: whose they are.

    """

    def __init__(self, session: ForwardLineage) -> None:
        self._session, self._parts = session, session._parts
        self._known: dict[Read, Since] = {}

    def unregistered_changes(self, reads: set[Read]) -> list[str]:
        """Return the base tables behind rows that have changed, and that nobody registered again."""
        tables = {table for read in reads for table in self._base_tables(read)}
        now = self._parts.questions.tables_now
        return sorted(name for name in tables if self._parts.tables.get(name) and now.version(name) is None)

    def since(self, read: Read) -> Since:
        """Say what has become of rows."""
        if read not in self._known:
            try:
                self._known[read] = self._result(read) if read.is_result else self._table(read)
            except LineageError as error:
                self._known[read] = Since(read, Now.UNKNOWN, str(error))
        return self._known[read]

    def _base_tables(self, read: Read) -> set[str]:
        if not read.is_result:
            return {read.name}
        saved = self._parts.library.find(read.name)
        edges = saved.inputs if saved is not None else ()
        found = {edge.name for edge in edges if not edge.is_result}
        for edge in edges:
            if edge.is_result and edge.name.lower() != read.name.lower():
                found |= self._base_tables(Read(edge.name, edge.version, is_result=True))
        return found

    def _table(self, read: Read) -> Since:
        now = self._parts.questions.tables_now.version(read.name)
        if now == read.version:
            return Since(read, Now.SAME)
        if now is None:
            return Since(read, Now.UNKNOWN, f'{read.name} has changed; run lineage.refresh("{read.name}")')
        tables = self._parts.tables
        kept = tables.registrations.version(read.name, read.version)
        try:
            changes = tables.changes(kept, tables.registered(read.name))
        except LineageError as error:
            return Since(read, Now.CHANGED, f"{read.name} has changed, and which rows is not known: {error.what}")
        return _said(read, changes)

    def _result(self, read: Read) -> Since:
        saved = self._parts.library.get(read.name)
        if saved.version != read.version:
            changes = row_differences(self._parts.library.get(read.name, read.version), saved)
            if changes:
                return _said(read, changes)
        unregistered = self.unregistered_changes({read})
        if unregistered:
            calls = ", ".join(f'lineage.refresh("{name}")' for name in unregistered)
            return Since(read, Now.UNKNOWN, f"{', '.join(unregistered)} has changed; run {calls}")
        step = next((each for each in self._steps(read.name) if each.result == saved.name), None)
        if step is None or step.way is Way.UNTOUCHED:
            return Since(read, Now.SAME)
        rows = "; ".join(filter(None, (self._table_changes(edge.name, edge.version) for edge in saved.inputs)))
        return Since(read, Now.CHANGED, f"{rows or step.why}; {read.name} would be {_SAID[step.way]}: {step.why}")

    def _steps(self, name: str) -> list[Any]:
        return list(self._session.updates(name, plan=True))

    def _table_changes(self, name: str, version: int) -> str:
        if self._parts.library.find(name) is not None:
            return ""
        found = self._table(Read(name, version, is_result=False))
        return found.why if found.now is Now.CHANGED else ""


_SAID = {
    Way.PARTLY: "made again in part",
    Way.RECOMPUTED: "computed again",
    Way.DEPENDS: "perhaps another one",
    Way.LEFT: "left as it is",
}


def _said(read: Read, changes: RowChanges) -> Since:
    if not changes:
        return Since(read, Now.SAME)
    kinds = ((changes.gone, "went"), (changes.came, "came"), (changes.differs, "differ"))
    parts = [f"{counted(len(ids), 'row')} {kind} ({_listed(ids)})" for ids, kind in kinds if ids]
    return Since(read, Now.CHANGED, f"of {read.name} {', '.join(parts)}")


def _listed(ids: Any) -> str:
    first = [str(each) for each in ids.ids()[:_LISTED]]
    return ", ".join([*first, "…"] if len(ids) > _LISTED else first)
