"""Statistics of a table in Parquet files: its rows, and from a sample how the values of its columns are spread.

Only what copying lineage will cost depends on it (`rewrites.row_estimates`), never a row or an id. So files that have
changed, or cannot be read, do no harm. Files elsewhere are not read: a look would take longer than it saves.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest
from rewrites.tables import ColumnFacts

_SAMPLE = 1 << 17
"""Rows that are read of a column, at most."""
_PLACES = 16
"""Row groups that they are read from, if the table is large."""
_AS_A_KEY = 0.99
"""The share of values seen once from which a column is taken for a key."""
_FOOTERS = 64
"""Files whose rows are counted, at most, if registering has not counted them."""


@dataclass(frozen=True)
class SampledColumn:
    """A column as `rewrites.tables.ColumnFacts`.

    Attributes:
        sample: values, NULLs included, a chunk for each place they were read at.
        rows: of the table.
        span: how many values there are between the least and the greatest of a column of integers or days, if footers
            say it.

    """

    sample: pa.ChunkedArray
    rows: int
    span: float | None = None

    @cached_property
    def _counts(self) -> np.ndarray:
        counted = pc.value_counts(self.sample.drop_null())
        return np.asarray(counted.field("counts")) if len(counted) else np.zeros(0, np.int64)

    @cached_property
    def distinct(self) -> float:
        """Different values; nearly all there can be, if at most places the values seen leave few gaps.

        Rows often lie in the order of a day or a number. Then a sample of a few places sees few of its values.
        """
        found = _distinct(pa.table({"value": self.sample}), self.rows)
        if self.span is None or len(self.sample) >= self.rows or found >= self.span:
            return found
        dense = [_is_dense(chunk) for chunk in self.sample.chunks]
        return min(self.span, float(self.rows)) if 2 * sum(dense) > len(dense) else found

    @property
    def most_frequent(self) -> float:
        """The share of the rows that the most frequent value has."""
        return float(self._counts.max()) / len(self.sample) if len(self._counts) else 1.0

    def share_between(self, low: str | None, high: str | None) -> float:
        """Return the share of the rows whose value lies between two; 1 where the literals are of another type."""
        with suppress(ValueError, TypeError, OverflowError, pa.ArrowException):
            values = self.sample.drop_null()
            kept = pa.scalar(True)
            if low is not None:
                kept = pc.and_(kept, pc.greater_equal(values, _value(low, values.type)))
            if high is not None:
                kept = pc.and_(kept, pc.less_equal(values, _value(high, values.type)))
            return max(float(pc.sum(kept).as_py() or 0), 1.0) / max(len(self.sample), 1)
        return 1.0


def _is_dense(values: pa.Array) -> bool:
    """Say whether integers, or days, take most of the values between the least and the greatest of them."""
    unique = np.asarray(pc.unique(values.drop_null()).cast(_AS_INTEGER.get(values.type, pa.int64())))
    return len(unique) > 0 and 2 * len(unique) > int(unique.max()) - int(unique.min()) + 1


_AS_INTEGER = {pa.date32(): pa.int32()}


def _distinct(sample: pa.Table, rows: int) -> float:
    """Return how many different rows a table has: exact of a whole one, else those seen, and more for those seen once.

    Seen at one place of the sample, that is, for rows that lie together are often alike.
    [Charikar et al. 2000, the estimator GEE: off by the root of rows / sample at most]
    """
    seen, names = sample.num_rows, sample.column_names
    chunks = sample.column(0).chunks
    places = np.repeat(np.arange(len(chunks)), [len(chunk) for chunk in chunks])
    at_places = sample.append_column("", pa.array(places)).group_by([*names, ""]).aggregate([])
    counts = np.asarray(at_places.group_by(names).aggregate([([], "count_all")])["count_all"])
    if seen >= rows:
        return max(float(len(counts)), 1.0)
    if len(counts) > _AS_A_KEY * seen:
        return float(rows)
    once = int((counts == 1).sum())
    return max(len(counts) - once + sqrt(rows / max(seen, 1)) * once, 1.0)


def _value(literal: str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date(kind):
        return pa.scalar(datetime.date.fromisoformat(literal[:10]), kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(datetime.datetime.fromisoformat(literal), kind)
    return pa.scalar(literal).cast(kind) if pa.types.is_string(kind) else pa.scalar(float(literal))


class FileStatistics:
    """`rewrites.tables.Statistics` of files; a column is read when it is first asked about.

    Args:
        files: those of the table, Parquet, local.
        rows: how many they have.

    """

    def __init__(self, files: tuple[DataFile, ...], rows: int) -> None:
        self._files, self.rows = files, rows
        self._known: dict[str, ColumnFacts | None] = {}
        self._together: dict[tuple[str, ...], float | None] = {}

    def column(self, name: str) -> ColumnFacts | None:
        """Return what is known of a column; None: no file has it, or it is no plain value."""
        wanted = name.lower()
        if wanted not in self._known:
            sample = self._sample([wanted])
            found = SampledColumn(sample.column(0), self.rows, self._span(sample)) if sample.num_columns else None
            self._known[wanted] = found
        return self._known[wanted]

    def distinct(self, names: Sequence[str]) -> float | None:
        """Return how many combinations of values columns have; None: nothing is known of any of them."""
        wanted = tuple(sorted({name.lower() for name in names}))
        if len(wanted) == 1:
            facts = self.column(wanted[0])
            return facts.distinct if facts is not None else None
        if wanted not in self._together:
            sample = self._sample(wanted)
            self._together[wanted] = _distinct(sample, self.rows) if sample.num_columns else None
        return self._together[wanted]

    def _sample(self, wanted: Sequence[str]) -> pa.Table:
        """Read columns from all files of a small table, or from some places of a large one; none that no file has."""
        small = self.rows <= _SAMPLE
        files = self._files if small else self._files[:: -(-len(self._files) // _PLACES)]
        parts = []
        with suppress(OSError, ValueError, pa.ArrowException):
            for file in files:
                with pq.ParquetFile(file.path) as opened:
                    parts.append(_read(opened, wanted, 0 if small else -(-_PLACES // len(files))))
            return pa.concat_tables(parts)
        return pa.table({})

    def _span(self, sample: pa.Table) -> float | None:
        """How many values there may be of a column of integers or days, as the footers say it."""
        kind, ends = sample.column(0).type, list[float]()
        if not (pa.types.is_integer(kind) or pa.types.is_date32(kind)) or self.rows <= _SAMPLE:
            return None
        for file in self._files[:_FOOTERS]:
            footer = pq.read_metadata(file.path)
            place = footer.schema.names.index(sample.column_names[0])
            for group in range(footer.num_row_groups):
                said = footer.row_group(group).column(place).statistics
                if said is None or not said.has_min_max:
                    return None
                ends += [_as_number(said.min), _as_number(said.max)]
        return max(ends) - min(ends) + 1


def _as_number(value: object) -> float:
    return float(value.toordinal() if isinstance(value, datetime.date) else value)  # type: ignore[arg-type]


def _read(opened: pq.ParquetFile, wanted: Sequence[str], places: int) -> pa.Table:
    """Read columns of a file, all of it or, at so many places, some rows of a row group."""
    schema = opened.schema_arrow
    called = [each.name for each in schema if each.name.lower() in wanted and not pa.types.is_nested(each.type)]
    if not called:
        return pa.table({})
    if not places:
        return opened.read(called)
    groups = range(0, opened.metadata.num_row_groups, -(-opened.metadata.num_row_groups // places))
    found = []
    for group in groups:
        batches = opened.iter_batches(_SAMPLE // len(groups), row_groups=[group], columns=called)
        found += [batch for batch, _ in zip(batches, range(1), strict=False)]
    return pa.Table.from_batches(found, opened.schema_arrow if not found else None)


_KNOWN: dict[str, FileStatistics | None] = {}
_MOST = 1_000


def statistics_of(manifest: Manifest) -> FileStatistics | None:
    """Return what the files of a registration tell; None where they are elsewhere, or none is known.

    They are kept for the process: another version of a registration has another digest.
    """
    if not manifest.files or not manifest.near or not all(_is_parquet(file) for file in manifest.files):
        return None
    key = manifest.digest()
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        rows = _rows(manifest)
        _KNOWN[key] = FileStatistics(manifest.files, rows) if rows is not None else None
    return _KNOWN[key]


def _is_parquet(file: DataFile) -> bool:
    return not file.path.lower().endswith((".csv", ".json", ".orc", ".avro", ".txt"))


def _rows(manifest: Manifest) -> int | None:
    counted = sum(file.rows for file in manifest.files)
    if counted or len(manifest.files) > _FOOTERS:
        return counted or None
    try:
        return sum(int(pq.read_metadata(file.path).num_rows) for file in manifest.files)
    except (OSError, ValueError, pa.ArrowException):
        return None
