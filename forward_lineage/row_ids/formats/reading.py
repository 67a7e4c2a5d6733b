"""How the rows of a version are read by Spark's own Parquet reader, each with the id that its format gives it.

The log says which files there are; their footers say which columns each has. Files that are alike are read together,
and missing values are put in. These are NULL for a column that came later, and the value in the log for one that the
table is partitioned by. A row without a written id gets `first id + position`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forward_lineage.row_ids.data_files import DataFile, read_footers, stat_files
from forward_lineage.row_ids.formats.snapshot import LiveFile, Snapshot, damaged, other_reader
from forward_lineage.row_ids.written_sql import Part, can_be_cast
from forward_lineage.spark.paths import is_far
from udafs.delta import MAX_ID
from udafs.errors import BadArgumentError, NotTracedError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PARTS = 200
"""Of files that are not alike; Spark resolves each on its own, and all stand in the SQL of a query."""
_READERS = 16
#: Types of partition columns whose values the log writes in one way that CAST reads.
_PLAIN = ("string", "tinyint", "smallint", "int", "bigint", "date", "boolean", "decimal")
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class _Footer:
    """The columns that a file has.

    Attributes:
        names: their spelling, by name in lower case.
        types: by name in lower case.
        ids: of fields, by path: the column that it is in, and its number, if the file says one.

    """

    names: Mapping[str, str]
    types: Mapping[str, str]
    ids: Mapping[str, tuple[str, int | None]]


def with_rows(snapshot: Snapshot) -> Snapshot:
    """Return a version without the files that have no rows, by the log."""
    return replace(snapshot, files=tuple(file for file in snapshot.files if file.rows != 0))


def files_and_parts(snapshot: Snapshot) -> tuple[tuple[DataFile, ...], tuple[Part, ...]]:
    """Return the files of a version, the offset of each its first id, and how they are read.

    Raises:
        DamagedError: a file is missing, or is not what the log says.
        NotTracedError: rows are not just what stands in the files; files elsewhere; too many that are not alike.

    """
    live = snapshot.files
    if not live:
        raise BadArgumentError(f"{snapshot.what} has no rows", instead="Write some, and register it then.")
    if far := next((file.path for file in live if is_far(file.path)), None):
        raise NotTracedError(
            f"{snapshot.what} has files on another file system ({far.partition(':')[0]}:), where footers are not read",
            instead="Give key=, with the name that Spark knows the table by.",
        )
    if {column.lower() for column, _ in snapshot.columns} & {snapshot.row_id.lower(), snapshot.row_changed.lower()}:
        raise other_reader(snapshot.what, f"has a column called {snapshot.row_id} or {snapshot.row_changed}")
    files = _placed(snapshot, live)
    with ThreadPoolExecutor(_READERS) as pool:
        footers = list(pool.map(_footer, (file.path for file in files)))
    _check_types(snapshot, footers)
    alike: dict[Part, list[int]] = {}
    for at, (file, footer) in enumerate(zip(live, footers, strict=True)):
        alike.setdefault(_part(snapshot, file, footer), []).append(at)
    if len(alike) > MOST_PARTS:
        raise other_reader(snapshot.what, f"has {len(alike)} partitions, and more than {MOST_PARTS}")
    return files, tuple(replace(part, files=tuple(at)) for part, at in alike.items())


def _placed(snapshot: Snapshot, live: Sequence[LiveFile]) -> tuple[DataFile, ...]:
    found = {file.path: file for file in stat_files(file.path for file in live)}
    if gone := next((file.path for file in live if file.path not in found), None):
        raise damaged(snapshot.kind, gone, "is in the log, and is not there")
    read = read_footers([found[file.path] for file in live])
    _check_ids(snapshot, read)
    return tuple(replace(file, offset=said.first_id) for said, file in zip(live, read, strict=True))


def _check_ids(snapshot: Snapshot, read: Sequence[DataFile]) -> None:
    """Each file has the rows that the log says, and ids of its own for them, of those that were given."""
    end = 0
    for said, file in zip(snapshot.files, read, strict=True):
        if said.rows is not None and said.rows != file.rows:
            raise damaged(snapshot.kind, file.path, f"has {file.rows} rows, and {said.rows} by the log")
        if said.first_id < end:
            raise damaged(snapshot.kind, file.path, "has rows with the ids of another file")
        end = said.first_id + file.rows
    if end > min(snapshot.next_id, MAX_ID):
        raise damaged(
            snapshot.kind, snapshot.log, f"says that ids go up to {snapshot.next_id - 1}, and there is {end - 1}"
        )


def _footer(path: str) -> _Footer:
    from pyarrow import parquet  # noqa: PLC0415 - half a second that a table of another kind does not need

    with parquet.ParquetFile(path) as opened:
        schema = opened.schema_arrow
    fields = {each.name.lower(): each for each in schema}
    if len(fields) < len(schema):
        raise NotTracedError(f"{path} has two columns of one name", instead="Give one of them another name.")
    names = {low: each.name for low, each in fields.items()}
    types = {low: _kind(each.type) for low, each in fields.items()}
    return _Footer(
        names, types, {path: (each.name, number) for each in schema for path, number in _ids(each, each.name)}
    )


def _kind(kind: pa.DataType) -> str:
    """Write a type without what does not matter: whether NULL may be, numbers of fields, names of elements."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{each.name}:{_kind(each.type)}' for each in kind)}>"
    if pa.types.is_map(kind):
        return f"map<{_kind(kind.key_type)},{_kind(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_kind(kind.value_type)}>"
    return str(kind).removeprefix("large_")


def _ids(each: pa.Field, path: str) -> Iterator[tuple[str, int | None]]:
    import pyarrow as pa  # noqa: PLC0415

    said = (each.metadata or {}).get(_FIELD_ID)
    yield path, None if said is None else int(said)
    if pa.types.is_struct(each.type):
        for inner in each.type:
            yield from _ids(inner, f"{path}.{inner.name}")
    elif pa.types.is_map(each.type):
        yield from _ids(each.type.key_field, f"{path}{{}}")
        yield from _ids(each.type.item_field, f"{path}[]")
    elif pa.types.is_list(each.type) or pa.types.is_large_list(each.type):
        yield from _ids(each.type.value_field, f"{path}[]")


def _check_types(snapshot: Snapshot, footers: Sequence[_Footer]) -> None:
    """One column, one type; and where a format knows columns by number, one number, which a new column has not."""
    for column, _ in snapshot.columns:
        low = column.lower()
        if len({footer.types[low] for footer in footers if low in footer.types}) > 1:
            raise other_reader(snapshot.what, f"has files in which {column} has another type")
    for footer in footers:
        if (odd := _other_column(snapshot, footer)) is not None:
            raise other_reader(snapshot.what, f"has files in which {odd} is another column, or has another name")


def _other_column(snapshot: Snapshot, footer: _Footer) -> str | None:
    """Where a format knows columns by number: name one that has another number, or a number under another name."""
    names = {column.lower() for column, _ in snapshot.columns} | {snapshot.row_id, snapshot.row_changed}
    numbers = set(snapshot.field_ids.values())
    for path, (column, number) in footer.ids.items() if numbers else ():
        if (column.lower() in names or number in numbers) and snapshot.field_ids.get(path) != number:
            return path
    return None


def _put_in(snapshot: Snapshot, file: LiveFile, column: str, kind: str) -> str | None:
    """Return the value of a column that a file has not."""
    value = file.partition.get(column)
    if value is not None and kind.partition("(")[0] not in _PLAIN:
        raise other_reader(snapshot.what, f"is partitioned by {column}, whose values are of type {kind}")
    if not can_be_cast(kind):
        raise other_reader(snapshot.what, f"has files without {column}, of type {kind}")
    return value


def _part(snapshot: Snapshot, file: LiveFile, footer: _Footer) -> Part:
    put_in = {
        column: _put_in(snapshot, file, column, kind)
        for column, kind in snapshot.columns
        if column in file.partition or column.lower() not in footer.names
    }
    row_id, row_changed = (
        name if name.lower() in footer.names else None for name in (snapshot.row_id, snapshot.row_changed)
    )
    for name in (row_id, row_changed):
        if name is not None and footer.types[name.lower()] != "int64":
            raise damaged(snapshot.kind, file.path, f"has a column {name} that is no BIGINT")
    return Part(tuple(put_in.items()), row_id, row_changed)
