"""The facts about an operator's rows over a sketch (R′), beside its rows over all rows (R).

For each operator two things are proven, together by induction:

containment   there is an injective map M from R′ into R (a bag: rows, not values), and each pair (r′, M(r′)) is linked
              column by column as `links` say.                                            [Niu 2021, def. 6]
reproduction  a row r of R whose lineage lies in the sketches is M(r′) of some r′ that equals it in every column.

At the outermost operator all lineage lies in the sketches, by the definition of a sketch. So every row of R is
reproduced, |R′| ≥ |R|; as M is injective |R′| ≤ |R|: both are the same bag, which is safety.   [Niu 2021, thm. 2]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from forward_lineage.sketches.safety.algebra import Column, Const, Param, Scalar

Interval = tuple[Fraction | None, Fraction | None]
UNBOUNDED: Interval = (None, None)


@dataclass(frozen=True)
class Link:
    """How a value v′ of a row over the sketch and v of its counterpart are related.

    Attributes:
        sense: ``=``; ``<``: v′ ≤ v; ``>``: v′ ≥ v; ``0``: v′ is v or 0; ``truth``: v′ is no truer than v (false,
            unknown, true); ``?``: nothing is known, not even of NULL.
        vanish: v′ may also be NULL where v is not. (Else v′ is NULL just where v is.)
    """

    sense: str
    vanish: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether both are the same."""
        return self.sense == "=" and not self.vanish


EQUAL, UNKNOWN = Link("="), Link("?", True)


def either(a: Link, b: Link) -> Link:
    """The facts about a value that is linked in one way or in the other."""
    vanish = a.vanish or b.vanish
    if a.sense == b.sense:
        return Link(a.sense, vanish)
    others = {a.sense, b.sense} - {"="}
    return Link(others.pop(), vanish) if len(others) == 1 else UNKNOWN


class Equalities:
    """The columns that have equal values in each row (NULL with NULL), or that of a literal or parameter."""

    def __init__(self, pairs: Iterable[tuple[Hashable, Hashable]] = ()) -> None:
        self.pairs = frozenset(pairs)
        self._near: dict[Hashable, list[Hashable]] = {}
        for a, b in self.pairs:
            self._near.setdefault(a, []).append(b)
            self._near.setdefault(b, []).append(a)

    def with_pairs(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> Equalities:
        """These and more."""
        more = frozenset(pairs) - self.pairs
        return Equalities(self.pairs | more) if more else self

    def same(self, start: Hashable) -> set[Hashable]:
        """All that equals it, itself included."""
        found, waiting = {start}, [start]
        while waiting:
            for near in self._near.get(waiting.pop(), ()):
                if near not in found:
                    found.add(near)
                    waiting.append(near)
        return found


Guard = frozenset[tuple[str, Column]]


@dataclass(frozen=True)
class State:
    """The facts about an operator.

    p_T is the sketch of table T, a predicate on the values of its column. All columns that the rows were made of
    count, not only the output (`algebra`).

    Attributes:
        links: column → how it is linked.
        guard: if p_T(r.c) holds for each (T, c) in it, r is reproduced. Empty: R′ = R. None: nothing is known.
        inside: p_T(r′.c) holds for each (T, c) in it and each r′ of R′.
        equal: which columns are equal, in the rows of R and of R′.
        bounds: column → between what it is where it is not NULL.
        present: columns that are never NULL.
        conditions: what is true of each row, of R and of R′.
        defined: column → the expression that it was made by.
        unique: sets of columns in which no two rows of R have the same values.
        accesses: the tables that were read, each with its columns: which of them are unique, decide the others.
        outer: for a subquery the row of the block around it, which is the same for R and R′.
    """

    links: Mapping[Column, Link] = field(default_factory=dict)
    guard: Guard | None = frozenset()
    inside: Guard = frozenset()
    equal: Equalities = field(default_factory=Equalities)
    bounds: Mapping[Column, Interval] = field(default_factory=dict)
    present: frozenset[Column] = frozenset()
    conditions: tuple[Scalar, ...] = ()
    defined: Mapping[Column, Scalar] = field(default_factory=dict)
    unique: tuple[frozenset[Column], ...] = ()
    accesses: tuple[tuple[str, tuple[Column, ...]], ...] = ()
    outer: State | None = None

    def link(self, column: Column) -> Link | None:
        """How a column of this block, or of one around it, is linked; None: it is no column of these rows."""
        found = self.links.get(column)
        return found if found is not None or self.outer is None else self.outer.link(column)

    def interval(self, column: Column) -> Interval:
        """Between what a column is where it is not NULL."""
        found = self.bounds.get(column)
        return UNBOUNDED if found is None and self.outer is None else found or self.outer.interval(column)  # type: ignore[union-attr]

    def is_present(self, column: Column) -> bool:
        """Whether a column is never NULL."""
        return column in self.present or (self.outer is not None and self.outer.is_present(column))

    def definition(self, column: Column) -> Scalar | None:
        """The expression that a column was made by."""
        found = self.defined.get(column)
        return found if found is not None or self.outer is None else self.outer.definition(column)

    def is_outer(self, column: Hashable) -> bool:
        """Whether it is a column of a block around this one."""
        return self.outer is not None and isinstance(column, Column) and self.outer.link(column) is not None

    def all_inside(self) -> Iterator[tuple[str, Column]]:
        """The sketched columns, of the blocks around this one too."""
        yield from self.inside
        if self.outer is not None:
            yield from self.outer.all_inside()

    def is_fixed(self, column: Column) -> bool:
        """Whether a column has one value in all rows: that of a literal, or of the row around a subquery."""
        if self._has_fixed_value(column):
            return True
        mine = [columns for _, columns in self.accesses if column in columns]
        return any(is_key(each) and self._has_fixed_value(each) for columns in mine for each in columns)

    def _has_fixed_value(self, column: Column) -> bool:
        return any(isinstance(each, Const | Param) or self.is_outer(each) for each in self.equal.same(column))

    def decided(self, keys: Iterable[Column]) -> frozenset[Column]:
        """The columns that have one value wherever those of `keys` have: equal ones, all of a row known by its key."""
        found = {each for key in keys for each in self.equal.same(key) if isinstance(each, Column)}
        grown = True
        while grown:
            grown = False
            for _, columns in self.accesses:
                if not found.issuperset(columns) and any(is_key(each) and each in found for each in columns):
                    found |= {each for c in columns for each in self.equal.same(c) if isinstance(each, Column)}
                    grown = True
        return frozenset(found)

    def all_accesses(self) -> Iterator[tuple[str, tuple[Column, ...]]]:
        """The columns that were read, by the blocks around this one too."""
        yield from self.accesses
        if self.outer is not None:
            yield from self.outer.all_accesses()

    def with_pairs(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> Equalities:
        """The further equalities: two rows of one table with equal keys are one row."""
        equal = self.equal.with_pairs(pairs)
        read = list(self.all_accesses())
        for place, (table, columns) in enumerate(read):
            for other, others in read[place + 1 :]:
                if other == table and any(
                    is_key(a) and b in equal.same(a) for a, b in zip(columns, others, strict=True)
                ):
                    equal = equal.with_pairs(zip(columns, others, strict=True))
        return equal

    def in_sketch(self, table: str, column: Column, *, of: State | None = None) -> bool:
        """Whether p_T holds of the column in each row of R′, or in each row around it (`of` the outer state)."""
        same = self.equal.same(column)
        facts = self.inside if of is None else of.all_inside()
        return any(name == table and other in same for name, other in facts)

    def discharged(self) -> State:
        """Leave out of the guard what the row around the subquery takes care of: p_T holds of its column."""
        if self.guard is None or self.outer is None or not self.guard:
            return self
        rest = frozenset(each for each in self.guard if not self.in_sketch(*each, of=self.outer))
        return replace(self, guard=rest)

    def as_reproduced(self) -> State:
        """Return the state where every row of R is reproduced: then R′ = R."""
        return replace(self, links=dict.fromkeys(self.links, EQUAL), guard=frozenset())

    def exact(self) -> bool:
        """Whether R′ = R."""
        return self.guard is not None and not self.guard


def is_key(column: Column) -> bool:
    """Whether a table's column is never NULL and tells its rows apart."""
    return column.facts.unique and not column.facts.nulls


def union(*guards: Guard | None) -> Guard | None:
    """The object that takes care of all of them."""
    if any(each is None for each in guards):
        return None
    return frozenset().union(*(each for each in guards if each is not None))
