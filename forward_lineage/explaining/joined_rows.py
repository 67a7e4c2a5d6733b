"""The joined rows of a query's groups in two versions of its tables: Spark joins them, and takes away those of both.

If few rows are asked about, only base rows in their lineage are read (`few_rows`). With plain tables and inner joins
alone in FROM, that gives all joined rows of their groups. Each base row of a group is in its lineage, and no joined row
depends on another one's absence.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.explaining.attributing import JoinedRow, exact
from forward_lineage.explaining.few_rows import ID, FewRows
from forward_lineage.explaining.joined_here import FewTable, joined_here
from forward_lineage.explaining.past_tables import NamesThen, PastTables
from forward_lineage.explaining.row_images import NEW, OLD, both_images, changed_in, undone_image
from forward_lineage.explaining.saved_rows import comparable
from forward_lineage.explaining.summed_block import SummedBlock
from forward_lineage.explaining.undoing import MixedRow, Named
from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.statement import Statement
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted, string_literal
from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.store.asking.rows import hidden_view
from forward_lineage.store.library.saved_result import SavedResult
from rewrites.aliases import table_name
from rewrites.options import Options
from rewrites.tables import BaseTable, View
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet

_MOST_LISTED = 50  # groups whose keys are written into the query
_MOST_ROWS = 200_000
_MOST_DIGITS = 32  # of decimals that Arrow adds up: so many of them have six digits more at most
Lineage = tuple[Mapping[str, LineageSet], Mapping[str, LineageSet]]
"""The ids that the rows that are asked about were made of, by table in lower case, before and after."""


@dataclass(frozen=True)
class Side:
    """The joined rows of a version, by the values of the group's key columns.

    Attributes:
        rows: those that the other version does not have.
        sums: each aggregate added up over all of them.
        counts: how many there are, by what differences are added up by.

    """

    rows: dict[Any, list[JoinedRow]] = field(default_factory=lambda: defaultdict(list))
    sums: dict[Any, list[Fraction]] = field(default_factory=dict)
    counts: dict[Any, Counter[Any]] = field(default_factory=lambda: defaultdict(Counter))

    def all_rows(self) -> Iterator[JoinedRow]:
        """Yield the rows of all groups."""
        return chain.from_iterable(self.rows.values())

    def kept(self, key: Any) -> Counter[Any]:
        """Return how many joined rows of a group the other version has, too."""
        return self.counts.get(key, Counter()) - Counter(row.by for row in self.rows.get(key, ()))

    def add(self, shape: Shape, row: Mapping[str, Any], number: int) -> None:
        """Add joined rows with the sums of their values to those of their group."""
        key = shape.key_of(row)
        self.counts[key][shape.by_of(row)] += number
        before = self.sums.get(key, [Fraction(0)] * len(shape.values))
        self.sums[key] = [one + _exact(row[name]) for one, name in zip(before, shape.values, strict=True)]


class JoinedRows:
    """Asks for joined rows.

    Args:
        tables: the session's registered tables.
        past: tables as they were.

    """

    def __init__(self, tables: RegisteredTables, past: PastTables) -> None:
        self._spark, self._past, self.few = tables.spark, past, FewRows()

    def of_versions(
        self,
        versions: tuple[SavedResult, SavedResult],
        block: SummedBlock,
        by: Sequence[str],
        only: Sequence[Sequence[Any]],
        lineage: Lineage | None,
    ) -> tuple[tuple[str, ...], Side, Side]:
        """Return the tables, and of some groups the joined rows of both versions.

        Raises:
            LineageError: the query cannot be asked again, or rows are gone; too many differ.

        """
        for saved in versions:
            self._past.check_text(saved)
        names = tuple(map(self._past.names_then, versions))
        sql = self._sql(block, by, only, versions[1])
        if lineage is not None and block.is_plain:
            try:
                return self._here(names, versions, block, by, only, lineage)
            except NeedsSpark:
                pass
            try:
                with self._of_few(names, versions, sql, lineage) as few:
                    return self._between(sql, few, block, by, self._all_here)
            except NeedsSpark:
                pass
        return self._between(sql, names, block, by, self._differing_here)

    def _sql(self, block: SummedBlock, by: Sequence[str], only: Sequence[Sequence[Any]], saved: SavedResult) -> str:
        kinds = [saved.columns[at][1] for at in block.keys]
        texts = [[_literal(value, kind) for value, kind in zip(values, kinds, strict=True)] for values in only]
        listable = len(texts) <= _MOST_LISTED and all(text is not None for values in texts for text in values)
        return block.joined_rows(by, texts if listable and not block.pads else None)  # type: ignore[arg-type]

    def _between(
        self,
        sql: str,
        names: Sequence[NamesThen],
        block: SummedBlock,
        by: Sequence[str],
        ask: Callable[[str, Shape, tuple[Side, Side], bool], None],
    ) -> tuple[tuple[str, ...], Side, Side]:
        statement, parts = parse(sql), []
        for each, sign in zip(names, (-1, 1), strict=True):
            rewritten = rewrite_statement(statement, each, Options(by_reference=False))
            parts.append((sign, rewritten.sql))
        shape = Shape(len(block.keys), len(block.aggregates), len(by), rewritten.tables)
        both = " UNION ALL ".join(f"SELECT {sign} AS sign, {shape.listed()} FROM ({text})" for sign, text in parts)
        sides = Side(), Side()
        ask(both, shape, sides, _needs_all(block, by))
        return rewritten.tables, *sides

    # ------------------------------------------------------------ of a few base rows

    def _here(  # noqa: PLR0917
        self,
        names: Sequence[NamesThen],
        versions: Sequence[SavedResult],
        block: SummedBlock,
        by: Sequence[str],
        only: Sequence[Sequence[Any]],
        lineage: Lineage,
    ) -> tuple[tuple[str, ...], Side, Side]:
        """Join few base rows without Spark."""
        tree = parse(block.joined_rows(by)).tree
        assert isinstance(tree, exp.Select), "it is written so"
        mentioned = {each.name.lower() for each in tree.find_all(exp.Identifier)}
        read = [".".join(table_name(each)).lower() for each in tree.find_all(exp.Table)]
        asked = {tuple(comparable(value) for value in values) for values in only}
        parts, order = [], tuple(names[0].then[each].name for each in read if each in names[0].then)
        for saved, ids, sign in zip(versions, lineage, (-1, 1), strict=True):
            few = self._few_tables(saved, ids, mentioned)
            if not set(read) <= few.keys():  # a view or a result may say something else of fewer rows
                raise NeedsSpark("what is no base table")
            rows = joined_here(tree, few, order, lambda key: key in asked)
            parts.append(rows.append_column("sign", pa.array([sign] * rows.num_rows, pa.int32())))
        shape = Shape(len(block.keys), len(block.aggregates), len(by), order)
        sides = Side(), Side()
        self._taken_apart(pa.concat_tables(parts), shape, sides, _needs_all(block, by))
        return order, *sides

    def _few_tables(
        self, saved: SavedResult, ids: Mapping[str, LineageSet], mentioned: set[str]
    ) -> dict[str, FewTable]:
        found: dict[str, FewTable] = {}
        for name, edge in self._past.base_edges(saved).items():
            manifest = edge.registration()
            if manifest is None or name not in ids:
                raise NeedsSpark(f"lineage in {name}")
            kinds = {column.lower(): kind for column, kind in manifest.columns}
            found[name] = FewTable(edge.name, self.few.of(manifest, ids[name], mentioned), kinds)
        return found

    @contextmanager
    def _of_few(
        self, names: Sequence[NamesThen], versions: Sequence[SavedResult], sql: str, lineage: Lineage
    ) -> Iterator[list[NamesThen]]:
        """Let names mean tables that have nothing but the rows of a lineage."""
        tree = parse(sql).tree
        mentioned = {each.name.lower() for each in tree.find_all(exp.Identifier)}
        read = {".".join(table_name(each)).lower() for each in tree.find_all(exp.Table)}
        views: list[str] = []
        try:
            found = []
            for meant, saved, ids in zip(names, versions, lineage, strict=True):
                then = self._few_of(saved, ids, mentioned, views)
                if not read <= then.keys():  # a view or a result may say something else of fewer rows
                    raise NeedsSpark("what is no base table")
                found.append(replace(meant, then=then))
            yield found
        finally:
            for view in views:
                self._spark.catalog.dropTempView(view)

    def _few_of(
        self, saved: SavedResult, ids: Mapping[str, LineageSet], mentioned: set[str], views: list[str]
    ) -> dict[str, BaseTable | View]:
        """The rows of a lineage as tables; `views` gets what is made for them."""
        then: dict[str, BaseTable | View] = {}
        for name, few in self._few_tables(saved, ids, mentioned).items():
            views.append(hidden_view(arrow_frame(self._spark, few.rows)))
            columns = tuple(each for each in few.rows.column_names if each != ID)
            then[name] = BaseTable(few.name, columns, views[-1], ID)
        return then

    # ------------------------------------------------------------ of both versions at once

    def mixed(
        self,
        versions: tuple[SavedResult, SavedResult],
        block: SummedBlock,
        changes: Mapping[str, RowChanges | None],
        only: Sequence[Sequence[Any]],
    ) -> dict[Any, list[MixedRow]]:
        """Join old images of some base rows with new images of the others, by the keys of groups.

        Returns:
            none where FROM has more than plain tables and inner joins: rows may then be there because others are not.

        Raises:
            LineageError: as for `of_versions`.

        """
        statement = parse(self._sql(block, (), only, versions[1]))
        read = [".".join(table_name(each)).lower() for each in statement.tree.find_all(exp.Table)]
        moved = {name.lower(): found for name, found in changes.items() if found}
        if not block.is_plain or sum(name in moved for name in read) < 2:
            return {}
        then, now = map(self._past.names_then, versions)
        images = {
            name: both_images(then.then[name], now.then[name], rows, len(read) > 2) for name, rows in moved.items()
        }
        meant = replace(now, then={**now.then, **images})
        return self._imaged_rows(statement, meant, block, moved)

    def undone(
        self,
        versions: tuple[SavedResult, SavedResult],
        block: SummedBlock,
        changes: Mapping[str, RowChanges | None],
        named: Named,
    ) -> tuple[tuple[str, ...], Side, Side]:
        """Return what differs between the earlier version and the later tables with some rows as they were.

        Raises:
            LineageError: as for `of_versions`.

        """
        then, now = map(self._past.names_then, versions)
        known = then.then.keys() & now.then.keys()
        moved = [each for each, found in changes.items() if found and each.lower() in known]
        tables = {each.lower(): _undone(then, now, each, named) for each in moved}
        meant = replace(now, then={**now.then, **tables})
        return self._between(block.joined_rows(()), (then, meant), block, (), self._differing_here)

    def meet(self, versions: tuple[SavedResult, SavedResult], block: SummedBlock, moved: Container[str]) -> bool:
        """Tell whether changed rows of two tables, or of one that is read twice, may meet in a joined row."""
        read = [".".join(table_name(each)).lower() for each in parse(block.joined_rows(())).tree.find_all(exp.Table)]
        known = self._past.base_edges(versions[1]).keys()
        return sum(name in moved or name not in known for name in read) > 1

    def _imaged_rows(
        self, statement: Statement, meant: NamesThen, block: SummedBlock, moved: Container[str]
    ) -> dict[Any, list[MixedRow]]:
        rewritten = rewrite_statement(statement, meant, Options(by_reference=False))
        shape = Shape(len(block.keys), len(block.aggregates), 0, rewritten.tables)
        found: dict[Any, list[MixedRow]] = defaultdict(list)
        for row in self._rows(f"SELECT {shape.listed()} FROM ({rewritten.sql})"):
            old, new = (changed_in(shape.joined(row), rewritten.tables, moved, image) for image in (OLD, NEW))
            if old and new:
                found[shape.key_of(row)].append(MixedRow(old, new))
        return found

    def _all_here(self, both: str, shape: Shape, sides: tuple[Side, Side], together: bool) -> None:
        """Get all joined rows, and take those of both versions away."""
        self._taken_apart(shape.with_one_id_each(self._table(both)), shape, sides, together)

    def _taken_apart(self, rows: pa.Table, shape: Shape, sides: tuple[Side, Side], together: bool) -> None:
        """Have Arrow take away the joined rows that both versions have."""
        try:
            names = [*shape.keys, *shape.values, *shape.by, *shape.ids]
            times = rows.group_by(names).aggregate([("sign", "sum")])
            differing = times.filter(pc.not_equal(times["sign_sum"], 0)).to_pylist()
            groups = _added_up(rows, shape) if together else []
        except pa.ArrowException as error:
            raise NeedsSpark(f"joined rows: {error}") from None
        for row in differing:
            joined = shape.joined({**row, **{name: (row[name],) for name in shape.ids}})
            sides[row["sign_sum"] > 0].rows[shape.key_of(row)] += [joined] * abs(row["sign_sum"])
        for row in groups:
            sides[row["sign"] > 0].add(shape, row, row["n"])

    # ------------------------------------------------------------ of whole tables

    def _differing_here(self, both: str, shape: Shape, sides: tuple[Side, Side], together: bool) -> None:
        """Have Spark take those of both versions away: a group may have millions."""
        names = ", ".join([*shape.keys, *shape.values, *shape.by, *shape.ids])
        for row in self._rows(
            f"SELECT {names}, sum(sign) AS times FROM ({both}) GROUP BY {names} HAVING sum(sign) <> 0"
        ):
            sides[row["times"] > 0].rows[shape.key_of(row)] += [shape.joined(row)] * abs(row["times"])
        if not together:
            return
        names = ", ".join(["sign", *shape.keys, *shape.by])
        sums = "".join(f", sum({name}) AS {name}" for name in shape.values)
        for row in self._rows(f"SELECT {names}, count(*) AS n{sums} FROM ({both}) GROUP BY {names}"):
            sides[row["sign"] > 0].add(shape, row, row["n"])

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table(sql).to_pylist()
        return rows

    def _table(self, sql: str) -> pa.Table:
        with spark_errors():
            found = arrow_table(self._spark.sql(f"SELECT * FROM ({sql}) LIMIT {_MOST_ROWS + 1}"))
        if found.num_rows > _MOST_ROWS:
            raise NotTracedError(
                f"more than {_MOST_ROWS:,} joined rows differ", instead="Ask about fewer rows: where=."
            )
        return found


class Shape:
    """The columns of joined rows.

    Args:
        keys: how many keys.
        values: how many aggregates.
        by: how many values that differences are added up by.
        tables: the tables.

    """

    def __init__(self, keys: int, values: int, by: int, tables: Sequence[str]) -> None:
        self.keys, self.values, self.by = (
            [f"{name}{at}" for at in range(number)] for name, number in (("k", keys), ("a", values), ("b", by))
        )
        self.ids = [f"i{at}" for at in range(len(tables))]
        self._tables = tables

    def listed(self) -> str:
        """Return them as a select list over rows with `DL`."""
        ids = [f"dl_ids(DL.{quoted(table)}) AS {name}" for name, table in zip(self.ids, self._tables, strict=True)]
        return ", ".join([*self.keys, *self.values, *self.by, *ids])

    def with_one_id_each(self, rows: pa.Table) -> pa.Table:
        """Return joined rows with an id of each table in place of a list of one.

        Raises:
            NeedsSpark: one has not exactly one.

        """
        for name in self.ids:
            if not pc.all(pc.equal(pc.list_value_length(rows[name]), 1), skip_nulls=False, min_count=0).as_py():
                raise NeedsSpark("joined rows of several rows of a table")
            rows = rows.set_column(rows.column_names.index(name), name, pc.list_flatten(rows[name]))
        return rows

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return which group a row is in."""
        return tuple(comparable(row[name]) for name in self.keys)

    def by_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return what its difference is added up by."""
        return tuple(row[name] if row[name].__hash__ else repr(row[name]) for name in self.by)

    def joined(self, row: Mapping[str, Any]) -> JoinedRow:
        """Return what it adds to its group."""
        ids = tuple(frozenset(row[name] or ()) for name in self.ids)
        return JoinedRow(ids, tuple(row[name] for name in self.values), self.by_of(row))


def _undone(then: NamesThen, now: NamesThen, table: str, named: Named) -> BaseTable:
    ids = (each for name, each in named if name == table)
    return undone_image(then.then[table.lower()], now.then[table.lower()], ids)


def _needs_all(block: SummedBlock, by: Sequence[str]) -> bool:
    """Whether joined rows of both versions count, too: for averages, and for what explanations are compared with."""
    return bool(by) or any(form.under is not None for form in block.forms.values())


def _added_up(rows: pa.Table, shape: Shape) -> list[dict[str, Any]]:
    """Joined rows of a version, counted and added up by group: exactly, which Arrow does for integers and decimals."""
    ways = []
    for name in shape.values:
        kind = rows[name].type
        is_small = pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS
        if pa.types.is_integer(kind) or is_small:
            wide = pa.decimal128(38, kind.scale if is_small else 0)
            rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(wide))
            ways.append((name, "sum"))
        else:
            ways.append((name, "list"))
    grouped: list[dict[str, Any]]
    grouped = rows.group_by(["sign", *shape.keys, *shape.by]).aggregate([*ways, ([], "count_all")]).to_pylist()
    for row in grouped:
        row["n"] = row["count_all"]
        for name, way in ways:
            found = row[f"{name}_{way}"]
            row[name] = sum(map(_exact, found), Fraction(0)) if way == "list" else found
    return grouped


def _exact(value: Any) -> Fraction:
    """A sum; of values without an exact one nothing is split, so it does not matter."""
    if isinstance(value, Fraction):
        return value
    try:
        return exact(value)
    except ValueError:
        return Fraction(0)


def _literal(value: Any, kind: str) -> str | None:
    """A value of a key as SQL; None where it is not written exactly, as a float, or other values may equal it."""
    if kind.lower().startswith(("char", "varchar", "string collate")):
        return None
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int):
        return f"{value}L" if abs(value) >= 1 << 31 else str(value)
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}BD"
    is_date = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return f"DATE'{value.isoformat()}'" if is_date else None
