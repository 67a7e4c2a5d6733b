"""Sequences of edits of a pipeline, what a way of keeping costs on them, and what the best one would."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from forward_lineage.steps.execution_plan import Action, plan_execution
from forward_lineage.steps.keeping import Keeping, cost_without
from forward_lineage.steps.step_graph import PlannedStep, StepGraph


@dataclass(frozen=True)
class Version:
    """A step in one iteration: what it is, and what it costs. Writing costs what loading costs, as in the thesis."""

    name: str
    identity: str
    parents: tuple[str, ...]
    compute: int
    load: int
    size: int


@dataclass(frozen=True)
class Sequence:
    """Iterations of a pipeline, and the step that is asked for in each."""

    iterations: tuple[tuple[Version, ...], ...]
    outputs: tuple[str, ...]
    budget: int


Policy = Callable[[Keeping, StepGraph, Version, int], bool]


def random_sequence(random_: random.Random) -> Sequence:
    """Return a sequence: one step is edited an iteration, later steps more often; some edits are undone."""
    count = random_.randint(3, 8)
    names = [f"s{number}" for number in range(count)]
    parents = {name: _parents(random_, names[:number]) for number, name in enumerate(names)}
    shape = {name: _costs(random_) for name in names}
    edits = dict.fromkeys(names, 0)
    history = [dict(edits)]
    for _ in range(random_.randint(4, 9)):
        chance = random_.random()
        if chance < 0.15 and len(history) > 1:
            edits = dict(random_.choice(history[:-1]))  # undone
        elif chance > 0.05:
            edited = random_.choices(names, weights=range(1, count + 1))[0]
            edits = {**edits, edited: 1 + max(past[edited] for past in history)}
        history.append(dict(edits))
    iterations = tuple(_iteration(names, parents, shape, each) for each in history)
    whole = sum(size for _, _, size in shape.values())
    return Sequence(iterations, (names[-1],), int(whole * random_.choice((0.3, 0.6, 1.0, 2.0, 10.0))))


def _parents(random_: random.Random, before: list[str]) -> tuple[str, ...]:
    if not before:
        return ()
    others = [name for name in before[:-1] if random_.random() < 0.25]
    return (*others, before[-1]) if random_.random() < 0.8 else (random_.choice(before),)


def _costs(random_: random.Random) -> tuple[int, int, int]:
    compute = int(10 ** random_.uniform(3, 6))
    load = max(1, int(compute * 10 ** random_.uniform(-2.5, 0.3)))
    return compute, load, load * 100


def _iteration(
    names: list[str],
    parents: dict[str, tuple[str, ...]],
    shape: dict[str, tuple[int, int, int]],
    edits: dict[str, int],
) -> tuple[Version, ...]:
    identity: dict[str, str] = {}
    for name in names:
        identity[name] = f"{name}.{edits[name]}({','.join(identity[each] for each in parents[name])})"
    return tuple(Version(name, identity[name], parents[name], *shape[name]) for name in names)


# ------------------------------------------------------------ what a policy costs


def marginal(keeping: Keeping, graph: StepGraph, version: Version, spent: int) -> bool:
    """Ours."""
    return keeping.decide(
        version.identity,
        size=version.size,
        write=version.load,
        load=version.load,
        without=cost_without(graph, version.name),
    ).keep


def thesis(keeping: Keeping, graph: StepGraph, version: Version, spent: int) -> bool:
    """Algorithm 3.2 as printed: cumulative run time, a budget that is used up."""
    fits = keeping.budget is None or keeping.size + version.size <= keeping.budget
    return (
        fits
        and keeping.decide(
            version.identity, size=version.size, write=version.load, load=version.load, without=spent
        ).keep
    )


def keep_all(keeping: Keeping, graph: StepGraph, version: Version, spent: int) -> bool:
    """Keep whatever fits."""
    fits = keeping.budget is None or keeping.size + version.size <= keeping.budget
    return fits and keeping.decide(version.identity, size=version.size, write=0, load=0, without=10**12).keep


def keep_nothing(keeping: Keeping, graph: StepGraph, version: Version, spent: int) -> bool:
    """Keep nothing."""
    return False


def cost_of(sequence: Sequence, policy: Policy) -> int:
    """Return what all iterations cost: computing, loading and writing."""
    return cost_and_size(sequence, policy)[0]


def cost_and_size(sequence: Sequence, policy: Policy, *, limited: bool = False) -> tuple[int, int]:
    """Return the same, and how many bytes were kept at the end; `limited` in place of the sequence's budget."""
    keeping = Keeping(None if limited else sequence.budget)
    total, made = 0, dict[str, int]()
    for iteration in sequence.iterations:
        graph = StepGraph(_planned(version, keeping) for version in iteration)
        plan = plan_execution(graph, sequence.outputs)
        total += plan.cost
        for version in iteration:
            if plan.actions[version.name] is Action.LOAD:
                keeping.used(version.identity)
        for version in iteration:
            if plan.actions[version.name] is not Action.COMPUTE or version.identity in keeping.kept:
                continue
            now = StepGraph(_planned(each, keeping) for each in iteration)
            spent = _spent(iteration, plan.actions, version.name)
            total += version.load * policy(keeping, now, version, spent)
            made[version.identity] = version.size
            assert limited or keeping.size <= sequence.budget
        asked = [version.identity for version in iteration if version.name in sequence.outputs]
        keeping.limit(sum(made.values()), {version.identity: version.load for version in iteration}, asked)
    return total, keeping.size


def _planned(version: Version, keeping: Keeping) -> PlannedStep:
    load = version.load if version.identity in keeping.kept else None
    return PlannedStep(version.name, version.parents, version.compute, load)


def _spent(iteration: tuple[Version, ...], actions: dict[str, Action], name: str) -> int:
    """Return the cumulative run time of a step. [Macke 2021, definition 3.6]"""
    by_name = {version.name: version for version in iteration}
    above, waiting = {name}, [name]
    while waiting:
        new = set(by_name[waiting.pop()].parents) - above
        above |= new
        waiting.extend(new)
    times = {Action.PRUNE: lambda _: 0, Action.LOAD: lambda each: each.load, Action.COMPUTE: lambda each: each.compute}
    return sum(times[actions[each]](by_name[each]) for each in above)


# ------------------------------------------------------------ what the best one costs


def best_cost(sequence: Sequence) -> float:
    """Return the least cost by someone who knows all iterations beforehand, from a mixed-integer program."""
    return _Program(sequence).solve()


class _Program:
    """Variables: a step is there, is computed, is written, an identity is kept, each for each iteration."""

    def __init__(self, sequence: Sequence) -> None:
        self.sequence = sequence
        self.costs: list[float] = []
        self.numbers: dict[tuple[str, int, str], int] = {}
        self.rows: list[dict[int, float]] = []
        self.most: list[float] = []
        self.sizes = {version.identity: version.size for iteration in sequence.iterations for version in iteration}
        for time, iteration in enumerate(sequence.iterations):
            self._iteration(time, iteration)

    def solve(self) -> float:
        matrix = lil_matrix((len(self.rows), len(self.costs)))
        for number, row in enumerate(self.rows):
            for variable, factor in row.items():
                matrix[number, variable] = factor
        answer = milp(
            np.array(self.costs),
            integrality=np.ones(len(self.costs)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix.tocsr(), -np.inf, np.array(self.most)),
        )
        assert answer.status == 0, answer.message
        return float(answer.fun)

    def _variable(self, kind: str, time: int, name: str, cost: float = 0.0) -> int:
        self.numbers[kind, time, name] = len(self.costs)
        self.costs.append(cost)
        return len(self.costs) - 1

    def _say(self, row: dict[int, float], most: float) -> None:
        self.rows.append(row)
        self.most.append(most)

    def _iteration(self, time: int, iteration: tuple[Version, ...]) -> None:
        kept = {each: self._variable("kept", time, each) for each in self.sizes}
        self._say({kept[each]: size for each, size in self.sizes.items()}, self.sequence.budget)
        written = {}
        there = {version.name: self._variable("there", time, version.name, version.load) for version in iteration}
        for version in iteration:
            computed = self._variable("computed", time, version.name, version.compute - version.load)
            written[version.identity] = self._variable("written", time, version.identity, version.load)
            self._say({computed: 1, there[version.name]: -1}, 0)
            for parent in version.parents:
                self._say({computed: 1, there[parent]: -1}, 0)
            self._say({written[version.identity]: 1, computed: -1}, 0)
            before = self.numbers.get(("kept", time - 1, version.identity))
            self._say({there[version.name]: 1, computed: -1, **({} if before is None else {before: -1})}, 0)
        for name in self.sequence.outputs:
            self._say({there[name]: -1}, -1)
        for each, variable in kept.items():
            row: dict[int, float] = {variable: 1}
            if time:
                row[self.numbers["kept", time - 1, each]] = -1
            if each in written:
                row[written[each]] = -1
            self._say(row, 0)


def ratios(count: int, seed: int, policy: Policy) -> list[float]:
    """Return, for random sequences, the cost of a policy over the least cost."""
    found = []
    for number in range(count):
        sequence = random_sequence(random.Random(f"{seed} {number}"))
        found.append(cost_of(sequence, policy) / best_cost(sequence))
    return found


def unlimited(sequence: Sequence) -> Sequence:
    """Return a sequence with room for everything."""
    return replace(sequence, budget=sum(version.size for each in sequence.iterations for version in each))
