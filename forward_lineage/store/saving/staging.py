"""A statement with stages, saved in parts: each stage is run once; what later parts refer to is numbers of its rows.

    stages/<number>/rows       while the result is being made: what the parts that read the stage read
    stages/<number>/lineage    kept: what its rows, or places in the order of a window, were made of

Sets are written where they arise, once. Asked is through all of it: `relations.paths`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from forward_lineage.frontend.rewriting import StatementPart
from forward_lineage.relations.algebra import empty
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.spark.errors import put_back, rewritten_errors
from forward_lineage.spark.settings import QUICK_VALUES, configured
from forward_lineage.spark.tables import type_name
from forward_lineage.store.library.row_files import ROW_NUMBER, as_read
from forward_lineage.store.library.saved_result import RowFile, SegmentEntry, Stage, StageLineage, TableLineage
from forward_lineage.store.saving.execution import Target, Written, user_schema, write_result
from forward_lineage.store.saving.tasks import MOST_RUNS, write_segment
from forward_lineage.store.saving.window_frames import Window, window_of
from udafs.errors import InternalError, NotTracedError, SetupError
from udafs.requests import resolved_once

Lineage = Mapping[str, tuple[SegmentEntry, ...]]
"""Base table, or name of a stage → segments."""


_NOT_READ_BACK = ("interval", "variant", "void", "time(", "geometry", "geography")


class NotStagedError(Exception):
    """Rows of a stage cannot be kept for the parts that read them: a column has no type that Parquet knows, …"""


@dataclass(frozen=True)
class Kept:
    """The written parts of a result.

    Attributes:
        row_files: its rows.
        tables: their lineage in base tables.
        refers: their lineage in stages.
        stages: what these are.

    """

    row_files: tuple[RowFile, ...]
    tables: Lineage
    refers: tuple[StageLineage, ...] = ()
    stages: tuple[Stage, ...] = ()

    def of_table(self, table: str, number: int, folder: Path) -> tuple[SegmentEntry, ...]:
        """Return the lineage in a table of a result; an empty one is written where it all goes through stages.

        Args:
            table: its name.
            number: of the table, among those of the result.
            folder: the data folder.

        """
        rows = sum(file.rows for file in self.row_files)
        if table in self.tables or not rows:
            return self.tables.get(table, ())
        first_row = self.row_files[0].first_row
        path = f"lineage/none-{number}-{first_row:019}.lineage"
        return (write_segment(folder, path, empty(), first_row=first_row, rows=rows, form="runs"),)


class Staging:
    """The stages of one result while it is being saved.

    Args:
        spark: the session.
        target: where the result goes.
        first: the number of the first stage; an append has those of the version before in front of it.

    """

    def __init__(self, spark: SparkSession, target: Target, first: int) -> None:
        self._spark, self._first = spark, first
        self._folder, self._name, self._form, self._files = target.folder, target.name, target.form, target.files
        self._stages: list[Stage] = []
        self._numbers: dict[str, int] = {}

    def save(self, parts: Sequence[StatementPart], prefix: str, schema: StructType, first_row: int) -> Kept:
        """Run and write all parts; the last one is the result.

        Args:
            parts: each behind those that it reads.
            prefix: of the names by which they read them.
            schema: the user's columns of the result.
            first_row: number of its first row.

        Raises:
            NotStagedError: it cannot be saved in parts.
            LineageError: Spark's own complaint about a part; a column of the result cannot be kept.

        """
        views: list[str] = []
        try:
            for part in parts[:-1]:
                rows = self._write(part)
                views.append(f"{prefix}{part.name}")
                rows.createOrReplaceTempView(views[-1])
            flat, frames = _flat(self._rows_of(parts[-1]), parts[-1])
            _check_same_types(user_schema(flat, LINEAGE_COLUMN, *frames), schema)
            target = Target(self._folder, self._name, schema, self._form, first_row, self._files)
            written = write_result(flat, LINEAGE_COLUMN, parts[-1].keys, target, frames)
        finally:
            with put_back():
                for view in views:
                    self._spark.catalog.dropTempView(view)
            for number in range(len(self._stages) + 1):
                self._files.remove_folder(self._folder / f"stages/{self._first + number}/rows")
        tables, refers = self._behind(parts[-1].keys, written, "", first_row)
        self._remove_what_frames_replace([*tables, *refers, *self._stages])
        own = {each.table: each.segments for each in tables}
        return Kept(written.row_files, own, refers, tuple(self._stages))

    def clear(self) -> None:
        """Remove what was written."""
        for each in ("stages", "rows", "lineage", "frames"):
            self._files.remove_folder(self._folder / each)

    # ------------------------------------------------------------ one part

    def _rows_of(self, part: StatementPart) -> DataFrame:
        with configured(self._spark, QUICK_VALUES), rewritten_errors():
            return resolved_once(self._spark.sql(part.sql))

    def _write(self, part: StatementPart) -> DataFrame:
        """Run a part and note it as a stage; return its rows as later parts read them."""
        place = f"stages/{self._next}"
        frame = self._rows_of(part)
        flat, frames = _flat(frame, part)
        schema = user_schema(flat, LINEAGE_COLUMN, *frames)
        _check_read_back(schema)
        target = Target(self._folder / place, f"an inner query of {self._name}", schema, self._form, 0, self._files)
        target.folder.mkdir(parents=True)
        try:
            written = write_result(flat, LINEAGE_COLUMN, part.keys, target, frames)
        except NotTracedError as error:
            raise NotStagedError from error
        self._note(part, place, written)
        read = self._spark.read.schema(schema).parquet(self._place_of(target.folder, written))
        unread = [f"CAST(NULL AS BINARY) AS u{i}" for i in range(len(part.unread))]
        rows = read.selectExpr(*schema.names, *unread, f"{ROW_NUMBER} AS number")
        return rows.toDF(*frame.columns[: len(schema)], *part.unread, part.number)

    def _place_of(self, folder: Path, written: Written) -> str:
        try:
            return as_read(self._spark, self._files, folder, "rows", written.row_files)
        except SetupError as error:  # Spark reads nothing that is there
            raise NotStagedError from error

    def _note(self, part: StatementPart, place: str, written: Written) -> None:
        tables, stages = self._behind(part.keys, written, place)
        self._numbers[str(part.name)] = self._add(Stage(written.rows, tables, stages))

    def _behind(
        self, keys: Sequence[str], written: Written, place: str, first_row: int = 0
    ) -> tuple[tuple[TableLineage, ...], tuple[StageLineage, ...]]:
        """Return what rows were made of: in base tables, and in stages, those that window frames are among them.

        Args:
            keys: what the lineage values that were written are of.
            written: the rows.
            place: the folder in which they were written, below the data folder; empty for that itself.
            first_row: number of the first of them.

        """
        own = {key: tuple(map(_in(place), each)) for key, each in zip(keys, written.segments, strict=True)}
        try:
            windows = [window_of(frames) for frames in written.frames]
        except NotTracedError as error:
            raise NotStagedError from error
        frames = tuple(
            self._frames(window, own, f"{place or 'lineage'}/frames-{number}", first_row)
            for number, window in enumerate(windows)
        )
        if any(window.have_themselves for window in windows):
            return (), frames
        tables, stages = self._split(own)
        return tables, (*stages, *frames)

    def _remove_what_frames_replace(self, kept: Sequence[TableLineage | StageLineage | Stage]) -> None:
        """Rows that are in their own frames need no lineage of their own, which was written all the same."""
        named = {self._folder / entry.path for part in kept for entry in part.segments}
        there = {path for path in self._files.below(self._folder) if path.suffix == ".lineage"}
        self._files.remove(there - named)

    def _frames(self, window: Window, own: Lineage, path: str, first_row: int) -> StageLineage:
        """Make a stage of the places of a window, and return what its frames are to the rows."""
        rows = window.place.size
        if not window.in_order or first_row:  # else places are rows, and have their lineage
            places = f"stages/{self._next}/places"
            own = {
                key: self._written(window.by_place(self._relation(own[key]), first_row), f"{places}-{number}", rows)
                for number, key in enumerate(own)
            }
        stage = self._add(Stage(rows, *self._split(own)))
        return StageLineage(stage, self._written(window.frames, path, rows, first_row))

    def _written(self, relation: RunsRelation, path: str, rows: int, first_row: int = 0) -> tuple[SegmentEntry, ...]:
        """Write the relation of the rows from `first_row` on, which it numbers from 0."""
        found: list[SegmentEntry] = []
        for count, part in relation.split(rows, MOST_RUNS) if rows else ():
            name = f"{path}-{first_row:019}.lineage"
            found.append(write_segment(self._folder, name, part, first_row=first_row, rows=count, form="runs"))
            first_row += count
        return tuple(found)

    def _relation(self, segments: Sequence[SegmentEntry]) -> LineageRelation:
        return StoredRelation(
            [each.file_in(self._folder) for each in segments], SegmentCache(read=self._files.read)
        ).relation()

    def _split(self, lineage: Lineage) -> tuple[tuple[TableLineage, ...], tuple[StageLineage, ...]]:
        """Return what of some rows' lineage is in base tables, and what in stages."""
        numbers = self._numbers
        tables = (TableLineage(key, segments) for key, segments in lineage.items() if key not in numbers)
        stages = (StageLineage(numbers[key], segments) for key, segments in lineage.items() if key in numbers)
        return tuple(tables), tuple(stages)

    @property
    def _next(self) -> int:
        return self._first + len(self._stages)

    def _add(self, stage: Stage) -> int:
        self._stages.append(stage)
        return self._next - 1


def _flat(frame: DataFrame, part: StatementPart) -> tuple[DataFrame, list[str]]:
    """Return the rows of a part under names that no two columns share, and those of the frames."""
    frames = [f"f{i}" for i in range(len(part.frames))]
    users = [f"c{i}" for i in range(len(frame.columns) - len(frames) - 1)]
    return frame.toDF(*users, LINEAGE_COLUMN, *frames), frames


def _check_read_back(schema: StructType) -> None:
    """Check that Spark reads the columns of a stage as they were written.

    Raises:
        NotStagedError: it may not.

    """
    if any(word in type_name(field.dataType) for field in schema.fields for word in _NOT_READ_BACK):
        raise NotStagedError


def _check_same_types(found: StructType, wanted: StructType) -> None:
    if [type_name(field.dataType) for field in found] != [type_name(field.dataType) for field in wanted]:
        raise InternalError(f"the last part has the columns {found.simpleString()}, not {wanted.simpleString()}")


def _in(place: str) -> Callable[[SegmentEntry], SegmentEntry]:
    return lambda entry: replace(entry, path=f"{place}/{entry.path}" if place else entry.path)
