"""One version of a table as the log of its format describes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from forward_lineage.row_ids.formats.log_files import LogPath
from udafs.errors import DamagedError, NotTracedError
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class LiveFile:
    """A data file of a version, with what its log says of the rows in it.

    Attributes:
        path: absolute, nothing encoded; an address where it is not local.
        first_id: the id of its first row, unless the file itself has another for it.
        changed: the number of the commit that last changed its rows, unless the file itself has another for them.
        rows: how many there are; None: the log does not say.
        partition: values of the partition columns that the log has and the file does not, as text; None is NULL.
        deleted: positions of rows that the version has not any more.

    """

    path: str
    first_id: int
    changed: int
    rows: int | None = None
    partition: Mapping[str, str | None] = field(default_factory=dict)
    deleted: LineageSet = field(default_factory=LineageSet)


@dataclass(frozen=True)
class Snapshot:
    """A version of a table.

    Attributes:
        kind: what messages call the format, ``"Delta"`` or ``"Iceberg"``.
        table_id: of the table, which a table made anew in the same place does not have.
        location: the table's folder.
        version: the version's own number, as text: that of a commit, or of a snapshot.
        log: where the version is written down.
        digest: SHA-256 of what is written there, hexadecimal: a log that was made anew has another.
        order: grows with each commit; comparable with `LiveFile.changed`.
        columns: the user's columns in order, each with its Spark type.
        files: the data files, in the order of their first ids.
        next_id: the first id that was never given to a row.
        row_id: the hidden column in which files keep ids of rows that were moved.
        row_changed: the hidden column in which they keep when these were changed.
        field_ids: of columns and what is in them, by path; empty where columns are known by name.
        physical: of columns, the paths that files have for it and what is in it, its own name first; none: its own.
        defaults: what a column is in files that were written before it, as text; none: NULL.

    """

    kind: str
    table_id: str
    location: str
    version: str
    log: str
    digest: str
    order: int
    columns: tuple[tuple[str, str], ...]
    files: tuple[LiveFile, ...]
    next_id: int
    row_id: str
    row_changed: str
    field_ids: Mapping[str, int] = field(default_factory=dict)
    physical: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """The table, as messages call it."""
        return f"the {self.kind} table in {self.location}"


def digest_of(log: LogPath) -> str | None:
    """Return the SHA-256 of a part of a log, hexadecimal; None where it is not there."""
    try:
        return hashlib.sha256(log.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def damaged(kind: str, where: str, why: str) -> DamagedError:
    """Return the error that says what is wrong with a log."""
    return DamagedError(
        f"the log of the {kind} table cannot be read: {where} {why}", instead="Restore it, or write the table anew."
    )


def other_reader(what: str, why: str) -> NotTracedError:
    """Return the error for a version whose rows are not just those of its Parquet files."""
    return NotTracedError(
        f"{what} {why}, which only the format's own reader takes into account",
        instead="Save a copy in a session that has that reader, and register it: "
        'spark.table("…").write.parquet("a_copy"); or give key=, with the table\'s name.',
    )
