"""How the rows of a version are read by Spark's own Parquet reader, each with the id that its format gives it.

The log says which files there are; their footers say which columns each has. Files that are alike are read together,
and missing values are put in. These are NULL for a column that came later, and the value in the log for one that the
table is partitioned by. A row without a written id gets `first id + position`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import SparkSession

from forward_lineage.row_ids.data_files import PARQUET_MARK, DataFile, first_missing, of_footer, read_footers
from forward_lineage.row_ids.formats.snapshot import LiveFile, Snapshot, damaged, other_reader
from forward_lineage.row_ids.written_sql import Part, can_be_cast
from forward_lineage.spark import far_files
from forward_lineage.spark.paths import is_far
from udafs.delta import MAX_ID
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PARTS = 200
"""Of files that are not alike; Spark resolves each on its own, and all stand in the SQL of a query."""
_READERS = 16
#: Types of partition columns whose values the log writes in one way that CAST reads.
_PLAIN = ("string", "tinyint", "smallint", "int", "bigint", "date", "boolean", "decimal")
_FIELD_ID = b"PARQUET:field_id"
#: Type of a column → types of Arrow in files that were written before it was widened; all values are kept by CAST.
_NARROWER = {
    "smallint": ("int8",),
    "int": ("int8", "int16"),
    "bigint": ("int8", "int16", "int32"),
    "double": ("float", "int8", "int16", "int32"),
}
#: Types as Arrow writes them, and as Spark does. Times of Spark's first format have no zone in Arrow.
_SPARK_KINDS = [
    (re.compile(rf"\b{arrow}(?=[,>]|$)"), spark)
    for arrow, spark in (
        *(("int64", "bigint"), ("int32", "int"), ("int16", "smallint"), ("int8", "tinyint"), ("bool", "boolean")),
        *((r"date32\[day\]", "date"), (r"timestamp\[us, tz=UTC\]", "timestamp"), (r"timestamp\[ns\]", "timestamp")),
        *((r"timestamp\[us\]", "timestamp_ntz"), (r"decimal128\((\d+), (\d+)\)", r"decimal(\1,\2)")),
    )
]
_INNER_NAME = re.compile(r"[^<>,:()]+:")
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
#: Characters of the rows that are gone, in the SQL of a query.
_MOST_DELETED = 8 << 20


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


def files_and_parts(
    spark: SparkSession, snapshot: Snapshot, there: Sequence[DataFile]
) -> tuple[tuple[DataFile, ...], tuple[Part, ...]]:
    """Return the files of a version, the offset of each its first id, and how they are read.

    Args:
        spark: a session that reaches the files.
        snapshot: the version.
        there: its files, as far as they are there.

    Raises:
        DamagedError: a file is missing, or is not what the log says.
        NotTracedError: rows are not just what stands in the files; some are local, others not; too many are not alike.

    """
    live = snapshot.files
    if not live:
        for column, kind in snapshot.columns:
            _check_cast(snapshot, column, kind)
        return (), ()
    far = [file.path for file in live if is_far(file.path)]
    if far and len(far) < len(live):
        raise NotTracedError(
            f"{snapshot.what} has local files and files on another file system ({far[0].partition(':')[0]}:)",
            instead="Give key=, with the name that Spark knows the table by.",
        )
    if {column.lower() for column, _ in snapshot.columns} & {snapshot.row_id.lower(), snapshot.row_changed.lower()}:
        raise other_reader(snapshot.what, f"has a column called {snapshot.row_id} or {snapshot.row_changed}")
    found = _found_again(snapshot, there)
    files, footers = _far_footers(spark, snapshot, found) if far else _near_footers(snapshot, found)
    alike: dict[_Shape, list[int]] = {}
    for at, (file, footer) in enumerate(zip(live, footers, strict=True)):
        alike.setdefault(_shape(snapshot, file, footer), []).append(at)
    _check_types(snapshot, alike)
    if len(alike) > MOST_PARTS:
        raise other_reader(snapshot.what, f"has {len(alike)} partitions, and more than {MOST_PARTS}")
    return files, tuple(
        replace(shape.part, files=tuple(at), deleted=_deleted([live[each] for each in at]))
        for shape, at in alike.items()
    )


def _found_again(snapshot: Snapshot, there: Sequence[DataFile]) -> list[DataFile]:
    paths = [file.path for file in snapshot.files]
    if gone := first_missing(paths, there):
        raise damaged(snapshot.kind, gone, "is in the log, and is not there")
    by_path = {file.path: file for file in there}
    return [by_path[path] for path in paths]


def _near_footers(snapshot: Snapshot, found: Sequence[DataFile]) -> tuple[tuple[DataFile, ...], list[_Footer]]:
    files = _placed(snapshot, read_footers(found))
    with ThreadPoolExecutor(_READERS) as pool:
        return files, list(pool.map(_footer, (file.path for file in files), (file.path for file in files)))


def _far_footers(
    spark: SparkSession, snapshot: Snapshot, found: Sequence[DataFile]
) -> tuple[tuple[DataFile, ...], list[_Footer]]:
    """Each footer is read once: row counts, checksums and columns are all in it."""
    read, footers = [], []
    for file, data in zip(
        found, far_files.whole_footers(spark, [(file.path, file.size) for file in found]), strict=True
    ):
        read.append(of_footer(file, data))
        footers.append(_footer(file.path, io.BytesIO(PARQUET_MARK + data)))
    return _placed(snapshot, read), footers


def _placed(snapshot: Snapshot, read: Sequence[DataFile]) -> tuple[DataFile, ...]:
    _check_ids(snapshot, read)
    return tuple(replace(file, offset=said.first_id) for said, file in zip(snapshot.files, read, strict=True))


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


def _footer(path: str, source: str | io.BytesIO) -> _Footer:
    from pyarrow import parquet  # noqa: PLC0415 - half a second that a table of another kind does not need

    with parquet.ParquetFile(source) as opened:
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


def _found(snapshot: Snapshot, footer: _Footer, column: str) -> str | None:
    """Return the name, in lower case, under which a file has a column; None: it has not.

    Raises:
        NotTracedError: what is in it has other names or numbers there.

    """
    if column in snapshot.physical:
        paths = snapshot.physical[column]
        name = paths[0]
        there = [path for path, (top, _) in footer.ids.items() if top == name]
        if there and there != list(paths):
            raise other_reader(snapshot.what, f"has files in which {column} is made of other fields")
        return name.lower() if there else None
    if not snapshot.field_ids:
        return column.lower() if column.lower() in footer.names else None
    if all(number is None for _, number in footer.ids.values()):
        raise other_reader(snapshot.what, f"has files in which {column} is another column, or has another name")
    wanted = snapshot.field_ids[column]
    own = (top for path, (top, number) in footer.ids.items() if path == top and number == wanted)
    found = next(own, None)
    for path, (top, number) in footer.ids.items() if found is not None else ():
        if top == found and snapshot.field_ids.get(column + path.removeprefix(top)) != number:
            raise other_reader(snapshot.what, f"has files in which {path} is another column, or has another name")
    return None if found is None else found.lower()


def _put_in(snapshot: Snapshot, file: LiveFile, column: str, kind: str) -> str | None:
    """Return the value of a column that a file has not."""
    value = file.partition.get(column)
    if value is not None and kind.partition("(")[0] not in _PLAIN:
        raise other_reader(snapshot.what, f"is partitioned by {column}, whose values are of type {kind}")
    if not can_be_cast(kind):
        raise other_reader(snapshot.what, f"has files without {column}, of type {kind}")
    return value if column in file.partition else snapshot.defaults.get(column)


def _is_widened(kind: str, found: str) -> bool:
    """Tell whether a file has a narrower type than its column, each of whose values the column's type has."""
    if wider := _DECIMAL.fullmatch(kind):
        narrower = _DECIMAL.fullmatch(found.replace("decimal128", "decimal"))
        return narrower is not None and narrower[2] == wider[2] and int(narrower[1]) < int(wider[1])
    return found in _NARROWER.get(kind, ())


@dataclass(frozen=True)
class _Shape:
    """How a file is read: those of one shape are read together.

    Attributes:
        part: what is the same in all of them, deleted rows left out.
        types: of the columns that are read, in the file.
        has_deleted: whether rows of it are gone.
        numbered: whether it has numbers of columns; Spark takes those of one file for those of all that it reads.

    """

    part: Part
    types: tuple[str | None, ...]
    has_deleted: bool
    numbered: bool


def _shape(snapshot: Snapshot, file: LiveFile, footer: _Footer) -> _Shape:
    put_in: dict[str, str | None] = {}
    renamed: dict[str, str] = {}
    cast, types = [], []
    for column, kind in snapshot.columns:
        name = None if column in file.partition else _found(snapshot, footer, column)
        types.append(None if name is None else footer.types[name])
        if name is None:
            put_in[column] = _put_in(snapshot, file, column, kind)
            continue
        if name != column.lower():
            renamed[column] = footer.names[name]
        # A column that is not computed keeps what the file says of it: numbers, which a file that is made of it lacks.
        if _is_widened(kind, footer.types[name]) or column in snapshot.physical:
            _check_cast(snapshot, column, kind)
            if not _is_widened(kind, footer.types[name]):
                _check_mapped(snapshot, column, kind, footer.types[name])
            cast.append(column)
    row_id, row_changed = (_hidden(snapshot, file, footer, name) for name in (snapshot.row_id, snapshot.row_changed))
    part = Part(tuple(put_in.items()), row_id, row_changed, (), tuple(renamed.items()), tuple(cast))
    numbered = any(number is not None for _, number in footer.ids.values())
    return _Shape(part, tuple(types), bool(file.deleted), numbered)


def _check_mapped(snapshot: Snapshot, column: str, kind: str, found: str) -> None:
    """A column that is cast only to lose what the file says of it has its type there, but for names in it."""
    spark = found.replace("list<", "array<")
    for arrow, name in _SPARK_KINDS:
        spark = arrow.sub(name, spark)
    if _INNER_NAME.sub(":", spark) != _INNER_NAME.sub(":", kind):
        raise other_reader(snapshot.what, f"has files in which {column} has another type")


def _check_cast(snapshot: Snapshot, column: str, kind: str) -> None:
    if not can_be_cast(kind):
        raise other_reader(snapshot.what, f"has files in which {column}, of type {kind}, has other names")


def _hidden(snapshot: Snapshot, file: LiveFile, footer: _Footer, name: str) -> str | None:
    """Return the name of a column that the format itself put into a file, if it is there."""
    if name.lower() not in footer.names:
        return None
    if snapshot.field_ids and footer.ids[footer.names[name.lower()]][1] != snapshot.field_ids[name]:
        raise other_reader(snapshot.what, f"has files in which {name} is another column, or has another name")
    if footer.types[name.lower()] != "int64":
        raise damaged(snapshot.kind, file.path, f"has a column {name} that is no BIGINT")
    return name


def _check_types(snapshot: Snapshot, shapes: Iterable[_Shape]) -> None:
    """One column, one type, but for those that are cast."""
    seen: dict[str, str] = {}
    for shape in shapes:
        for (column, _), kind in zip(snapshot.columns, shape.types, strict=True):
            if kind is not None and column not in shape.part.cast and seen.setdefault(column, kind) != kind:
                raise other_reader(snapshot.what, f"has files in which {column} has another type")


def _deleted(live: Sequence[LiveFile]) -> str:
    """Write the positions of rows that are gone, as ids, in the bytes of a set."""
    gone = [file.deleted.ids() + file.first_id for file in live if file.deleted]
    if not gone:
        return ""
    written = LineageSet(np.concatenate(gone)).to_bytes().hex()
    if len(written) > _MOST_DELETED:
        raise NotTracedError(
            f"deletion vectors take too many rows out of files: {sum(map(len, gone))} of them",
            instead="Write the files anew: REORG TABLE … APPLY (PURGE) in Delta, rewrite_data_files in Iceberg.",
        )
    return written
