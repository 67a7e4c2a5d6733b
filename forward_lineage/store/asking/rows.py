"""Rows by their ids, and ids by a condition: of registered tables, of versions of saved results, of granules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.row_ids.parquet_function import by_kernel
from forward_lineage.spark.chosen_ids import having_ids, lacking_ids
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import data_source, in_backticks, quoted
from forward_lineage.spark.planning import Arguments
from forward_lineage.spark.tables import open_relation
from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.store.library.cells import thing_rows
from forward_lineage.store.library.row_files import ROW_NUMBER, files_as_read, rows_as_read
from forward_lineage.store.library.saved import SAVE_AGAIN, Saved
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel
from forward_lineage.store.library.saved_result import SavedResult, SortKey, TracedTable
from forward_lineage.tracing.restricting import depends_on
from udafs.errors import InternalError, Position, SparkError
from udafs.lineage_set import LineageSet

ROW_ID = "row_id"
_HIDDEN = "__dl_row_id"
_CORRECT = "Correct the condition: it is one over the columns of what is asked about."
_SUGGESTED = re.compile(rf", (?:`\w+`\.)?`{_HIDDEN}`|(?:`\w+`\.)?`{_HIDDEN}`, ")  # where Spark lists the columns


@dataclass(frozen=True)
class Asked:
    """A condition that stands in a statement: ``BACKWARD(report WHERE …, sales)``.

    Attributes:
        text: the condition.
        at: where it begins in the statement.
        table: what it may call the table that its columns are of.
        args: values of the parameters in it.

    """

    text: str
    at: Position
    table: str
    args: Arguments = None

    @contextmanager
    def errors(self) -> Iterator[str]:
        """Give the condition as lines of a query, each word in the column that it has in the statement.

        Raises:
            SparkError: what Spark says of it, with its place in the statement.

        """
        try:
            yield f"\n{' ' * (self.at.column - 1)}{self.text}\n"
        except SparkError as error:
            at = self.at
            if error.at is not None and error.at.line > 1:
                at = Position(error.at.line - 2 + self.at.line, error.at.column)
            raise error.said_at(at, _SUGGESTED.sub("", error.what)) from None


Condition = str | Asked


class IdentifiedRows:
    """Rows that have ids.

    Args:
        frame: the rows, their ids in the column `__dl_row_id`.
        view: of few rows that are here already, a view of them.

    """

    def __init__(self, frame: DataFrame, view: str | None = None) -> None:
        self.frame = frame
        self.view = view

    @classmethod
    def of_relation(cls, spark: SparkSession, relation: str, row_id: str, columns: Iterable[str]) -> IdentifiedRows:
        """Return the rows of something that stands after FROM, with an expression that is their id."""
        listed = ", ".join(quoted(column) for column in columns)
        sql = f"SELECT {row_id} AS {_HIDDEN}, {listed} FROM {by_kernel(relation)}"
        with spark_errors():
            return cls(spark.sql(sql))

    @classmethod
    def of_result(cls, spark: SparkSession, saved: SavedResult) -> IdentifiedRows:
        """Return the rows of a version of a saved result.

        Raises:
            LineageError: a file is missing or damaged; the message names it.

        """
        relation = data_source("parquet", rows_as_read(spark, saved))
        return cls.of_relation(spark, relation, ROW_NUMBER, [name for name, _ in saved.columns])

    @classmethod
    def of_saved(cls, spark: SparkSession, saved: Saved, ids: LineageSet | None = None) -> IdentifiedRows:
        """Return the rows of a version of a saved thing: of an array its cells, of a model its parts.

        Args:
            spark: the session.
            saved: the version.
            ids: the rows that are wanted, if that is known already; others may come with them.

        Raises:
            LineageError: a file is missing or damaged; the message names it.

        """
        if isinstance(saved, SavedResult):
            return cls.of_result(spark, saved)
        if not isinstance(saved, SavedArray | SavedModel):
            raise InternalError(f"{saved.name} is a saved {saved.called}, whose rows nobody knows")
        cells = np.arange(saved.rows) if ids is None else ids.ids()
        rows = thing_rows(saved, cells).add_column(0, _HIDDEN, pa.array(cells))
        return cls(arrow_frame(spark, rows))

    @classmethod
    def of_granules(cls, spark: SparkSession, saved: Saved, table: TracedTable) -> IdentifiedRows:
        """Return the values that a result of LINEAGE ON was traced to, each with its id.

        Raises:
            LineageError: a file is missing or damaged; the message names it.

        """
        folder = saved.folder / str(table.dictionary)
        place = files_as_read(spark, saved, table.dictionary_files, str(table.dictionary))
        if place == str(folder) and not folder.is_dir():
            raise CorruptSegmentError(f"{folder} is missing", instead=SAVE_AGAIN)
        frame = open_relation(spark, by_kernel(data_source("parquet", place)))
        return cls(frame.toDF(_HIDDEN, *table.granules))

    @classmethod
    def together(cls, parts: Sequence[tuple[IdentifiedRows, LineageSet]]) -> IdentifiedRows:
        """Return rows from several versions of a table, from each those of some ids; of one version all it has.

        A column that a version lacks is NULL in its rows.
        """
        if len(parts) == 1:
            return parts[0][0]
        frames = [rows.among(ids).frame for rows, ids in parts]
        with spark_errors(instead="Save again what was made of the older version, with lineage.update()."):
            return cls(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames))

    def where(self, condition: Condition) -> LineageSet:
        """Return the ids of the rows for which a condition holds.

        Raises:
            LineageError: Spark's own complaint about the condition.

        """
        if isinstance(condition, Asked):
            return self._asked(condition)
        with spark_errors(condition, instead=_CORRECT):
            return self._ids(self.frame.where(condition).select(_HIDDEN))

    def _ids(self, found: DataFrame) -> LineageSet:
        if self.view is not None:  # Arrow would take a job
            return LineageSet(row[0] for row in found.collect())
        return LineageSet(arrow_table(found).column(0).to_numpy())

    def depends_on(self, asked: Asked) -> str | None:
        """Say what a condition depends on besides the row; None: nothing.

        Raises:
            LineageError: Spark's own complaint about the condition.

        """
        with self._relation(asked) as relation, asked.errors() as condition:
            return depends_on(self.frame.sparkSession, relation, condition, asked.args)

    def _asked(self, asked: Asked) -> LineageSet:
        """A condition may have parameters, which only a query takes."""
        spark = self.frame.sparkSession
        with self._relation(asked) as relation, asked.errors() as condition:
            sql = f"SELECT {_HIDDEN} FROM {relation} WHERE ({condition})"
            with spark_errors(sql, instead=_CORRECT):
                return self._ids(spark.sql(sql, args=asked.args) if asked.args else spark.sql(sql))

    @contextmanager
    def _relation(self, asked: Asked) -> Iterator[str]:
        """The rows as they stand behind FROM, under the name that a condition knows."""
        view = self.view or hidden_view(self.frame)
        try:
            yield f"{view} AS {in_backticks(asked.table)}"
        finally:
            if self.view is None:
                self.frame.sparkSession.catalog.dropTempView(view)

    def among(self, ids: LineageSet) -> IdentifiedRows:
        """Return those of the rows that have these ids."""
        return IdentifiedRows(having_ids(self.frame, _HIDDEN, ids))

    def without(self, ids: LineageSet) -> IdentifiedRows:
        """Return those of the rows that have other ids."""
        return IdentifiedRows(lacking_ids(self.frame, _HIDDEN, ids))

    def pick(self, ids: LineageSet) -> DataFrame:
        """Return the rows that have these ids, in the order of the ids, after a column `row_id`."""
        return self._named(having_ids(self.frame, _HIDDEN, ids, by_value=True).orderBy(_HIDDEN))

    def with_ids(self) -> DataFrame:
        """Return all rows, in no order, after a column `row_id`."""
        return self._named(self.frame)

    def without_ids(self) -> DataFrame:
        """Return the user's columns of all rows, in the order of the ids."""
        return self.frame.orderBy(_HIDDEN).drop(_HIDDEN)

    def in_order_of(self, saved: SavedResult) -> DataFrame:
        """Return the rows of a saved result in its order, their numbers in the first column."""
        if not saved.order and len(saved.row_files) <= 1:  # of several, Spark reads large files first
            return self.frame
        columns = self.frame.columns
        named = self.frame.toDF(_HIDDEN, *(f"c{place}" for place in range(len(saved.columns))))
        return named.orderBy(*map(_sorted_by, saved.order), _HIDDEN).toDF(*columns)

    def _named(self, frame: DataFrame) -> DataFrame:
        taken = {column.lower() for column in frame.columns}
        name = ROW_ID
        while name in taken:
            name = f"_{name}"
        return frame.withColumnRenamed(_HIDDEN, name)


def _sorted_by(key: SortKey) -> Column:
    column = F.col(f"c{key.column}")
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def hidden_view(frame: DataFrame) -> str:
    """Give a frame a name in its session that nobody else has."""
    name = f"__dl_asked_{uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name


def missing(ids: LineageSet, present: Iterable[tuple[int, int]]) -> LineageSet:
    """Return those ids that lie in none of the ranges (first id, number of ids)."""
    listed = ids.ids()
    inside = reduce(np.logical_or, ((listed >= a) & (listed < a + n) for a, n in present), np.zeros(listed.size, bool))
    return LineageSet(listed[~inside])
