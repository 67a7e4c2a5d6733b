"""How many rows a query has, about, and how many ids their sets hold: what copying them costs, before anything runs.

    FROM sales s JOIN days d ON s.day = d.day WHERE d.year = 2000 GROUP BY s.customer   →  9,100 rows of 12 ids each

Base tables know their rows, and what a sample says of a column (`rewrites.tables.Statistics`). The worst is taken
for whatever nobody knows: a condition that every row satisfies, a column with one value. So few groups of many rows are
expected, and a join that multiplies; an estimate is rather too large.
[Selinger et al. 1979, §4, but for a join: neither side's rows meet more than the other has of a value]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cache, cached_property
from math import inf

from sqlglot import exp

from rewrites.conditions import conjuncts
from rewrites.sources import joins
from rewrites.tables import ColumnFacts, Statistics
from udafs.errors import Position

OneOf = tuple[int, str]
"""A column: the place of its source among those of the block, its name in lower case."""


@dataclass(frozen=True)
class RowEstimate:
    """Estimates of the rows of a query, or of a table.

    Attributes:
        rows: how many.
        ids: in the sets of a row, of all tables together; ids that travel one by one are none of them.
        column: what is known of a column, by name in lower case; None: nothing.
        distinct: how many combinations of values columns have; None: nothing is known of any of them.
        copied: the places of the statement whose sets are copied into these rows.
    """

    rows: float
    ids: float = 0.0
    column: Callable[[str], ColumnFacts | None] = lambda _: None
    distinct: Callable[[Sequence[str]], float | None] = lambda _: None
    copied: frozenset[Position] = frozenset()


Estimator = Callable[[], RowEstimate | None]
"""Gives an estimate when it is wanted; None: nothing is known."""
_Names = Sequence[str | None] | None


def unknown() -> None:
    """Say that nothing is known."""


@dataclass(frozen=True)
class Derived:
    """A column of a query, as `ColumnFacts`.

    Attributes:
        distinct: different values.
        constants: them, if they are written in the query.
    """

    distinct: float
    constants: frozenset[str] = frozenset()

    @property
    def most_frequent(self) -> float:
        """The share of the rows that the most frequent value has: the average, as no sample can be taken."""
        return 1 / max(self.distinct, 1.0)

    def share_between(self, _low: str | None, _high: str | None) -> float:
        """Return the share of the rows with a value in a range: not known."""
        return 1.0


def of_table(statistics: Statistics | None) -> Estimator:
    """Return what gives what is expected of a base table."""
    if statistics is None:
        return unknown
    found = RowEstimate(float(statistics.rows), 0.0, statistics.column, statistics.distinct)
    return lambda: found


def referred(estimated: Estimator) -> Estimator:
    """Return what gives what is expected of rows whose sets are kept elsewhere."""

    def without_sets() -> RowEstimate | None:
        found = estimated()
        return None if found is None else replace(found, ids=0.0, copied=frozenset())

    return cache(without_sets)


def copied(estimated: Estimator, place: Position | None) -> Estimator:
    """Return what gives what is expected of rows whose sets are copied, noting the place."""

    def with_place() -> RowEstimate | None:
        found = estimated()
        return None if found is None or place is None else replace(found, copied=found.copied | {place})

    return estimated if place is None else cache(with_place)


def renamed(estimated: Estimator, before: _Names, after: _Names) -> Estimator:
    """Return what gives what is expected of rows whose columns get other names."""
    if before is None or after is None or before == after:
        return estimated
    old = {new.lower(): each.lower() for each, new in zip(before, after, strict=False) if each and new}

    def under_new_names() -> RowEstimate | None:
        found = estimated()
        if found is None:
            return None
        column, distinct = found.column, found.distinct
        return replace(
            found,
            column=lambda called: column(old.get(called, called)),
            distinct=lambda names: distinct([old.get(each, each) for each in names]),
        )

    return cache(under_new_names)


@dataclass(frozen=True)
class Joined:
    """The rows of FROM … WHERE … of a block, as it was written: conditions move when rules run.

    Attributes:
        names: what the sources are called, lower case.
        columns: theirs, as far as they are known.
        estimators: give what is expected of them.
        padded: which of them an outer join may put NULLs in place of.
        carries: how many ids travel with a row of each one by one.
        filters: conditions over one source each, by its place.
        equal: pairs of columns that are equal.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...] | None, ...]
    estimators: tuple[Estimator, ...]
    padded: tuple[bool, ...]
    carries: tuple[int, ...]
    filters: list[tuple[int, exp.Expr]] = field(default_factory=list)
    equal: list[tuple[OneOf, OneOf]] = field(default_factory=list)

    @cached_property
    def sources(self) -> list[RowEstimate | None]:
        """Estimates of the sources; None: nothing is known."""
        return [estimated() for estimated in self.estimators]

    def read(self, select: exp.Select) -> Joined:
        """Take down what the block asks of its sources; names need not be resolved yet."""
        where = select.args.get("where")
        conditions = [where.this] if where is not None else []
        for join in joins(select):
            conditions += [join.args["on"]] if join.args.get("on") is not None else []
            self.equal.extend(pair for key in join.args.get("using") or () for pair in self._merged(key.name.lower()))
        for condition in conditions:
            for each in conjuncts(condition):
                self._take(each)
        return self

    def _merged(self, column: str) -> list[tuple[OneOf, OneOf]]:
        having = [(at, column) for at in range(len(self.names)) if column in (self.columns[at] or ())]
        return [(having[0], other) for other in having[1:]]

    def _take(self, condition: exp.Expr) -> None:
        bare = condition.unnest()
        if bare.find(exp.Query) is not None:
            return
        if isinstance(bare, exp.EQ):
            left, right = self.find(_unshifted(bare.this)), self.find(_unshifted(bare.expression))
            if left is not None and right is not None and left[0] != right[0]:
                self.equal.append((left, right))
                return
        found = {None if at is None else at[0] for at in map(self.find, bare.find_all(exp.Column))}
        if len(found) == 1 and (only := found.pop()) is not None:
            self.filters.append((only, bare.copy()))

    def find(self, node: exp.Expr) -> OneOf | None:
        """Return the column that an expression is, if it is one of a source here and of no other."""
        if not isinstance(node, exp.Column) or len(node.parts) > 2:
            return None
        called = node.name.lower()
        if node.table:
            places = [at for at, each in enumerate(self.names) if each == node.table.lower()]
        else:
            places = [at for at, each in enumerate(self.columns) if each is None or called in each]
        return (places[0], called) if len(places) == 1 else None

    @cached_property
    def kept(self) -> list[float] | None:
        """The rows of each source that its own conditions let through; None where one is not known."""
        rows = [each.rows if each is not None else None for each in self.sources]
        for at, condition in self.filters:
            known = rows[at]
            if known is not None:
                rows[at] = known * self._share(condition)
        return None if None in rows else [max(each, 1.0) for each in rows if each is not None]

    @cached_property
    def rows(self) -> float | None:
        """How many rows; None: not known."""
        kept = self.kept
        if not kept:
            return None
        inside, left, rows = {0}, list(range(1, len(kept))), kept[0]
        while left:
            at = next((each for each in left if self._pairs(each, inside)), left[0])
            pairs = self._pairs(at, inside)
            met, there, here = kept[at], kept[at], rows
            if pairs:  # how many rows of the source a row inside meets, and the other way round
                met = self._met(at)
                there = met / self.values([own for own, _ in pairs], set())
                here = rows / min(self.values([other for _, other in pairs], inside), rows)
            joined = min(rows * max(there, 1.0), met * max(here, 1.0))
            rows = max(joined, rows if self.padded[at] else 0.0, 1.0)
            inside.add(at)
            left.remove(at)
        return rows

    def _pairs(self, at: int, inside: set[int]) -> list[tuple[OneOf, OneOf]]:
        both = [*self.equal, *((right, left) for left, right in self.equal)]
        return [(own, other) for own, other in both if own[0] == at and other[0] in inside]

    def facts(self, column: OneOf) -> ColumnFacts | None:
        """Return what is known of a column of a source."""
        source = self.sources[column[0]]
        return source.column(column[1]) if source is not None else None

    def values(self, columns: Iterable[OneOf], beside: set[int] | None = None) -> float:
        """Return how many combinations of values columns have in rows that meet the conditions on their own source.

        Args:
            columns: of sources.
            beside: the sources whose rows they have met; None: all.
        """
        by_source: dict[int, list[str]] = {}
        for at, called in columns:
            by_source.setdefault(at, []).append(called)
        product = 1.0
        for at, names in by_source.items():
            product *= min(max(self._left(at, names), 1.0), self._of_equals(at, names, beside))
        return product

    def _left(self, at: int, names: Sequence[str]) -> float:
        """How many combinations conditions on a source leave.

        As large a share of those with the columns that are asked: of the days of a year few weeks stay, but of the
        sales of a year nearly all customers. Rows that meet no other are taken to have values of their own.
        """
        source, kept = self.sources[at], self.kept
        found = source.distinct(list(dict.fromkeys(names))) if source is not None else None
        if source is None or kept is None or found is None:
            return 1.0
        asked = {
            column.name.lower() for place, each in self.filters if place == at for column in each.find_all(exp.Column)
        }
        if asked:
            together = source.distinct(list(dict.fromkeys([*names, *sorted(asked)]))) or found
            found = min(found, together * kept[at] / max(source.rows, 1.0))
        return found * min(self._met(at) / kept[at], 1.0)

    def _of_equals(self, at: int, names: Sequence[str], beside: set[int] | None) -> float:
        """How many values columns that equal one have, in the rows that meet the conditions on their own source."""
        found = inf
        for own, other in (pair for each in self.equal for pair in (each, each[::-1])):
            source = self.sources[other[0]] if beside is None or other[0] in beside else None
            values = source.distinct([other[1]]) if own == (at, names[0]) and len(names) == 1 and source else None
            if values is not None and source is not None and self.kept is not None:
                found = min(found, max(values * min(self.kept[other[0]] / max(source.rows, 1.0), 1.0), 1.0))
        return found

    def _met(self, at: int) -> float:
        """How many rows of a source meet its conditions, and other rows: no more than the others have values."""
        kept, found = self.kept, inf
        assert kept is not None
        for left, right in self.equal:
            own, other = (left, right) if left[0] == at else (right, left)
            source = self.sources[other[0]]
            values = source.distinct([other[1]]) if own[0] == at and source is not None else None
            alone = self.sources[at]
            if values is not None and alone is not None and alone.distinct([own[1]]) == alone.rows:  # it is a key
                found = min(found, values)
        return min(kept[at], found)

    def _share(self, condition: exp.Expr) -> float:
        """Return the share of the rows of a source that satisfy a condition over it; 1 where that is not known."""
        bare = condition.unnest()
        if isinstance(bare, exp.And):
            return self._share(bare.this) * self._share(bare.expression)
        if isinstance(bare, exp.Or):
            return min(self._share(bare.this) + self._share(bare.expression), 1.0)
        facts = self._facts_of(bare.this) if isinstance(bare, exp.Predicate) else None
        if facts is not None and isinstance(bare, exp.EQ):
            return facts.most_frequent if _constant(bare.expression) else 1.0
        if facts is not None and isinstance(bare, exp.In) and all(map(_constant, bare.expressions or [exp.Null()])):
            return min(len(bare.expressions) * facts.most_frequent, 1.0)
        low, high = _bounds(bare)
        return facts.share_between(low, high) if facts is not None and (low or high) else 1.0

    def _facts_of(self, node: exp.Expr) -> ColumnFacts | None:
        column = self.find(node.unnest())
        return None if column is None else self.facts(column)


def _constant(node: exp.Expr) -> bool:
    return not node.find(exp.Column, exp.Query, exp.Null)


def _bounds(condition: exp.Expr) -> tuple[str | None, str | None]:
    """Return the literals between which a comparison wants a value."""
    if isinstance(condition, exp.Between):
        return _literal(condition.args["low"]), _literal(condition.args["high"])
    if isinstance(condition, exp.GT | exp.GTE):
        return _literal(condition.expression), None
    if isinstance(condition, exp.LT | exp.LTE):
        return None, _literal(condition.expression)
    return None, None


def _literal(node: exp.Expr) -> str | None:
    """Return the text of a literal, also of one that is cast, or a sum of numbers; days may be added to a date."""
    bare = node.unnest()
    if isinstance(bare, exp.Cast):
        bare = bare.this.unnest()
    if isinstance(bare, exp.Neg):
        number = _literal(bare.this)
        return None if number is None else f"-{number}"
    if isinstance(bare, exp.Add | exp.Sub):
        return _added(_literal(bare.this), bare.expression.unnest(), -1 if isinstance(bare, exp.Sub) else 1)
    if isinstance(bare, exp.Literal):
        return bare.name
    written = _DATE.fullmatch(_own_text(bare))
    return written[1] if written is not None else None


def _own_text(node: exp.Expr) -> str:
    """Return the text that the front end keeps of a literal with a type, such as ``DATE '2000-01-01'``."""
    return node.this if isinstance(node.this, str) else ""


def _added(first: str | None, second: exp.Expr, sign: int) -> str | None:
    days = _INTERVAL.fullmatch(_own_text(second))
    try:
        if first is not None and days is not None:
            return str(date.fromisoformat(first[:10]) + timedelta(sign * int(days[1])))
        other = _literal(second)
        return None if first is None or other is None else str(float(first) + sign * float(other))
    except (ValueError, OverflowError):
        return None


_DATE = re.compile(r"DATE\s*'([^']*)'", re.IGNORECASE)
_INTERVAL = re.compile(r"INTERVAL\s+'?(-?\d{1,5})'?\s+DAYS?", re.IGNORECASE)


def _unshifted(node: exp.Expr) -> exp.Expr:
    """Return the column of `d + 7`: as many values as `d` has."""
    bare: exp.Expr = node.unnest()
    if isinstance(bare, exp.Add | exp.Sub) and isinstance(bare.expression.unnest(), exp.Literal):
        bare = bare.this.unnest()
    return bare


@dataclass(frozen=True)
class BlockRows:
    """The result rows of a block.

    Attributes:
        joined: the rows of FROM … WHERE ….
        keys: what it groups by, as far as these are columns of its sources; None: it does not group.
        outputs: its columns by name in lower case, those that are columns of its sources.
        constants: the texts of its columns that are literals, by name.
        opened: whether its select list has a star, so that it has the columns of its sources.
        limit: how many rows there are at most.
        windows: by what each window whose sets travel by value parts the rows.
        copied: the place of the block, if sets that its windows see are copied.
        asks: whether rows have lineage that is not from FROM, of which nothing is known.
    """

    joined: Joined
    keys: tuple[OneOf, ...] | None
    outputs: Mapping[str, OneOf]
    constants: Mapping[str, str] = field(default_factory=dict)
    opened: bool = False
    limit: float | None = None
    windows: tuple[tuple[OneOf, ...], ...] = ()
    copied: frozenset[Position] = frozenset()
    asks: bool = False

    def estimate(self) -> RowEstimate | None:
        """Return what is expected of its rows; None: nothing is known."""
        return None if self.asks else self._estimate

    @cached_property
    def _estimate(self) -> RowEstimate | None:
        joined, rows = self.joined, self.joined.rows
        if rows is None:
            return RowEstimate(1.0, inf) if self.keys == () else None
        groups = rows if self.keys is None else min(joined.values(self.keys), rows)
        carried = sum(self._of_source(at, rows / groups) for at in range(len(joined.sources)))
        if self.windows:  # a row has all that any of them sees
            carried *= max(max(groups / joined.values(partition), 1.0) for partition in self.windows)
        found = groups if self.limit is None else min(groups, self.limit)
        inside = [each.copied for each in joined.sources if each is not None and self.keys is None]
        places = frozenset[Position]().union(*inside, self.copied)
        return RowEstimate(found, carried, lambda called: self._column(called, found), self._distinct, places)

    def _of_source(self, at: int, rows_of_group: float) -> float:
        """How many ids a source brings to the sets of a result row."""
        source, kept = self.joined.sources[at], self.joined.kept
        assert source is not None
        one_by_one = self.joined.carries[at] if self.keys is not None or self.windows else 0
        return rows_of_group * source.ids + one_by_one * min(rows_of_group, kept[at] if kept else inf)

    def _origin(self, called: str) -> OneOf | None:
        found = self.outputs.get(called)
        return self.joined.find(exp.column(called)) if found is None and self.opened else found

    def _column(self, called: str, rows: float) -> ColumnFacts | None:
        if called in self.constants:
            return Derived(1.0, frozenset([self.constants[called]]))
        distinct = self._distinct([called])
        return None if distinct is None else Derived(min(distinct, rows))

    @cached_property
    def _known(self) -> dict[tuple[str, ...], float | None]:
        return {}

    def _distinct(self, names: Sequence[str]) -> float | None:
        """Asked once, for blocks in blocks ask several times each."""
        key = tuple(names)
        if key not in self._known:
            self._known[key] = self._counted(names)
        return self._known[key]

    def _counted(self, names: Sequence[str]) -> float | None:
        found = [origin for called in names if (origin := self._origin(called)) is not None]
        known = [each for each in found if self.joined.facts(each) is not None]
        if not known and any(called in self.constants for called in names):
            return 1.0
        return min(self.joined.values(known), self.joined.rows or inf) if known else None


def _constant_in(facts: ColumnFacts) -> bool:
    return isinstance(facts, Derived) and bool(facts.constants)


def united(left: Estimator, right: Estimator, columns: Mapping[str, str], carries: int) -> Estimator:
    """Return what gives what is expected of the rows of a set operation.

    Args:
        left: of its left side.
        right: of its right side.
        columns: name of a column on the left → on the right, lower case.
        carries: how many ids of a row become sets.
    """

    def both() -> RowEstimate | None:
        one, other = left(), right()
        if one is None or other is None:
            return None
        rows = max(one.rows + other.rows, 1.0)

        def column(called: str) -> ColumnFacts | None:
            sides = (one.column(called), other.column(columns.get(called, called)))
            constants = [each.constants if isinstance(each, Derived) else frozenset() for each in sides]
            if all(constants):
                return Derived(len(constants[0] | constants[1]), constants[0] | constants[1])
            known = [each.distinct for each in sides if each is not None]
            return Derived(max(known)) if known else None

        def distinct(names: Sequence[str]) -> float | None:
            sides = one.distinct(names), other.distinct([columns.get(each, each) for each in names])
            known = [each for each in sides if each is not None]
            apart = any(
                (facts := column(each)) is not None and facts.distinct > 1 and _constant_in(facts) for each in names
            )
            return sum(known) if known and apart else max(known, default=None)

        ids = (one.rows * one.ids + other.rows * other.ids) / rows + carries
        return RowEstimate(rows, ids, column, distinct, frozenset() if carries else one.copied | other.copied)

    return cache(both)
