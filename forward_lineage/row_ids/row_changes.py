"""The rows of a table that went, came or differ between two versions of its registration, whatever gives them ids.

By position: a file that both versions have, has the same rows in both, and no id is given twice. So ids of files that
are gone went, and those of new ones came. By a log: see `formats.changes`. By a key: an id may stand for other values
now. So the rows of both versions are read and compared by `row_hash`. Those of the earlier one must still be there, as
in the copy of before (`Manifest.keeps_old_rows`), or hashes of them (`kept_hashes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.row_ids import kept_hashes
from forward_lineage.row_ids.checks import check_files, current_files, first_change
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.file_locations import files_under
from forward_lineage.row_ids.formats.changes import CAME, DIFFERS, GONE, changed_rows
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.parquet_function import by_kernel
from forward_lineage.row_ids.row_hash import row_hash
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.versions import arrow_frame, arrow_table
from rewrites.tables import BaseTable
from udafs.errors import ChangedError, LineageError, NotTracedError
from udafs.lineage_set import LineageSet

_WRITTEN = "written"  # came or differs
_MOST_COMPARED = 1000  # rows that differ: of more it is not told in which columns


@dataclass(frozen=True)
class Version:
    """A version of a table's registration.

    Attributes:
        manifest: what it says.
        path: where it is kept.
        table: how its rows are read.

    """

    manifest: Manifest
    path: Path
    table: BaseTable


@dataclass(frozen=True)
class RowChanges:
    """Ids of the rows that are not what they were.

    Attributes:
        gone: of rows that went.
        came: of rows that came.
        differs: of rows that have other values now.
        columns: in which of their columns, by name; None: that is not known.

    """

    gone: LineageSet
    came: LineageSet
    differs: LineageSet
    columns: frozenset[str] | None = None

    @property
    def before(self) -> LineageSet:
        """The ids of rows that the earlier version has, and the later one not, or not so."""
        return self.gone | self.differs

    @property
    def after(self) -> LineageSet:
        """The ids of rows that the later version has, and the earlier one not, or not so."""
        return self.came | self.differs

    def __bool__(self) -> bool:
        return bool(self.gone or self.came or self.differs)

    def as_frame(self, spark: SparkSession, kinds: bool) -> DataFrame:
        """Return ``row_id BIGINT, change STRING``; see `ForwardLineage.changed`."""
        names = (GONE, CAME, DIFFERS) if kinds else (GONE, _WRITTEN, _WRITTEN)
        parts = [(name, ids.ids()) for name, ids in zip(names, (self.gone, self.came, self.differs), strict=True)]
        ids = np.concatenate([each for _, each in parts]).astype(np.int64)
        said = pa.array(np.repeat(names, [each.size for _, each in parts]), pa.string())
        return arrow_frame(spark, pa.table({"row_id": pa.array(ids, pa.int64()), "change": said}))


def row_changes(spark: SparkSession, then: Version, now: Version) -> RowChanges:
    """Tell which rows of a table went, came or differ.

    Args:
        spark: a session with the kernel.
        then: an earlier version.
        now: the current one, which must be what is there.

    Raises:
        NotTracedError: that is not known of rows with ids like these, or of a column's type.
        ChangedError: ids of the two do not mean the same rows, columns are others, or rows of the earlier one are gone.

    """
    before, after = then.manifest, now.manifest
    if before.says_the_same(after):
        return RowChanges(LineageSet(), LineageSet(), LineageSet())
    if before.provider.by_position and after.provider.by_position:
        return _of_files(before.files, after.files)
    if before.provider.by_format or after.provider.by_format:
        return _of_kinds(changed_rows(spark, (before, then.path), (after, now.path)))
    return _by_value(spark, then, now)


def _of_files(then: Sequence[DataFile], now: Sequence[DataFile]) -> RowChanges:
    before, after = ({(file.offset, file.rows) for file in files} for files in (then, now))
    return RowChanges(_ids(before - after), _ids(after - before), LineageSet())


def _ids(ranges: set[tuple[int, int]]) -> LineageSet:
    spans = [np.arange(first, first + rows, dtype=np.int64) for first, rows in sorted(ranges)]
    return LineageSet(np.concatenate(spans)) if spans else LineageSet()


def _of_kinds(found: DataFrame) -> RowChanges:
    """Take ids from ``row_id, change``, with `CAME` or `DIFFERS` for what was written."""
    with spark_errors():
        table = arrow_table(found)
    ids, kinds = table.column(0).to_numpy(), np.asarray(table.column(1).to_pylist(), dtype=object)
    gone, came, differs = (LineageSet(ids[kinds == kind]) for kind in (GONE, CAME, DIFFERS))
    return RowChanges(gone, came, differs)


def _by_value(spark: SparkSession, then: Version, now: Version) -> RowChanges:
    _check_comparable(then.manifest, now.manifest)
    kept = kept_hashes.are_kept(then.manifest)
    if not (kept or then.manifest.keeps_old_rows):
        raise NotTracedError(
            f"which rows of {now.manifest.name} changed is not known: ids by {now.manifest.ids_by} do not say it, and "
            "rows of before are not kept",
            instead="Keep hashes of them, lineage.register(…, key=…, hashes=True); or register a copy by its key.",
        )
    if not kept:
        _check_there(spark, then.manifest)
    before, after = kept_hashes.of_version(then.manifest) if kept else _hashed(then), _hashed(now)
    kind = f"CASE WHEN a.id IS NULL THEN '{GONE}' WHEN b.id IS NULL THEN '{CAME}' ELSE '{DIFFERS}' END"
    both = f"({before}) AS b FULL JOIN ({after}) AS a ON b.id = a.id"
    with spark_errors():
        changes = _of_kinds(
            spark.sql(f"SELECT coalesce(a.id, b.id), {kind} FROM {both} WHERE NOT coalesce(a.hash = b.hash, false)")
        )
        if kept or len(changes.differs) > _MOST_COMPARED:
            return changes
        return replace(changes, columns=_columns(spark, then, now, changes.differs))


def _columns(spark: SparkSession, then: Version, now: Version, differs: LineageSet) -> frozenset[str]:
    """The columns in which rows differ, whose ids are in both versions."""
    if not differs:
        return frozenset()
    columns = now.manifest.columns
    ids = ", ".join(map(str, differs.ids().tolist()))

    def hashes(version: Version) -> str:
        each = (f"{row_hash([column], version.manifest.name)} AS h{i}" for i, column in enumerate(columns))
        table = version.table
        rows = f"SELECT {table.row_id} AS id, {', '.join(each)} FROM {by_kernel(table.identified or table.relation)}"
        return f"SELECT * FROM ({rows}) WHERE id IN ({ids})"

    others = ", ".join(f"bool_or(NOT a.h{i} = b.h{i})" for i in range(len(columns)))
    (found,) = spark.sql(
        f"SELECT {others} FROM ({hashes(then)}) AS b JOIN ({hashes(now)}) AS a ON b.id = a.id"
    ).collect()
    return frozenset(name for (name, _), other in zip(columns, found, strict=True) if other)


def _check_comparable(then: Manifest, now: Manifest) -> None:
    if then.columns != now.columns:
        raise ChangedError(
            f"{now.name} has other columns than in version {then.version}", instead="Name a later version."
        )
    if (then.provider, then.key) != (now.provider, now.key):
        raise ChangedError(
            f"ids of {now.name} in version {then.version} (by {then.ids_by}) do not mean the same rows now "
            f"(by {now.ids_by})",
            instead="Name a later version.",
        )


def _check_there(spark: SparkSession, then: Manifest) -> None:
    try:
        check_files(then, current_files(spark, then))
        if then.provider is Provider.DICTIONARY:
            copied = files_under(spark, then.copied_from["data"]) or []
            if first_change(then.source_files(), copied):
                raise ChangedError("its copy", instead="")
    except LineageError:
        raise ChangedError(
            f"which rows of {then.name} changed since version {then.version} cannot be told: the copy of then is gone",
            instead="Name a later version.",
        ) from None


def _hashed(version: Version) -> str:
    table = version.table
    return kept_hashes.hashed(table.identified or table.relation, table.row_id, version.manifest)
