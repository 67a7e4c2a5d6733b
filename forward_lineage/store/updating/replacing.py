"""Part of a saved result made again: the rows that changes touch, under the numbers that they have."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial, reduce
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType
from sqlglot import exp

from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.settings import QUICK_VALUES, configured
from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.storage.mirror import LOCAL
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.rerun import NAME, rerun_of
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult, SortKey, TracedTable
from forward_lineage.store.saving.execution import Target, write_result
from forward_lineage.store.updating.changed_views import MOST_KEYS, ChangedViews
from forward_lineage.store.updating.first_rows import FirstRows, check_order, first_rows
from forward_lineage.store.updating.group_sums import GroupSums, with_hidden_columns
from forward_lineage.store.updating.growing_groups import Growing, growing
from forward_lineage.store.updating.hidden_keys import NUMBER, HiddenKeys
from forward_lineage.store.updating.hidden_sums import Hidden, write_sums
from forward_lineage.store.updating.inputs import Input
from forward_lineage.store.updating.joining_rows import (
    INTEGERS,
    KEYS,
    PLACE,
    NotProvableError,
    is_comparable,
    key_column,
)
from forward_lineage.store.updating.kept_files import share_files, still_newest
from forward_lineage.store.updating.new_rows import MadeAgain, Written, write_new_rows
from forward_lineage.store.updating.proving import Prover, as_read
from forward_lineage.store.updating.reading_order import reading_order
from forward_lineage.store.updating.replacement_rules import (
    Added,
    Keyed,
    replacement,
    without_limit,
)
from forward_lineage.store.updating.rows_made_again import (
    Part,
    first_of_all,
    made_again,
    pairs_of,
    relation_of,
)
from forward_lineage.store.updating.rows_with_keys import rows_with_keys
from forward_lineage.store.updating.touched_rows import kept
from forward_lineage.tracing.chosen_rows import Chosen, ChosenRows
from forward_lineage.tracing.statements import Statements
from forward_lineage.tracing.trace_scope import Narrowed, not_traced
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

MOST_ROWS = 1_000_000
"""That are made again: they pass through the driver."""
_OF_WORKLOADS = ("workload", "partition_by", "cube")


@dataclass(frozen=True)
class Touched:
    """The part of a result that has to be made again.

    Attributes:
        saved: the version before.
        inputs: what is another version now.
        others: those of them that have other rows, as the query reads them.
        rows: numbers of the rows that may not be what they were.
        how: the places where rows came that join; or the keys of the parts; or how its groups grow.
        keys: of a result with keys, those of touched parts, in the columns that `key_column` names.
        order: what the query sorts its rows by, if it says an order that they may not be in then.
        first: how many of its rows a query with LIMIT gives.

    """

    saved: SavedResult
    inputs: Sequence[Input]
    others: Sequence[Input]
    rows: LineageSet
    how: tuple[Added, ...] | Keyed | Growing
    keys: pa.Table | None = None
    order: tuple[SortKey, ...] = ()
    first: FirstRows | None = None

    @cached_property
    def share(self) -> float:
        """The share of the result's rows and lineage that is made again, as far as it is known."""
        saved = self.saved
        if not self.rows or saved.pairs > MOST_ROWS or self.is_early:
            return len(self.rows) / max(saved.rows, 1)
        pairs = sum(pairs_of(saved, edge.name, self.rows.ids())[0].size for edge in saved.tables)
        return (len(self.rows) + pairs) / max(saved.rows + saved.pairs, 1)

    @property
    def is_early(self) -> bool:
        """Whether keys of touched parts are still to be found."""
        return isinstance(self.how, Keyed) and self.keys is None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing has to be made again."""
        if isinstance(self.how, Keyed):
            return self.keys is not None and not self.keys.num_rows
        return not self.places and not self.rows

    @property
    def places(self) -> tuple[Added, ...]:
        """Where rows that came join; none where keys tell what is touched."""
        if isinstance(self.how, Growing):
            return self.how.places
        return () if isinstance(self.how, Keyed) else self.how

    @property
    def made_of(self) -> str:
        """The tables that changed."""
        return ", ".join(each.edge.name for each in self.others)

    def told(self) -> str:
        """Say what is made again, as a clause."""
        if self.first is not None:
            return f"rows of {self.made_of} that came or changed may be among its first {self.first.count:,}"
        if isinstance(self.how, Keyed):
            if self.keys is None:
                return f"some of its {self.how.what} have rows of {self.made_of} that changed"
            return f"{self.keys.num_rows:,} of its {self.how.what} have rows of {self.made_of} that changed"
        if isinstance(self.how, Growing):
            if any(each.changes and each.changes.before for each in self.others):
                return f"rows of {self.made_of} that changed are added to its groups, or taken away"
            return f"rows of {self.made_of} that came are added to its groups"
        return (
            f"{len(self.rows):,} of its {self.saved.rows:,} rows were made of rows of {self.made_of} that changed"
            + (", and rows that came join in it" if self.how else "")
        )


Check = Callable[[Touched], object]
"""Raises `NotProvableError` if it does not pay to make a part again."""


class Replacer:
    """Makes the touched part of a result again.

    Args:
        prover: knows what is known of results.
        statements: runs queries.
        chosen: gives some rows of a table as a table.
        tables: the session's registered tables.
        library: the saved results.

    """

    def __init__(
        self, prover: Prover, statements: Statements, chosen: ChosenRows, tables: RegisteredTables, library: Library
    ) -> None:
        self._prover, self._statements, self._chosen = prover, statements, chosen
        self.tables, self._library = tables, library
        self._sums = GroupSums(tables)

    # ------------------------------------------------------------ what is touched

    def touched(self, saved: SavedResult, inputs: Sequence[Input], check: Check = lambda _: None) -> Touched:
        """Return the part of a result that changes touch.

        Args:
            saved: the result.
            inputs: what it was made of and is another version now.
            check: raises if it does not pay to look for the keys of touched parts, which reads all that is read.

        Raises:
            NotProvableError: no rule tells, or `check` raises it.
            LineageError: its query cannot be read, or a table is not what was registered.

        """
        tree = self._prover.checked(saved, inputs).statement.tree
        others = as_read(inputs, tree)
        self._check_form(saved)
        by_name = {each.edge.name.lower(): each for each in others}
        went = self._prover.went(others)
        rows = self._prover.made_of_changed(saved, others)
        everything = without_limit(tree)
        if everything is not None:
            first = first_rows(tree, [name for name, _ in saved.columns], went)
            check_order(first, [kind.lower() for _, kind in saved.columns])
            everyone = Touched(saved, inputs, others, rows, (), first=first)
            return self._first_rows(self._of_all(everyone, everything, by_name, went, check))
        if went is not None:
            with suppress(NotProvableError):
                how = growing(tree, by_name.keys(), went, [kind.lower() for _, kind in saved.columns])
                return self._growing(Touched(saved, inputs, others, rows, how), tree, by_name)
        return self._of_all(Touched(saved, inputs, others, rows, ()), tree, by_name, went, check)

    def _of_all(
        self, found: Touched, tree: exp.Expr, by_name: Mapping[str, Input], went: set[str] | None, check: Check
    ) -> Touched:
        """Of a query without LIMIT."""
        fits = partial(self._fits, found.saved)
        how = replacement(tree, by_name.keys(), went, fits)
        if not isinstance(how, Keyed):
            active = self._active(how, by_name)
            return replace(found, how=active, order=_order(tree, found.saved) if active else ())
        found = replace(found, how=how, order=_order(tree, found.saved))
        if found.first is None:
            check(found)
        return self._with_keys(found, tree, by_name)

    def _active(self, places: Sequence[Added], by_name: Mapping[str, Input]) -> tuple[Added, ...]:
        found = self._prover.finding([each.probe for each in places], by_name)
        return tuple(each for each in places if each.probe in found)

    def _growing(self, found: Touched, tree: exp.Expr, by_name: Mapping[str, Input]) -> Touched:
        """Of a query whose groups grow: where rows came, to be counted once each."""
        how = found.how
        assert isinstance(how, Growing), "asked before"
        with _spark_may_refuse():
            how = self._sums.with_kinds(how, found.saved)
        active = self._active(how.places, by_name)
        return replace(found, how=replace(how, places=active), order=_order(tree, found.saved))

    def _check_form(self, saved: SavedResult) -> None:
        if saved.stages or saved.refers:
            raise NotProvableError("its lineage is kept by reference, to rows of inner queries that would be others")
        if saved.files is not LOCAL:
            raise NotProvableError("the home is in an object store")
        if not saved.row_files:
            raise NotProvableError("an earlier release saved it")
        check_row_files(saved)
        if any(rerun_of(saved).options.get(each) for each in _OF_WORKLOADS):
            raise NotProvableError("data for a workload are made again, too")

    def _with_keys(self, found: Touched, tree: exp.Expr, by_name: Mapping[str, Input]) -> Touched:
        saved, keyed = found.saved, found.how
        assert isinstance(keyed, Keyed), "asked before"
        with _spark_may_refuse(), self._prover.views(by_name, keyed.sources) as views:
            old = (
                self._hidden_keys(found, views)
                if keyed.hidden
                else _keys_of(self._identified(saved, found.rows), keyed)
            )
            frames = [old, *filter(None, map(views.asked, keyed.probes))]
            together = reduce(DataFrame.unionAll, frames).distinct()
            keys = arrow_table(together.limit(MOST_KEYS + 1))
        if keys.num_rows > MOST_KEYS:
            raise NotProvableError(f"more than {MOST_KEYS:,} of its {keyed.what} have rows that changed")
        keys = keys.rename_columns(keyed.names)
        if not keys.num_rows:
            return replace(found, keys=keys)
        if keyed.hidden is None:
            return replace(found, keys=keys, rows=self._rows_with(found, keyed.columns, keys))
        return replace(found, keys=keys, rows=found.rows | self._rows_with_hidden(found, keyed.hidden, by_name, keys))

    def _identified(self, saved: SavedResult, rows: LineageSet) -> IdentifiedRows:
        return IdentifiedRows.of_result(self.tables.spark, saved).among(rows)

    def _hidden_keys(self, found: Touched, views: ChangedViews) -> DataFrame:
        """The keys of rows that may not be what they were, each told by an unchanged row that it was made of.

        A row that was made of none has no part any more, but what the probes find.
        """
        assert isinstance(found.how, Keyed) and found.how.hidden is not None, "asked before"
        edge = self._edge(found, found.how.hidden)
        changed = next((each for each in found.others if each.edge is edge), None)
        numbers, ids = relation_of(found.saved, edge).restrict(rows=found.rows).pairs()
        if changed is not None and changed.changes is not None:
            stays = ~np.isin(ids, changed.changes.before.ids())
            numbers, ids = numbers[stays], ids[stays]
        one_of_each = LineageSet(ids[np.unique(numbers, return_index=True)[1]])
        rows = self._prover.inputs.rows_now(edge, changed).among(one_of_each)
        return views.computed(found.how.hidden.sql, rows).drop(NUMBER)

    def _rows_with_hidden(
        self, found: Touched, hidden: HiddenKeys, by_name: Mapping[str, Input], keys: pa.Table
    ) -> LineageSet:
        """The numbers of the rows that were made of a row whose keys are among some."""
        edge = self._edge(found, hidden)
        with _spark_may_refuse(), self._prover.views(by_name) as views, self._view_of(keys) as name:
            rows = views.computed(hidden.sql, self._prover.inputs.rows_now(edge, by_name.get(hidden.table)))
            known = self.tables.spark.table(name)
            equal = [rows[each].eqNullSafe(known[each]) for each in keys.column_names]
            ids = arrow_table(rows.join(known, equal, "left_semi").select(NUMBER).limit(MOST_ROWS + 1)).column(0)
        if len(ids) > MOST_ROWS:
            raise NotProvableError(f"more than {MOST_ROWS:,} rows of {edge.name} are in parts that are touched")
        return self._library.relation(found.saved, edge).forward(LineageSet(ids.to_numpy()))

    @staticmethod
    def _edge(found: Touched, hidden: HiddenKeys) -> TracedTable:
        edge = next((each for each in found.saved.tables if each.name.lower() == hidden.table), None)
        if edge is None:
            raise NotProvableError(f"no row of it was traced to {hidden.table}, which has its keys")
        return edge

    def _first_rows(self, found: Touched) -> Touched:
        """Of a query with LIMIT: rows that came may be among the first ones, if none of these is touched."""
        if found.rows:
            raise NotProvableError("its first rows are touched, and which come after them is not known")
        if isinstance(found.how, Keyed) and found.keys is not None and found.keys.num_rows:
            with _spark_may_refuse(), self._view_of(found.keys) as name:
                if not self.tables.spark.sql(found.how.sql.replace(KEYS, name)).limit(1).collect():
                    return replace(found, keys=found.keys.slice(0, 0))
        return found

    @contextmanager
    def _view_of(self, keys: pa.Table) -> Iterator[str]:
        """Give keys of touched parts a name in the session."""
        name = f"__fl_keys_{uuid4().hex}"
        arrow_frame(self.tables.spark, keys).createOrReplaceTempView(name)
        try:
            yield name
        finally:
            self.tables.spark.catalog.dropTempView(name)

    def _fits(self, saved: SavedResult, sql: str, columns: Sequence[int]) -> bool:
        """Equal keys must be keys of one part, to every operator, and values of what they are computed of no others."""
        wanted = [saved.columns[column][1].lower() for column in columns]
        try:
            with spark_errors():
                kinds = [field.dataType.simpleString() for field in self.tables.spark.sql(sql).schema.fields]
        except LineageError:
            return False
        return kinds[: len(wanted)] == wanted and all(map(is_comparable, kinds))

    def _rows_with(self, found: Touched, columns: Sequence[int], keys: pa.Table) -> LineageSet:
        """The numbers of the rows whose keys are among some."""
        saved = found.saved
        numbers = rows_with_keys(saved, columns, keys)
        if numbers is not None:
            return numbers
        named = _by_place(IdentifiedRows.of_result(self.tables.spark, saved))
        known = arrow_frame(self.tables.spark, keys)
        pairs = enumerate(columns)
        equal = [named[f"c{column}"].eqNullSafe(known[key_column(i)]) for i, column in pairs]
        with _spark_may_refuse():
            there = arrow_table(named.join(known, equal, "left_semi").select("number"))
            return LineageSet(there.column(0).to_numpy())

    # ------------------------------------------------------------ made again

    def replace(self, touched: Touched) -> SavedResult:
        """Make the touched part again, and publish a version with it; what stays is shared.

        Raises:
            NotProvableError: it cannot be put together with what stays.
            NameTakenError: another session saved the result meanwhile.
            LineageError: Spark's own complaint; a table is not what was registered.

        """
        saved = touched.saved
        with self._library.writing(saved.name) as folder:
            with _spark_may_refuse():
                runs = enumerate(self._runs(touched))
                parts = [self._run(touched, *run, folder / f"again-{number}") for number, run in runs]
            made, sums = self._made(touched, parts)
            written = write_new_rows(saved, made, folder)
            if isinstance(touched.how, Growing):
                write_sums(folder, touched.how.hidden, sums, sum(file.rows for file in written.row_files))
            for number in range(len(parts)):
                shutil.rmtree(folder / f"again-{number}")
            proven = self._prover.inputs.in_step(saved, touched.inputs)
            new = _version(proven, written, folder)
            tables = (replace(each, segments=written.segments[each.name]) for each in proven.tables)
            new = replace(new, tables=tuple(tables), order=_order_to_read_in(touched, made))
            share_files(saved, (NAME, *written.shared), folder)
            return self._library.publish(lambda newest: still_newest(new, saved.version, newest))

    def _runs(self, touched: Touched) -> Iterator[tuple[str, Narrowed]]:
        """The statements that give the new rows, each with the relation that it reads besides."""
        by_name = {each.edge.name.lower(): each for each in touched.others}
        names = tuple(edge.name for edge in touched.saved.tables)
        if isinstance(touched.how, Keyed):
            assert touched.keys is not None, "it has keys"
            if touched.keys.num_rows:
                with self._view_of(touched.keys) as name:
                    keys = not_traced(name, touched.keys.column_names)
                    yield touched.how.sql.replace(KEYS, name), Narrowed(names, placed=(keys,))
            return
        for added in touched.places:
            found = by_name[added.probe.table]
            assert found.changes is not None, "others were turned away before"
            if isinstance(touched.how, Growing) and not found.changes.after:
                continue
            came = self._chosen.table_of(self._rows_chosen(found))
            sql, placed = added.sql.replace(PLACE, came.relation), [came]
            for each in sorted(added.kept):
                stays = self._chosen.table_of(self._rows_chosen(by_name[each], others=True))
                sql, placed = sql.replace(kept(each), stays.relation), [*placed, stays]
            yield sql, Narrowed(names, placed=tuple(placed))

    def _rows_chosen(self, found: Input, *, others: bool = False) -> Chosen:
        """The rows of a table that came or differ, or all others."""
        assert found.changes is not None, "others were turned away before"
        manifest = self.tables.registered(found.edge.name)
        by_value = manifest.provider is Provider.KEY
        table, ids = self.tables.base_table(manifest), found.changes.after
        return Chosen(table, manifest.version, ids, by_value, others=others)

    def _made(self, touched: Touched, parts: Sequence[Part]) -> tuple[MadeAgain, Hidden]:
        """The rows that are other ones now, and hidden columns of groups."""
        saved, how = touched.saved, touched.how
        if touched.first is not None:
            return first_of_all(saved, touched.first, parts), {}
        if isinstance(how, Growing):
            return self._grown(touched, how, parts)
        return made_again(saved, touched.rows, how, parts), {}

    def _grown(self, touched: Touched, how: Growing, parts: Sequence[Part]) -> tuple[MadeAgain, Hidden]:
        """The groups that rows came to or went from, with what they had before."""
        by_name = {each.edge.name.lower(): each for each in touched.others}
        found = by_name[how.places[0].probe.table]

        numbered = partial(self._rows_with, touched, how.keys)
        with _spark_may_refuse(), self._prover.views(by_name) as views:
            went = (found, views) if found.changes and found.changes.before else None
            return self._sums.made(touched.saved, how, parts, went, numbered)

    def _run(self, touched: Touched, sql: str, narrowed: Narrowed, folder: Path) -> Part:
        """Run a statement; return its rows, as in the files of the result, and their lineage."""
        saved, spark = touched.saved, self.tables.spark
        traced = self._statements.trace(sql, saved.semantics, narrowed=narrowed)
        with configured(spark, QUICK_VALUES):
            frame = self._statements.run(traced)
        schema = StructType.fromJson(saved.schema)
        if isinstance(touched.how, Growing):
            schema = with_hidden_columns(schema, touched.how)
        tables = _traced_in(frame)
        frame = _of_types(frame, schema)
        folder.mkdir()
        target = Target(folder, saved.name, schema, "runs")
        written = write_result(frame, LINEAGE_COLUMN if tables else None, tables, target)
        if written.rows > MOST_ROWS:
            raise NotProvableError(f"{written.rows:,} rows would be made again")
        rows = pa.concat_tables([pq.read_table(folder / file.path) for file in written.row_files])
        pairs = {
            table.lower(): StoredRelation([each.file_in(folder) for each in entries], SegmentCache()).pairs()
            for table, entries in zip(tables, written.segments, strict=True)
        }
        return rows, pairs


@contextmanager
def _spark_may_refuse() -> Iterator[None]:
    """A part of a query that Spark or the rules refuse is no reason to leave the result as it is."""
    try:
        with spark_errors():
            yield
    except LineageError as error:
        raise NotProvableError(f"its touched part could not be asked for: {error.what}") from None


def _traced_in(frame: DataFrame) -> list[str]:
    """The tables that rows of a frame are traced to."""
    last = frame.schema.fields[-1]
    names: list[str] = last.dataType.names if last.name == LINEAGE_COLUMN else []  # type: ignore[attr-defined]
    return names


def _of_types(frame: DataFrame, schema: StructType) -> DataFrame:
    """The columns of a part in the types of the result: what UNION ALL makes of integers, and nothing else."""
    wanted = [field.dataType.simpleString() for field in schema]
    there = [field.dataType.simpleString() for field in frame.schema][: len(wanted)]
    if there == wanted:
        return frame
    for kind, other in zip(there, wanted, strict=True):
        if kind != other and not (kind in INTEGERS and other in INTEGERS[INTEGERS.index(kind) :]):
            raise NotProvableError("its touched part alone has columns of other types")
    names = [f"c{i}" for i in range(len(wanted))]
    renamed = frame.toDF(*names, *frame.columns[len(names) :])
    return renamed.select(
        *(renamed[name].cast(kind).alias(name) for name, kind in zip(names, wanted, strict=True)),
        *frame.columns[len(names) :],
    )


def _order(tree: exp.Expr, saved: SavedResult) -> tuple[SortKey, ...]:
    return reading_order(tree, [name for name, _ in saved.columns])


def _order_to_read_in(touched: Touched, made: MadeAgain) -> tuple[SortKey, ...]:
    """None if each row was replaced by one with the same keys, which the order is by: numbers are in order still."""
    how = touched.how
    keys = how.columns if isinstance(how, Keyed) else how.keys if isinstance(how, Growing) else ()
    stays = not (made.numbers < 0).any() and all(each.column in keys for each in touched.order)
    return touched.saved.order if stays else touched.order


def _keys_of(rows: IdentifiedRows, keyed: Keyed) -> DataFrame:
    return _by_place(rows).select(*(f"c{column}" for column in keyed.columns))


def _by_place(rows: IdentifiedRows) -> DataFrame:
    """Rows of a result after their numbers, columns called by place."""
    return rows.frame.toDF("number", *(f"c{i}" for i in range(len(rows.frame.columns) - 1)))


def _version(saved: SavedResult, written: Written, folder: Path) -> SavedResult:
    return replace(
        saved,
        data=folder.name,
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        rows=sum(file.rows for file in written.row_files),
        row_files=written.row_files,
        ids_end=written.ids_end,
        keeps_numbers_of=0,
    )
