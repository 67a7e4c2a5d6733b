"""Plans of random graphs of steps, against every plan that there is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from forward_lineage.steps.execution_plan import Action, ExecutionPlan, plan_execution
from forward_lineage.steps.step_graph import PlannedStep

PRUNE, LOAD, COMPUTE = 0, 1, 2
MOST_STEPS = 12


@cache
def assignments(count: int) -> np.ndarray[Any, Any]:
    """Return all 3^count ways to prune, load or compute steps: a row a step, a column a way."""
    ways = np.arange(3**count)
    return np.array([(ways // 3**step % 3).astype(np.int8) for step in range(count)])


def least_cost(steps: Sequence[PlannedStep], outputs: Sequence[str]) -> int:
    """Return the least cost over all ways to prune, load or compute, read off constraints 3.1 and 3.2."""
    needed = set(outputs)
    while True:
        more = needed | {parent for step in steps if step.name in needed for parent in step.parents}
        if more == needed:
            break
        needed = more
    kept = [step for step in steps if step.name in needed]
    place = {step.name: number for number, step in enumerate(kept)}
    ways = assignments(len(kept))
    allowed = np.ones(ways.shape[1], dtype=bool)
    cost = np.zeros(ways.shape[1], dtype=np.int64)
    for step, states in zip(kept, ways, strict=True):
        if step.name in outputs:
            allowed &= states != PRUNE
        if step.must_run:
            allowed &= states == COMPUTE
        if step.load is None:
            allowed &= states != LOAD
        for parent in step.parents:
            allowed &= (states != COMPUTE) | (ways[place[parent]] != PRUNE)
        cost += np.array([0, step.load or 0, step.compute])[states]
    return int(cost[allowed].min())


def random_steps(random_: random.Random, most: int = MOST_STEPS) -> tuple[list[PlannedStep], list[str]]:
    """Return a random graph and its outputs; saved, changed and free steps mixed, names in a random order."""
    count = random_.randint(1, most)
    names = [f"s{number}" for number in random_.sample(range(100), count)]
    density, saved, changed = random_.random(), random_.random(), random_.random() * 0.5
    highest = random_.choice((1, 3, 20, 10**6, 10**15))  # ties, and numbers that floats would round
    steps = []
    for number, name in enumerate(names):
        parents = tuple(each for each in names[:number] if random_.random() < density)
        load = random_.randint(0, highest) if random_.random() < saved else None
        steps.append(PlannedStep(name, parents, random_.randint(0, highest), load, random_.random() < changed))
    outputs = random_.sample(names, random_.randint(1, min(3, count)))
    random_.shuffle(steps)
    return steps, outputs


def wrong_plan(steps: Sequence[PlannedStep], outputs: Sequence[str]) -> str | None:
    """Return what is wrong with the plan of a graph, if anything is."""
    plan = plan_execution(steps, outputs)
    if broken := _broken_rule(plan, steps, outputs):
        return broken
    best = least_cost(steps, outputs)
    return None if plan.cost == best else f"cost {plan.cost} instead of {best}"


def _broken_rule(plan: ExecutionPlan, steps: Sequence[PlannedStep], outputs: Sequence[str]) -> str | None:
    cost = 0
    for step in steps:
        action = plan.actions[step.name]
        if action is Action.COMPUTE:
            cost += step.compute
            if any(plan.actions[parent] is Action.PRUNE for parent in step.parents):
                return f"{step.name} is computed without a parent"
        if action is Action.LOAD:
            if step.load is None or step.must_run:
                return f"{step.name} is loaded"
            cost += step.load
        if action is Action.PRUNE and step.name in outputs:
            return f"output {step.name} is pruned"
    return None if cost == plan.cost else f"the plan says {plan.cost} and costs {cost}"


def trials(count: int, seed: int) -> list[str]:
    """Return what is wrong with the plans of some random graphs."""
    wrong = []
    for number in range(count):
        steps, outputs = random_steps(random.Random(f"{seed} {number}"))
        if said := wrong_plan(steps, outputs):
            wrong.append(f"seed {seed} {number}: {said}")
    return wrong
