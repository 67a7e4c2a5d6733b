"""Answers to brushes, each in the cheapest way.   [Smoke, §6.5.1: BT, BT+FT, data cube; and past them]

Counts can be taken apart. A brush leaves the rows that another brush left, with later additions and without later
removals. So an answer starts from a *base*. This is nothing, an answer from before, or that to the same brush with one
view less, from which the complement is taken away. Additions and removals are found in a *cube*, or counted from *rows*
(`brushes.Selection`). Sums of floats start from nothing: a removal would leave its rounding behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from forward_lineage.relations.groups import BATCH
from forward_lineage.views.brushes import CELL, Brush, BrushedRows, Selection, between
from forward_lineage.views.cubes import Cube
from forward_lineage.views.measures import ROWS, Counted, Measure, MeasurePart, Tally, combined, nothing
from forward_lineage.views.membership import Chosen, Membership

Choice = Mapping[int, Chosen]
"""The bars that are chosen in each view that has a brush, by the view's number."""

By = Literal["cheapest", "cube", "rows"]
_STEP = 20_000.0  # nanoseconds that any step takes, however little it finds


@dataclass(frozen=True, eq=False)
class Known:
    """An answer from before.

    Attributes:
        choice: the brushes that it is about.
        counted: what they leave of some views, by number.

    """

    choice: Choice
    counted: Mapping[int, Counted]


@dataclass(frozen=True, eq=False)
class Base:
    """The start of an answer.

    Attributes:
        name: ``""`` for nothing, ``change`` for an answer from before, ``complement`` for one with a view less.
        choice: the brushes that it is about.
        known: that answer, if there is one already; else it is asked for first.
        cost: nanoseconds that asking for it takes.

    """

    name: str
    choice: Choice
    known: Known | None = None
    cost: float = 0.0


class Term:
    """Rows that are to be added or taken away.

    Args:
        sign: 1 or -1.
        brush: which rows.
        memberships: of all views.

    """

    def __init__(self, sign: int, brush: Brush, memberships: Sequence[Membership]) -> None:
        self.sign, self.brush, self._memberships = sign, brush, memberships

    @cached_property
    def selection(self) -> Selection:
        """How its rows are found one by one."""
        return Selection(self._memberships, self.brush)

    @property
    def chosen(self) -> dict[int, Chosen]:
        """The bars, for a cube."""
        return {view: wanted.chosen for view, wanted in self.brush.items()}

    def part_of(self, view: int, bars: Chosen) -> Term:
        """Return the term of some of the chosen bars of its only view."""
        return Term(self.sign, {view: BrushedRows(self.brush[view].chosen & bars)}, self._memberships)


@dataclass(frozen=True, eq=False)
class Step:
    """One term's share in the answer for one view: from a cube, or counted from rows."""

    term: Term
    target: int
    cube: Cube | None
    cost: float


@dataclass(frozen=True, eq=False)
class AnswerPlan:
    """A way to answer, and about how many nanoseconds it takes."""

    base: Base
    steps: tuple[Step, ...]
    cost: float

    @property
    def way(self) -> str:
        """Its name, e.g. ``cube``, ``rows``, ``complement by rows``, ``change by cube and rows``."""
        finds = " and ".join(sorted({"rows" if step.cube is None else "cube" for step in self.steps}))
        return " by ".join(filter(None, (self.base.name, finds))) or "nothing"


@dataclass(frozen=True, eq=False)
class Engine:
    """Views over the same base rows. Nothing in it changes, so any number of threads may ask.

    Attributes:
        memberships: for each view, which rows are in which bar.
        parts: for each view, what is added up.
        measures: the columns of values.
        cubes: what was made beforehand.
        totals: every view without a brush.

    """

    memberships: tuple[Membership, ...]
    parts: tuple[tuple[MeasurePart, ...], ...]
    measures: tuple[Measure, ...]
    cubes: tuple[Cube, ...]
    totals: Known
    _answering: dict[tuple[frozenset[int], int], list[Cube]] = field(default_factory=dict, init=False, repr=False)

    # ------------------------------------------------------------ plans

    def plan(self, choice: Choice, targets: Sequence[int], known: Iterable[Known] = ()) -> AnswerPlan:
        """Return the cheapest way to answer."""
        plans = (self._plan(base, choice, targets, "cheapest") for base in self.bases(choice, targets, known))
        return min((plan for plan in plans if plan), key=lambda plan: plan.cost)

    def plans(self, choice: Choice, targets: Sequence[int], known: Iterable[Known] = ()) -> list[AnswerPlan]:
        """Return every way to answer."""
        ways: tuple[By, ...] = ("cheapest", "cube", "rows")
        found = (self._plan(base, choice, targets, by) for base in self.bases(choice, targets, known) for by in ways)
        return [plan for plan in found if plan]

    def bases(self, choice: Choice, targets: Sequence[int], known: Iterable[Known] = ()) -> Iterator[Base]:
        """Yield what an answer may start from."""
        if not choice:
            yield Base("complement", {}, self.totals)
            return
        yield Base("", {})
        if not all(self.can_be_taken_apart(target) for target in targets):
            return
        for each in known:
            if len(self._differs(each.choice, choice)) <= 1 and each.counted.keys() >= {*targets}:
                yield Base("change", each.choice, each)
        for view in choice:
            less = {other: bars for other, bars in choice.items() if other != view}
            if not less:
                yield Base("complement", {}, self.totals)
            elif plan := self._plan(Base("", {}), less, targets, "cube"):
                yield Base("complement", less, None, plan.cost)

    def _plan(self, base: Base, choice: Choice, targets: Sequence[int], by: By) -> AnswerPlan | None:
        steps: list[Step] = []
        for term in self._terms(base, choice):
            for target in targets:
                found = self._cheapest(term, target, by)
                if found is None:
                    return None
                steps += found
        return AnswerPlan(base, tuple(steps), base.cost + sum(step.cost for step in steps))

    def _terms(self, base: Base, choice: Choice) -> list[Term]:
        """The terms to be added to a base, and those to be taken away; terms without rows are left out."""
        if not base.name:
            return self._with_rows([(1, {view: BrushedRows(bars) for view, bars in choice.items()})])
        differs = self._differs(base.choice, choice)
        if not differs:
            return []
        (view,) = differs
        now, then = (self._bars(each, view) for each in (choice, base.choice))
        others = {other: BrushedRows(bars) for other, bars in choice.items() if other != view}
        mine = self.memberships[view]
        return self._with_rows(
            [(1, {**others, view: between(mine, now, then)}), (-1, {**others, view: between(mine, then, now)})]
        )

    def _with_rows(self, terms: Iterable[tuple[int, Brush]]) -> list[Term]:
        return [
            Term(sign, brush, self.memberships)
            for sign, brush in terms
            if all(wanted.chosen.any() for wanted in brush.values())
        ]

    def _bars(self, choice: Choice, view: int) -> Chosen:
        return choice[view] if view in choice else np.ones(self.memberships[view].bars + 1, np.bool_)

    def _differs(self, one: Choice, other: Choice) -> set[int]:
        """Return the views in which two brushes differ."""
        return {
            view
            for view in one.keys() | other.keys()
            if not np.array_equal(self._bars(one, view), self._bars(other, view))
        }

    def can_be_taken_apart(self, target: int) -> bool:
        """Tell whether what is added up for a view is exact, so that it can be taken away again."""
        return all(part.kind != "sum" or self.measures[part.measure].exact for part in self.parts[target])

    def _cheapest(self, term: Term, target: int, by: By) -> list[Step] | None:
        found: list[list[Step]] = []
        if by != "rows":
            found += self._by_cubes(term, target)
        if by != "cube":
            found.append([self._by_rows(term, target)])
        return min(found, key=lambda steps: sum(step.cost for step in steps), default=None)

    def _by_rows(self, term: Term, target: int) -> Step:
        return Step(term, target, None, _STEP + term.selection.cost(1))

    def _by_cubes(self, term: Term, target: int) -> Iterator[list[Step]]:
        if any(wanted.without is not None for wanted in term.brush.values()):
            return
        for cube in self._that_answer(term.brush.keys(), target):
            if not cube.bars_of:
                yield [Step(term, target, cube, _STEP + CELL * cube.cost(term.chosen, target))]
            elif len(term.brush) == 1 and term.brush.keys() == cube.bars_of.keys():
                yield self._in_part(term, target, cube)

    def _that_answer(self, brushed: Iterable[int], target: int) -> list[Cube]:
        """The cubes that have what is asked for; looked up, because every brush asks for the same ones many times."""
        asked = frozenset(brushed), target
        if asked not in self._answering:
            parts = self.parts[target]
            self._answering[asked] = [cube for cube in self.cubes if cube.answers(asked[0], target, parts)]
        return self._answering[asked]

    def _in_part(self, term: Term, target: int, cube: Cube) -> list[Step]:
        """From a cube of some of the bars, and the rows of the others."""
        ((view, places),) = cube.bars_of.items()
        kept = places < cube.shape[cube.views.index(view)] - 1
        inside, outside = term.part_of(view, kept), term.part_of(view, ~kept)
        steps = []
        if inside.brush[view].chosen.any():
            steps.append(Step(inside, target, cube, _STEP + CELL * cube.cost(inside.chosen, target)))
        if outside.brush[view].chosen.any():
            steps.append(self._by_rows(outside, target))
        return steps

    # ------------------------------------------------------------ answers

    def run(self, plan: AnswerPlan, targets: Sequence[int]) -> dict[int, Counted]:
        """Return what a plan finds: for each target its parts."""
        terms: dict[int, list[tuple[int, Counted]]] = {target: [] for target in targets}
        tallied: dict[int, list[Step]] = defaultdict(list)
        for step in plan.steps:
            if step.cube is not None:
                parts = self.parts[step.target]
                found = step.cube.sums(step.term.chosen, step.target, parts)
                terms[step.target].append((step.term.sign, found))
            else:
                tallied[id(step.term)].append(step)
        for steps in tallied.values():
            term = steps[0].term
            for step, found in zip(steps, self._tally(term, [step.target for step in steps]), strict=True):
                terms[step.target].append((term.sign, found))
        for target, start in self._start(plan.base, targets).items():
            terms[target].append((1, start))
        return {target: combined(each) for target, each in terms.items()}

    def _start(self, base: Base, targets: Sequence[int]) -> dict[int, Counted]:
        if base.known is not None:
            return {target: base.known.counted[target] for target in targets}
        if base.name:
            plan = self._plan(Base("", {}), base.choice, targets, "cube")
            assert plan is not None, "a base that is asked for first is found in cubes"
            return self.run(plan, targets)
        return {
            target: {
                part: nothing(part, self.measures, self.memberships[target].bars + 1) for part in self.parts[target]
            }
            for target in targets
        }

    def _tally(self, term: Term, targets: Sequence[int]) -> list[Counted]:
        tallies = [Tally(self.memberships[target], self.parts[target], self.measures) for target in targets]
        for rows in term.selection.batches():
            for tally in tallies:
                tally.add(rows)
        return [tally.counted for tally in tallies]


def engine_of(
    memberships: Sequence[Membership],
    parts: Sequence[tuple[MeasurePart, ...]],
    measures: Sequence[Measure] = (),
    cubes: Sequence[Cube] = (),
) -> Engine:
    """Put an engine together, and count every view without a brush."""
    counted = {}
    for number, (membership, mine) in enumerate(zip(memberships, parts, strict=True)):
        counted[number] = _whole(number, membership, mine, tuple(measures), cubes)
    return Engine(tuple(memberships), tuple(parts), tuple(measures), tuple(cubes), Known({}, counted))


def _whole(
    number: int,
    membership: Membership,
    parts: tuple[MeasurePart, ...],
    measures: tuple[Measure, ...],
    cubes: Sequence[Cube],
) -> Counted:
    if parts == (ROWS,):
        return {ROWS: membership.sizes.astype(np.int64)}
    for cube in cubes:
        if cube.answers((), number, parts) and not cube.bars_of:
            return cube.sums({}, number, parts)
    tally = Tally(membership, parts, measures)
    for first in range(0, membership.rows, BATCH):
        tally.add(np.arange(first, min(first + BATCH, membership.rows)))
    return tally.counted
