"""Random pipelines that are edited, whose data change, run with what is kept and without: no answer may be stale."""

from __future__ import annotations

import logging
import os
import random
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from forward_lineage.steps.pipeline import Pipeline
from forward_lineage.steps.shelf import Shelf
from forward_lineage.steps.step import Step
from forward_lineage.storage.local_folder import LocalFolder
from tests.forward_lineage.steps.little_store import LittleStore
from udafs.errors import BadArgumentError

TABLES = ("t0", "t1")
OUTSIDE = "STEPS_TEST_OUTSIDE"

# How a step is written: its inputs, numbers, helper and global come in. Each computes small numbers from small numbers.
VALUES = (
    "return ({inputs} + {a}) % 9973",
    "return helper{h}({inputs}) + {a}",
    "return ({inputs}) * G{h} + {a}",
    "return [x * {a} for x in (({inputs}) % 97, G{h})]",
    "return {{'sum': {inputs}, 'more': ({a}, LIST[-1])}}",
    "return K.scale({inputs}) + K.n",
    "return (lambda z: z + G{h})({inputs}) * {a}",
    "return int(os.environ[OUTSIDE]) + {inputs}",
    "LIST.append({a}); return len(LIST) + {inputs}",
    "return partial({a}) + {inputs}",
    "return set([{inputs} % 7, {a}])",
    # Found by hand once, as no generator wrote them: enums, attributes set later, settings of packages, fallbacks.
    "return Tone.LOW.value + ({inputs}) * {a}",
    "return f'{{Tone.LOW}} {{Tone(Tone.LOW.value).loud()}} {{{inputs}}}'",
    "return Late.extra + ({inputs})",
    "return str(np.array([{a} / 7 + ({inputs})]))",
    "return int(np.random.default_rng(G{h} - 1 or {a}).integers(1000)) + ({inputs})",
    "return LOG.getEffectiveLevel() + ({inputs})",
)
QUERIES = (
    "return f'[sum({{t0}}) + {a}, G{{G{h}}}]'.replace('G', '')",
    "return 'sorted(t1) + [{a}]'",
    "return 'sorted(t0 + t1)[:{a}]'",
)


@dataclass
class Edited:
    """A pipeline as its author has it now."""

    shapes: list[tuple[str, bool]]
    parents: list[tuple[int, ...]]
    numbers: list[int]
    helpers: list[int]
    constants: list[int]
    scale: int
    outside: int = 1
    data: dict[str, list[int]] = field(default_factory=dict)

    def source(self) -> str:
        lines = ["import enum, functools, logging, os", "import numpy as np", f"OUTSIDE = {OUTSIDE!r}", "LIST = [3]"]
        lines += [f"LOG = logging.getLogger({OUTSIDE!r})", "class Late: pass", f"Late.extra = {self.constants[1]}"]
        lines += [f"class Tone(enum.Enum):\n    LOW = {self.scale}\n    HIGH = 99"]
        lines += [f"    def __str__(self): return 'tone {self.helpers[1]}'\n    def loud(self): return self.value + G0"]
        lines += [f"class Base:\n    n = {self.scale}\n    def scale(self, x): return x * {self.scale}"]
        lines += ["class Kind(Base): pass", "K = Kind()"]
        lines += [f"G{number} = {value}" for number, value in enumerate(self.constants)]
        lines += [f"def helper{n}(x): return x + G{n} * {value}" for n, value in enumerate(self.helpers)]
        lines += ["def add(x, y): return x + y", f"partial = functools.partial(add, {self.helpers[0]})"]
        for number, (shape, is_query) in enumerate(self.shapes):
            inputs = [f"s{each}" for each in self.parents[number]]
            read = " + ".join(f"number({each})" for each in inputs) or "0"
            body = shape.format(inputs=read, a=self.numbers[number], h=number % 2)
            reads = [*inputs, "t0"] if is_query and "{t0}" in body else inputs
            lines += [f"def s{number}({', '.join(reads)}):\n    {body}"]
        lines += ["def number(x): return x if isinstance(x, int) else sum(map(ord, repr(x))) % 9973"]
        return "\n".join(lines)


def first(random_: random.Random) -> Edited:
    """Return a random pipeline."""
    count = random_.randint(2, 6)
    shapes: list[tuple[str, bool]] = []
    parents: list[tuple[int, ...]] = []
    for number in range(count):
        is_query = random_.random() < 0.3
        shapes.append((random_.choice(QUERIES if is_query else VALUES), is_query))
        may = [each for each in range(number) if not shapes[each][1]] if not is_query else []
        parents.append(tuple(each for each in may if random_.random() < 0.5))
    small = lambda: random_.randint(1, 9)  # noqa: E731
    edited = Edited(shapes, parents, [small() for _ in range(count)], [small(), small()], [small(), small()], small())
    edited.data = {table: [small() for _ in range(3)] for table in TABLES}
    return edited


def edit(random_: random.Random, edited: Edited) -> Edited:
    """Return the pipeline after one edit, of code or of data; perhaps none."""
    small = random_.randint(1, 9)
    new = Edited(**{name: value.copy() if hasattr(value, "copy") else value for name, value in vars(edited).items()})
    match random_.randrange(8):
        case 0:
            new.numbers[random_.randrange(len(new.numbers))] = small
        case 1:
            new.helpers[random_.randrange(2)] = small
        case 2:
            new.constants[random_.randrange(2)] = small
        case 3:
            new.scale = small
        case 4:
            new.outside = small
        case 5:
            new.data = {**new.data, random_.choice(TABLES): [random_.randint(1, 9) for _ in range(3)]}
        case 6:
            number = random_.randrange(len(new.shapes))
            kinds = QUERIES if new.shapes[number][1] else VALUES
            new.shapes[number] = (random_.choice(kinds), new.shapes[number][1])
    return new


class Session:
    """One author at work; what is kept stays in a folder, as between programs."""

    def __init__(self, random_: random.Random, folder: Path) -> None:
        self.random, self.folder = random_, folder
        self.store = LittleStore()
        self.budget = random_.choice((None, None, 0, 60, 400))
        self.history = [first(random_)]
        self.seen: dict[tuple[str, tuple[int, ...]], int] = {}
        self.loaded = 0

    def stale_answers(self, iterations: int) -> Iterator[str]:
        """Yield each answer that differs from the one of running everything."""
        for _ in range(iterations):
            now = self.history[-1]
            targets = self.random.sample([f"s{n}" for n in range(len(now.shapes))], self.random.randint(1, 2))
            kept, fresh = self._run(now, targets, self.folder, self.store), self._fresh(now, targets)
            if kept != fresh:
                yield f"{targets}: {kept} instead of {fresh}\n{now.source()}"
            back = self.random.random() < 0.2
            self.history.append(self.random.choice(self.history) if back else edit(self.random, now))

    def _run(self, edited: Edited, targets: list[str], folder: Path, store: LittleStore) -> dict[str, str]:
        os.environ[OUTSIDE] = str(edited.outside)
        logging.getLogger(OUTSIDE).setLevel(10 * edited.outside)
        for table, rows in edited.data.items():
            version = self.seen.setdefault((table, tuple(rows)), len(self.seen))
            store.change(table, rows, version)
        steps = list(_steps(edited))
        pipeline = Pipeline(steps, Shelf(LocalFolder(folder), self.budget), store, parallel=1)
        try:
            with np.printoptions(precision=edited.outside):
                outcome = pipeline.run(targets)
        except BadArgumentError:
            return {"refused": "steps change what others read"}  # which one it names is a matter of order
        self.loaded += len([action for action in outcome.actions.values() if action == "load"])
        return {name: repr(_seen(value, store)) for name, value in outcome.values.items()}

    def _fresh(self, edited: Edited, targets: list[str]) -> dict[str, str]:
        return self._run(edited, targets, self.folder / f"fresh{self.random.random()}", LittleStore())


def _steps(edited: Edited) -> Iterator[Step]:
    module = types.ModuleType("user_session")
    sys.modules["user_session"] = module
    exec(compile(edited.source(), "<user_session>", "exec"), vars(module))
    for number, (_, is_query) in enumerate(edited.shapes):
        yield Step(getattr(module, f"s{number}"), f"s{number}", "query" if is_query else "value")


def _seen(value: Any, store: LittleStore) -> Any:
    return store.places.get(value, value) if isinstance(value, str) else value


def stale_answers(count: int, seed: int, folder: Path, iterations: int = 8) -> tuple[list[str], int]:
    """Return what went wrong in some sessions, and how many results were loaded in all."""
    wrong, loaded = [], 0
    for number in range(count):
        session = Session(random.Random(f"{seed} {number}"), folder / str(number))
        wrong += [f"seed {seed} {number}: {each}" for each in session.stale_answers(iterations)]
        loaded += session.loaded
        if (number + 1) % 50 == 0:
            done = f"{number + 1} pipelines, {loaded} loaded, {len(wrong)} stale"
            print(done, file=sys.stderr, flush=True)
    return wrong, loaded
