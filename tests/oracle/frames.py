"""The query tree as a program of the DataFrame API: the other door to lineage.

Each relation is a frame whose columns have names that occur once, so that no name means two things; what a query calls
its columns is said at the end. What the API has no words for is left out, by name.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from tests.oracle import algebra as q
from tests.oracle.expressions import has_aggregate
from tests.oracle.printing import SPARK_TYPES
from tests.oracle.scoping import AmbiguousError, resolve
from tests.oracle.scoping import Column as Named
from udafs.errors import NotTracedError
from udafs.requests import ask_json


class NoWordsError(Exception):
    """The DataFrame API does not have this."""


@dataclass(frozen=True)
class Rows:
    """A frame, and what its columns, in their order, are called in a query."""

    frame: DataFrame
    scope: tuple[Named, ...]

    @property
    def columns(self) -> list[str]:
        return self.frame.columns


@dataclass(frozen=True)
class Place:
    """Where an expression stands: rows from the innermost outwards, and expressions that are columns already."""

    rows: tuple[Rows, ...]
    made: Mapping[q.Expr, str] = field(default_factory=dict)

    def column(self, name: str, qualifier: str | None) -> Column:
        try:
            found = resolve([each.scope for each in self.rows], name, qualifier)
        except AmbiguousError as error:
            raise NoWordsError("an ambiguous name") from error
        if found is None:
            raise NoWordsError("a name of another place")
        level, position = found
        column = F.col(self.rows[level].columns[position])
        if level > 1:
            raise NoWordsError("a column from further out")
        return column.outer() if level else column


_BINARY: dict[str, Callable[[Column, Column], Column]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod, "=": operator.eq},
    **{"<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"AND": operator.and_, "OR": operator.or_, "||": F.concat},
    "<=>": lambda left, right: left.eqNullSafe(right),
}
_JOINS = {"INNER": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full", "CROSS": "cross", "COMMA": "cross"}
_JOINS |= {"SEMI": "left_semi", "ANTI": "left_anti"}


class FrameWriter:
    """Writes one query as a DataFrame.

    Args:
        spark: the session.
        rename: what the tables are called in it.

    """

    def __init__(self, spark: SparkSession, rename: Mapping[str, str]) -> None:
        self._spark = spark
        self._rename = rename
        self._numbers = itertools.count()

    def frame(self, query: q.Query) -> DataFrame:
        """Return the query as a DataFrame.

        Raises:
            NoWordsError: it has something that the DataFrame API does not have.

        """
        try:
            rows = self._query(query, (), {})
            return rows.frame.toDF(*(each.name or f"c{place}" for place, each in enumerate(rows.scope)))
        except AnalysisException as error:  # the right side of isin(…) does not see the rows around it
            raise NoWordsError(f"what Spark refuses: {error.getCondition()}") from error

    def _fresh(self) -> str:
        return f"x{next(self._numbers)}"

    # --- queries --------------------------------------------------------------------------------------------

    def _query(self, query: q.Query, outer: tuple[Rows, ...], ctes: Mapping[str, Rows]) -> Rows:
        for cte in query.ctes:
            ctes = {**ctes, cte.name: _renamed(self._query(cte.query, (), ctes), cte.columns)}
        rows = self._body(query.body, outer, ctes, query.order)
        if query.offset is not None:
            rows = Rows(rows.frame.offset(query.offset), rows.scope)
        return rows if query.limit is None else Rows(rows.frame.limit(query.limit), rows.scope)

    def _body(
        self,
        body: q.Select | q.SetOp | q.Query,
        outer: tuple[Rows, ...],
        ctes: Mapping[str, Rows],
        order: Sequence[q.SortKey] = (),
    ) -> Rows:
        match body:
            case q.Select():
                return self._select(body, outer, ctes, order)
            case q.SetOp():
                left, right = self._body(body.left, outer, ctes), self._body(body.right, outer, ctes)
                rows = Rows(_set_operation(body, left.frame, right.frame), left.scope)
                return _sorted_by_output(rows, order)
            case q.Query():
                return self._query(body, outer, ctes)

    def _select(
        self, select: q.Select, outer: tuple[Rows, ...], ctes: Mapping[str, Rows], order: Sequence[q.SortKey]
    ) -> Rows:
        if select.source is None or select.qualify is not None:
            raise NoWordsError("no FROM" if select.source is None else "QUALIFY")
        rows = self._relation(select.source, outer, ctes)
        for view in select.views:
            rows = self._view(view, rows, outer, ctes)
        place = Place((rows, *outer))
        if select.where is not None:
            rows = Rows(rows.frame.filter(self._expr(select.where, place, ctes)), rows.scope)
            place = Place((rows, *outer))
        parts = [*select.items, *([select.having] if select.having is not None else []), *order]
        if select.group is not None or any(map(has_aggregate, parts)):
            rows, place = self._grouped(select, parts, place, ctes)
            if select.having is not None:
                rows = Rows(rows.frame.filter(self._expr(select.having, place, ctes)), rows.scope)
        elif select.having is not None:
            raise NoWordsError("HAVING without groups")
        return self._selected(select, rows, place, ctes, order)

    def _selected(
        self, select: q.Select, rows: Rows, place: Place, ctes: Mapping[str, Rows], order: Sequence[q.SortKey]
    ) -> Rows:
        items: list[tuple[str | None, Column]] = []
        for item in select.items:
            items += self._item(item, rows, place, ctes)
        names = [self._fresh() for _ in items]
        scope = tuple(Named(name, None) for name, _ in items)
        by_output = select.distinct or all(isinstance(key.expr, q.Lit) for key in order)
        hidden = [] if by_output else [self._fresh() for _ in order]
        explodes = any(isinstance(item, q.ExplodeItem) for item in select.items)
        keys = [
            self._key(key, items, place, ctes, explodes=explodes).alias(name)
            for key, name in zip(order, hidden, strict=False)
        ]
        frame = rows.frame.select(*(column.alias(name) for (_, column), name in zip(items, names, strict=True)), *keys)
        if select.distinct:
            frame = frame.distinct()
        if by_output:
            return _sorted_by_output(Rows(frame, scope), order)
        frame = frame.orderBy(*(_directed(F.col(name), key) for name, key in zip(hidden, order, strict=True)))
        return Rows(frame.drop(*hidden), scope)

    def _key(
        self,
        key: q.SortKey,
        items: Sequence[tuple[str | None, Column]],
        place: Place,
        ctes: Mapping[str, Rows],
        *,
        explodes: bool,
    ) -> Column:
        if isinstance(key.expr, q.Lit):
            assert isinstance(key.expr.value, int)
            if explodes:
                raise NoWordsError("a sort by what explode gives, and by what is not selected")
            return items[key.expr.value - 1][1]
        if isinstance(key.expr, q.Col) and any(name == key.expr.name for name, _ in items):
            raise NoWordsError("a sort by a name that is selected, too")
        return self._expr(key.expr, place, ctes)

    def _item(
        self, item: q.Item | q.ExplodeItem | q.Star, rows: Rows, place: Place, ctes: Mapping[str, Rows]
    ) -> list[tuple[str | None, Column]]:
        match item:
            case q.Star(qualifier):
                return [
                    (each.name, F.col(column))
                    for each, column in zip(rows.scope, rows.columns, strict=True)
                    if qualifier in (None, each.qualifier)
                ]
            case q.ExplodeItem(elements, alias, is_outer):
                explode = F.explode_outer if is_outer else F.explode
                return [(alias, explode(F.array(*(self._expr(each, place, ctes) for each in elements))))]
            case q.Item(expr, alias):
                return [(alias or (expr.name if isinstance(expr, q.Col) else None), self._expr(expr, place, ctes))]
        raise TypeError(item)

    def _grouped(
        self, select: q.Select, parts: Sequence[q.Node], place: Place, ctes: Mapping[str, Rows]
    ) -> tuple[Rows, Place]:
        group = select.group or q.GroupBy()
        if group.kind == "GROUPING SETS" or (
            group.kind and (group.plain or any(len(each) != 1 for each in group.sets))
        ):
            raise NoWordsError("GROUPING SETS")
        keys = list(dict.fromkeys(group.plain or [each[0] for each in group.sets]))
        if len(keys) < len(group.plain or group.sets) or any(isinstance(key, q.Lit) for key in keys):
            raise NoWordsError("a key that is given twice, or is no column")
        made: dict[q.Expr, str] = {key: self._fresh() for key in keys}
        named = [self._expr(key, place, ctes).alias(made[key]) for key in keys]
        calls = dict.fromkeys(each for part in parts for each in _calls(part))
        computed = []
        for call in calls:
            made[call] = self._fresh()
            computed.append(self._expr(call, place, ctes).alias(made[call]))
        frame = place.rows[0].frame
        grouped = {None: frame.groupBy, "ROLLUP": frame.rollup, "CUBE": frame.cube}[group.kind](*named)
        result = grouped.agg(*(computed or [F.count("*").alias(self._fresh())]))
        return Rows(result, ()), Place((Rows(result, ()), *place.rows[1:]), made)

    # --- relations ------------------------------------------------------------------------------------------

    def _relation(self, rel: q.Rel, outer: tuple[Rows, ...], ctes: Mapping[str, Rows]) -> Rows:
        match rel:
            case q.Table(name, alias):
                rows = ctes.get(name) or self._table(name)
                return self._anew(rows, alias or name)
            case q.Derived(query, alias, columns, False):
                return self._anew(_renamed(self._query(query, (), ctes), columns), alias)
            case q.Join():
                return self._join(rel, outer, ctes)
        raise NoWordsError(type(rel).__name__)

    def _table(self, name: str) -> Rows:
        frame = self._spark.table(self._rename.get(name, name))
        return Rows(frame, tuple(Named(column, None) for column in frame.columns))

    def _anew(self, rows: Rows, qualifier: str) -> Rows:
        """The same rows under names of their own: a frame that is read twice must not meet itself."""
        frame = rows.frame.toDF(*(self._fresh() for _ in rows.scope))
        return Rows(frame, tuple(Named(each.name, qualifier) for each in rows.scope))

    def _join(self, join: q.Join, outer: tuple[Rows, ...], ctes: Mapping[str, Rows]) -> Rows:
        if join.using or join.natural:
            raise NoWordsError("USING")
        left, right = self._relation(join.left, outer, ctes), self._relation(join.right, outer, ctes)
        both = (*left.scope, *right.scope)
        kind = _JOINS[join.kind]
        if join.on is None:
            crossed = kind in ("cross", "inner")
            frame = left.frame.crossJoin(right.frame) if crossed else left.frame.join(right.frame, how=kind)
        else:
            place = Place((_Both(left, right, both), *outer))
            frame = left.frame.join(right.frame, self._expr(join.on, place, ctes), "inner" if kind == "cross" else kind)
        return Rows(frame, left.scope if join.kind in ("SEMI", "ANTI") else both)

    def _view(self, view: q.LateralView, rows: Rows, outer: tuple[Rows, ...], ctes: Mapping[str, Rows]) -> Rows:
        place = Place((rows, *outer))
        explode = F.explode_outer if view.outer else F.explode
        column = explode(F.array(*(self._expr(each, place, ctes) for each in view.items))).alias(self._fresh())
        return Rows(rows.frame.select("*", column), (*rows.scope, Named(view.column, view.alias)))

    # --- expressions ----------------------------------------------------------------------------------------

    def _expr(self, expr: q.Expr, place: Place, ctes: Mapping[str, Rows]) -> Column:  # noqa: C901 - one arm a kind
        def of(each: q.Expr) -> Column:
            return self._expr(each, place, ctes)

        if expr in place.made:
            return F.col(place.made[expr])
        match expr:
            case q.Lit(value, kind):
                return F.lit(value) if value is not None else F.lit(None).cast(SPARK_TYPES[kind])
            case q.Col(name, qualifier):
                if place.made and not place.rows[0].scope:
                    return Place(place.rows[1:]).column(name, qualifier).outer()
                return place.column(name, qualifier)
            case q.Op("LIKE", left, q.Lit(str() as pattern)):
                return of(left).like(pattern)
            case q.Op(op, left, right) if op in _BINARY:
                return _BINARY[op](of(left), of(right))
            case q.Not(operand):
                return ~of(operand)
            case q.IsNull(operand, negated):
                return of(operand).isNotNull() if negated else of(operand).isNull()
            case q.Between(operand, low, high):
                return of(operand).between(of(low), of(high))
            case q.InList(operand, items, negated):
                found = of(operand).isin(*map(of, items))
                return ~found if negated else found
            case q.Case(whens, otherwise):
                return _case(
                    [(of(when), of(then)) for when, then in whens], None if otherwise is None else of(otherwise)
                )
            case q.Func(name, args):
                return F.call_function(name, *map(of, args))
            case q.Agg():
                return _aggregate(expr, [of(each) for each in expr.args])
            case q.Grouping(operand):
                return F.grouping(of(operand))
            case q.Over():
                return self._over(expr, of)
            case q.Scalar(query):
                return self._query(query, place.rows[:1], ctes).frame.scalar()
            case q.Exists(query, negated):
                found = self._query(query, place.rows[:1], ctes).frame.exists()
                return ~found if negated else found
            case q.InQuery((operand,), query, negated):
                found = of(operand).isin(self._query(query, place.rows[:1], ctes).frame)
                return ~found if negated else found
        raise NoWordsError(type(expr).__name__)

    def _over(self, over: q.Over, of: Callable[[q.Expr], Column]) -> Column:
        window = Window.partitionBy(*map(of, over.partition))
        if over.order:
            window = window.orderBy(*(_directed(of(key.expr), key) for key in over.order))
        if over.frame is not None:
            start = Window.unboundedPreceding if over.frame.start is None else over.frame.start
            end = Window.unboundedFollowing if over.frame.end is None else over.frame.end
            between: Any = window.rowsBetween if over.frame.unit == "ROWS" else window.rangeBetween
            window = between(start, end)
        return of(over.function).over(window)


class _Both(Rows):
    """The rows of both sides of a join, in its condition."""

    def __init__(self, left: Rows, right: Rows, scope: tuple[Named, ...]) -> None:
        super().__init__(left.frame, scope)
        object.__setattr__(self, "_names", [*left.columns, *right.columns])

    @property
    def columns(self) -> list[str]:
        names: list[str] = self._names  # type: ignore[attr-defined]
        return names


def _calls(part: q.Node) -> list[q.Expr]:
    """The aggregates of groups in an expression, and `grouping`; a window's own function is none, its arguments are."""
    if isinstance(part, q.Agg | q.Grouping):
        return [part]
    inside = [*part.function.children(), *part.partition, *part.order] if isinstance(part, q.Over) else part.children()
    return [call for child in inside if not isinstance(child, q.Query) for call in _calls(child)]


def _renamed(rows: Rows, names: Sequence[str]) -> Rows:
    return Rows(rows.frame, tuple(Named(name, None) for name in names)) if names else rows


def _set_operation(body: q.SetOp, left: DataFrame, right: DataFrame) -> DataFrame:
    match body.op, body.all:
        case "UNION", True:
            return left.unionAll(right)
        case "UNION", False:
            return left.union(right).distinct()
        case "INTERSECT", keep_all:
            return left.intersectAll(right) if keep_all else left.intersect(right)
        case "EXCEPT", keep_all:
            return left.exceptAll(right) if keep_all else left.subtract(right)
    raise TypeError(body.op)


def _sorted_by_output(rows: Rows, order: Sequence[q.SortKey]) -> Rows:
    keys = []
    for key in order:
        match key.expr:
            case q.Lit(int() as place):
                column = rows.columns[place - 1]
            case q.Col(name, None) if [each.name for each in rows.scope].count(name) == 1:
                column = rows.columns[[each.name for each in rows.scope].index(name)]
            case _:
                raise NoWordsError("a sort by what is not selected")
        keys.append(_directed(F.col(column), key))
    return Rows(rows.frame.orderBy(*keys), rows.scope) if keys else rows


def _directed(column: Column, key: q.SortKey) -> Column:
    """By default NULLs come first where the order is ascending, as in SQL."""
    first = key.nulls == "FIRST" or (key.nulls is None and not key.descending)
    if key.descending:
        return column.desc_nulls_first() if first else column.desc_nulls_last()
    return column.asc_nulls_first() if first else column.asc_nulls_last()


def _case(whens: Sequence[tuple[Column, Column]], otherwise: Column | None) -> Column:
    (condition, value), *others = whens
    column = F.when(condition, value)
    for when, then in others:
        column = column.when(when, then)
    return column if otherwise is None else column.otherwise(otherwise)


def _aggregate(agg: q.Agg, args: Sequence[Column]) -> Column:
    if agg.where is not None:
        raise NoWordsError("FILTER")
    if not agg.args:
        return F.count("*")
    if not agg.distinct or agg.name in ("min", "max"):
        return F.call_function(agg.name, *args)
    if agg.name == "count":
        return F.count_distinct(*args)
    if agg.name == "sum":
        return F.sum_distinct(*args)
    raise NoWordsError("DISTINCT in an aggregate")


def written(frame: DataFrame, tables: Iterable[str]) -> str:
    """The SQL that a DataFrame over these tables is written as.

    Raises:
        NotTracedError: it has none.

    """
    answer = ask_json(frame.sparkSession, "sql of", frame, registered="\n".join(tables))
    if "what" in answer:
        raise NotTracedError(answer["what"], instead=answer["instead"])
    return str(answer["sql"])
