"""Calls about saved results: kept with their lineage, and asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.relations.segment import Form
from forward_lineage.results import LINEAGE_COLUMN, as_answer
from forward_lineage.session.array_calls import (
    arrays_of,
    chosen_numbers,
    is_array,
    refuse_query_options,
    save_as_table,
)
from forward_lineage.session.components import Parts
from forward_lineage.session.model_calls import note_prediction
from forward_lineage.session.save_again import noted_rerun, save_and_tell
from forward_lineage.session.stopping import says_what_is_kept
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.library.forward_indexes import IndexReport
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.appending import Batch, batch_of, has_batch
from forward_lineage.store.saving.saver import Mode, Wish
from forward_lineage.store.saving.scope import Scope, When
from forward_lineage.workloads.deriving import Attributes
from forward_lineage.workloads.saving import Foreseen
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet

if TYPE_CHECKING:
    from forward_lineage.arrays import TrackedArray
    from forward_lineage.arrays.cells import Chosen


class ResultCalls:
    """The calls of `ForwardLineage` about saved results. docs/store.md describes the store."""

    spark: SparkSession
    _parts: Parts

    def save(
        self,
        df_or_sql: DataFrame | str | TrackedArray | npt.NDArray[Any],
        name: str,
        *,
        semantics: str = "data",
        mode: Mode = "overwrite",
        keep_versions: bool = False,
        encoding: Form = "auto",
        tables: Collection[str] | None = None,
        where: Mapping[str, str] | None = None,
        capture: When = "now",
        workload: Sequence[str] = (),
        partition_by: Attributes = None,
        cube: Attributes = None,
        args: Arguments = None,
        batch: Batch | None = None,
    ) -> SavedResult | Any:
        """Run a query once and save its rows and their lineage under a name. Later queries can read it by the name.

        Args:
            df_or_sql: a query; a DataFrame, as for `trace`; or one with `DL`, which `sql` or `trace` returned, perhaps
                filtered, sorted or projected since. Or an array, tracked or plain: its cells are saved, with their
                lineage in saved things. Then only `semantics`, `mode` and `keep_versions` may be given.
            name: letters, digits and _.
            semantics: ``"data"`` or ``"control"``; a DataFrame with `DL` has its own.
            mode: ``"overwrite"``: a new version replaces the one before at one stroke, when all is written.
                ``"error"``: refuse a name that is taken. ``"append"``: put the rows behind those that are there.
            keep_versions: keep this version, and earlier ones that are there, readable when a later one is saved.
                Others are deleted, unless saved results were made of them.
            encoding: of the lineage: ``"auto"`` for the smaller, ``"bdd"`` or ``"runs"`` to force one.
            tables: the only tables, and saved results, of those that the query reads, whose lineage is captured; all
                when not given.
            where: table → condition over its columns: lineage in rows that meet it is all that is captured.
            capture: ``"now"``: lineage is written with the rows; ``"later"``: at the first question, or by `capture`;
                ``"auto"``: later if the query reads much.
            workload: consuming queries that you will ask of the result, with parameters. Lineage that they do not need
                is not captured, and data that they need are partitioned or added up; see `explain` and `answer`.
            partition_by: table → expressions over its columns, among whose values questions will choose. A list is for
                the only table of the query.
            cube: the same, by which the result's own aggregates are added up, too.
            args: values of the parameters of a query that is given as a text, as `spark.sql` takes them.
                [Smoke, §3.2, §4.1, §4.2; docs/workloads.md]
            batch: with ``mode="append"``, the number of the batch that `foreachBatch` gives: it is appended once. If it
                is there, a warning says so, and nothing is written. With several streams, ``("name", 7)``.

        Returns:
            the saved result: version, columns, number of rows, tables with their numbers of (row, id) pairs. Of an
            array a `SavedArray`, which has a shape and a type in place of columns.

        Raises:
            LineageError: as for `sql`. Or the DataFrame's lineage is not that of its rows, or the name is in use. Or an
                array was made of a tracked one that is not saved. Or you append rows, and base rows of those that are
                there went or changed.

        Examples:
            >>> lineage.save("SELECT max(amount) AS best FROM by_item", "report")
            SavedResult(report, version 1, 1 row, made of by_item, data, saved at ...)

        """
        if is_array(df_or_sql):
            others = {
                "encoding": encoding != "auto",
                "tables": tables is not None,
                "where": bool(where),
                "args": args,
                "batch": batch is not None,
            }
            foreseen_at_all = {"workload": workload, "partition_by": partition_by, "cube": cube}
            refuse_query_options({**others, "capture": capture != "now", **foreseen_at_all})
            array = arrays_of(self._parts).save(
                df_or_sql, name, semantics=semantics, mode=mode, keep_versions=keep_versions
            )
            note_prediction(self._parts, df_or_sql, array)
            return array
        given = cast(DataFrame | str, df_or_sql)
        numbered = batch_of(batch, mode)
        if numbered and (there := self._parts.library.latest(name)) and has_batch(there, numbered):
            return there
        scope = Scope.of(tables, where, capture)
        traced = isinstance(given, DataFrame) and LINEAGE_COLUMN in given.columns
        query = given if traced else self._parts.frames.sql(given, semantics)
        foreseen = Foreseen(workload, partition_by, cube)
        wish = Wish(name, semantics, mode, keep_versions, encoding, scope, batch=numbered)
        wish = replace(wish, rerun=noted_rerun(self._parts.frames, query, args, wish, foreseen))
        if args is not None and isinstance(query, str):
            if not scope.is_all_now or workload or partition_by or cube:
                what = "args= beside what says which lineage is captured, or made beforehand: both read the text again"
                raise BadArgumentError(what, instead="Write the values into the text.")
            query = self._parts.statements.run(self._parts.statements.trace(query, semantics, args))
        with says_what_is_kept(self.spark, name, "saved", self._newest):
            return save_and_tell(self._parts, query, wish, foreseen)

    def _newest(self, name: str) -> int:
        latest = self._parts.library.latest(name)
        return 0 if latest is None else latest.version

    def capture(self, name: str) -> SavedResult:
        """Capture the lineage of a saved result that its save left for later. If none is left, nothing happens.

        The query runs again, on the same versions of its tables, and must give the rows that were saved.

        Returns:
            the result.

        Raises:
            LineageError: there is no such result; its tables are not what they were, or it has other rows now.

        Examples:
            >>> saved = lineage.save(by_item, "late", capture="later")
            >>> saved = lineage.capture("late")
            >>> lineage.backward_ids("late", rows=[0])
            LineageSet({1, 3})

        """
        with says_what_is_kept(self.spark, name, "captured", self._captured):
            return self._parts.capturing.capture(name)

    def create_index(self, name: str) -> IndexReport:
        """Index the lineage of a saved result by base row, so that forward questions read one file in place of all.

        Do so if `forward`, `forward_ids` or `impact` is slow, because base rows of many segments lie in no order.
        Answers are the same. Rows that you append later are not in the index; call this again to take them in.

        Args:
            name: the result. An index of it that is there is replaced. It goes with the versions it was made of.

        Returns:
            the number of (row, id) pairs in it, its bytes, and the seconds it took. There are 0 pairs, and no index, if
            questions read few segments.

        Raises:
            LineageError: there is no such result; its lineage is damaged; the home cannot be written.

        Examples:
            >>> lineage.create_index("by_item").pairs
            0

        """
        with says_what_is_kept(self.spark, name, "indexed", lambda name: 0):
            return self._parts.library.create_index(name)

    def _captured(self, name: str) -> int:
        """The version whose lineage was captured later; 0 if it was not."""
        saved = self._parts.library.latest(name)
        captured = saved is not None and self._parts.library.later.find(saved, whole=False) is not None
        return saved.version if saved is not None and captured else 0

    def prepared(self, name: str) -> list[str]:
        r"""Return in lines the data that were made for questions about a saved result, and the reasons for gaps.

        Raises:
            LineageError: there is no such result.

        Examples:
            >>> question = "SELECT count(*) AS n FROM BACKWARD(asked WHERE item = :item, sales)"
            >>> saved = lineage.save(by_item, "asked", workload=[question])
            >>> print("\n".join(lineage.prepared("asked")))
            lineage in sales: 3 entries

        """
        return self._parts.saver.prepared(name)

    def results(self) -> list[SavedResult]:
        """Return the newest version of every saved result, by name. Results with a damaged manifest are left out.

        Saved arrays and models are no results, since no query can read them.

        Examples:
            >>> "by_item" in [saved.name for saved in lineage.results()]
            True

        """
        return self._parts.library.results()

    def describe(self, name: str) -> SavedResult | Any:
        """Return the facts about a saved result: query, columns, tables, versions, sizes. Or those about an array.

        Raises:
            LineageError: there is no such result, or its manifest is damaged.

        Examples:
            >>> lineage.describe("by_item").rows
            2

        """
        return self._parts.library.saved(name)

    def drop(self, name: str) -> None:
        """Forget a saved result. Files that other saved results were made of stay for as long as these are there.

        Raises:
            LineageError: there is no such result.

        Examples:
            >>> saved = lineage.save("SELECT count(*) AS n FROM sales", "count")
            >>> lineage.drop("count")

        """
        self._parts.library.drop(name)
        self._parts.answering.forget(name)
        self._parts.result_tables.bring_up_to_date()

    def result(self, name: str, version: int | None = None) -> DataFrame:
        """Return the rows of a saved result: the user's columns, in the order in which they were saved.

        Args:
            name: the result.
            version: one that was kept; the newest when not given.

        Raises:
            LineageError: there is no such result or version, or a file of it is damaged.

        Examples:
            >>> lineage.result("by_item").show()
            +------+------+
            |  item|amount|
            +------+------+
            |binder|   110|
            |pencil|    30|
            +------+------+

        """
        return self._parts.questions.rows(name, version)

    def backward(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Iterable[int] | None = None,
        table: str | None = None,
        cells: Chosen = None,
        through: str = "all",
    ) -> DataFrame:
        """Return the base rows that rows of a saved result, or cells of a saved array, were made of.

        After a change of the table you see old rows if the table keeps them, else present rows. A `UserWarning` says
        which.

        Args:
            result: its name.
            where: a condition over its columns that chooses the rows; all of them when neither is given. An array has
                the columns ``axis0``, ``axis1``, … and ``value``.
            rows: the numbers of the rows, from 0.
            table: a table that the result was made of, directly or through other saved results, or one of these. You
                may leave it out if there is one base table only.
            cells: of an array: an index or slices as between brackets, a mask, or an array of places.
            through: ``"row"`` for paths that meet no model, ``"model"`` for those that do, ``"all"`` for both.

        Returns:
            the table's columns after a column ``row_id``, in the order of the ids; the values of a result that was
            saved with LINEAGE ON.

        Raises:
            LineageError: no such result, row, column or table; the ids no longer mean the same rows; a file is damaged.

        Examples:
            >>> lineage.backward("by_item", where="item = 'binder'").show()
            +------+----+------+------+
            |row_id|t_id|  item|amount|
            +------+----+------+------+
            |     1|   1|binder|    40|
            |     3|   3|binder|    70|
            +------+----+------+------+

        """
        rows = chosen_numbers(self._parts, result, "rows=", rows, cells)
        return as_answer(self._parts.questions.backward(result, where, rows=rows, table=table, through=through))

    def backward_ids(
        self,
        result: str,
        where: str | None = None,
        *,
        rows: Iterable[int] | None = None,
        table: str | None = None,
        cells: Chosen = None,
        through: str = "all",
    ) -> LineageSet:
        """Return the ids of the rows that `backward` would return; with ``rows=`` no Spark job runs.

        Examples:
            >>> lineage.backward_ids("by_item", rows=[0])
            LineageSet({1, 3})

        """
        rows = chosen_numbers(self._parts, result, "rows=", rows, cells)
        return self._parts.questions.backward_ids(result, where, rows=rows, table=table, through=through)

    def forward(
        self,
        table: str,
        where: str | None = None,
        *,
        ids: Iterable[int] | None = None,
        result: str,
        cells: Chosen = None,
        through: str = "all",
    ) -> DataFrame:
        """Return the rows of a saved result that were made of some rows of a table.

        Args:
            table: a table that the result was made of, directly or through other saved results, or one of these.
            where: a condition over its columns that chooses the rows; over the values if the result was saved with
                LINEAGE ON. All of them when neither is given.
            ids: the ids of the rows.
            result: the result's name.
            cells: of a saved array in place of a table, as for `backward`.
            through: as for `backward`.

        Returns:
            the result's columns after a column ``row_id``, the number of the row, in the order of these.

        Raises:
            LineageError: as for `backward`.

        Examples:
            >>> lineage.forward("sales", where="amount = 30", result="by_item").show()
            +------+------+------+
            |row_id|  item|amount|
            +------+------+------+
            |     1|pencil|    30|
            +------+------+------+

        """
        ids = chosen_numbers(self._parts, table, "ids=", ids, cells)
        return as_answer(self._parts.questions.forward(table, where, ids=ids, result=result, through=through))

    def forward_ids(
        self,
        table: str,
        where: str | None = None,
        *,
        ids: Iterable[int] | None = None,
        result: str,
        cells: Chosen = None,
        through: str = "all",
    ) -> LineageSet:
        """Return the numbers of the rows that `forward` would return; with ``ids=`` no Spark job runs.

        Examples:
            >>> lineage.forward_ids("sales", ids=[2], result="by_item")
            LineageSet({1})

        """
        ids = chosen_numbers(self._parts, table, "ids=", ids, cells)
        return self._parts.questions.forward_ids(table, where, ids=ids, result=result, through=through)

    def impact(
        self, table: str, where: str | None = None, *, ids: Iterable[int] | None = None, cells: Chosen = None
    ) -> DataFrame:
        """Return every saved result with rows that were made of some rows of a table, directly or through others.

        Args:
            table: a registered table, a saved result or array.
            where: a condition over its columns that chooses the rows.
            ids: the ids of the rows.
            cells: of a saved array, as for `backward`.

        Returns:
            ``result STRING, rows_touched BIGINT, rows BIGINT, path STRING``. Each result comes after those that it was
            made of. The shortest way to it is in `path`, e.g. ``sales → revenue → report``. `rows_touched` is NULL if
            rows that a result was made of are gone, and a condition cannot find them. A warning names the results to
            save again. Where a path leads through a model, there is a column ``through STRING``, too. It counts the
            rows that are touched by row, and those through each model.

        Raises:
            LineageError: as for `forward`, whichever result it is about; a ChangedError only if it is about all.

        Examples:
            >>> lineage.impact("sales", where="t_id = 3").where("result = 'by_item'").show()
            +-------+------------+----+---------------+
            | result|rows_touched|rows|           path|
            +-------+------------+----+---------------+
            |by_item|           1|   2|sales → by_item|
            +-------+------------+----+---------------+

        """
        ids = chosen_numbers(self._parts, table, "ids=", ids, cells)
        return as_answer(self._parts.questions.impact(table, where, ids=ids))

    def stale(self) -> DataFrame:
        """Return the saved results that were made of something that has changed since.

        Returns:
            ``result STRING, table STRING, saved_with BIGINT, now BIGINT``: versions of the table, or of the saved
            result. In `now` is NULL if it was changed and not registered again, or is not there any more.

        Examples:
            >>> first = lineage.save("SELECT item FROM sales", "first")
            >>> second = lineage.save("SELECT count(*) AS n FROM first", "second")
            >>> first = lineage.save("SELECT item FROM sales WHERE amount > 35", "first")
            >>> lineage.stale().where("result = 'second'").show()
            +------+-----+----------+---+
            |result|table|saved_with|now|
            +------+-----+----------+---+
            |second|first|         1|  2|
            +------+-----+----------+---+

        """
        return as_answer(self._parts.questions.stale())

    def table(
        self,
        relation: str | TrackedArray | npt.NDArray[Any],
        name: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> DataFrame:
        """Return lineage as a relation that you can join and aggregate; or save an array as a table to query.

        Args:
            relation: ``"lineage_of(a saved result, a table)"``. Or an array with one axis or two: its rows become a
                saved result, each made of what the cells in it were made of.
            name: of that result.
            columns: names of its columns.

        Returns:
            ``row BIGINT, id BIGINT``, every pair once: the row of the result was made of the table's row. Of an array
            the rows of the saved result.

        Raises:
            LineageError: as for `backward`.

        Examples:
            >>> lineage.table("lineage_of(by_item, sales)").orderBy("row", "id").show()
            +---+---+
            |row| id|
            +---+---+
            |  0|  1|
            |  0|  3|
            |  1|  2|
            +---+---+
            >>> amounts = lineage.to_array("by_item", columns=["amount"])
            >>> lineage.table(amounts / 10, "tenths", columns=["tenth"]).show()
            +-----+
            |tenth|
            +-----+
            | 11.0|
            |  3.0|
            +-----+

        """
        if not is_array(relation):
            return self._parts.questions.table(cast(str, relation))
        save_as_table(self._parts, relation, name, columns)
        return self._parts.questions.rows(str(name))
