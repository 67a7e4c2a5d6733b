"""Fig. 9: random chains of numpy operations, tracked, beside joins of DuckDB over Parquet.   [Zhao 2024, §VII-D]

Chains are drawn from the operations of Table IX that take one array of floats and give one. All go through `track`, and
questions through `backward` and `forward`, from end to end. The rival has the pairs of every step in a file of its own.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import geometric_mean, mean
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from forward_lineage.arrays import TrackedArray, backward, forward, track
from forward_lineage.arrays.cells import Cells
from forward_lineage.arrays.graph import Node
from forward_lineage.relations.algebra import compose, union
from forward_lineage.relations.lattice_cells import boxes_of_numbers
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from tests.bench.arrays.paper import FIGURES
from tests.bench.arrays.questions import timed
from tests.bench.arrays.rivals import Joins
from tests.forward_lineage.arrays.table_ix import OPERATIONS
from udafs.lineage_set import LineageSet

SHAPE = (1000, 100)
LENGTHS = (5, 10)
SHARES = (0.0, 0.01, 0.2, 1.0)
"""Of the cells that are asked for; 0 is a single one."""
#: The rival lists the pairs of every step: what has more is drawn again.
MOST_PAIRS = 20_000_000
#: Chains end with so many cells at least, or there is nothing left to ask.
LEAST_CELLS = 100
Operation = Callable[[Any], Any]


def single() -> dict[str, Operation]:
    """The operations that take one matrix of floats and give one array of floats."""
    found = {}
    for name, (function, shapes) in OPERATIONS.items():
        if len(shapes(3, 4)) == 1 and name not in ("real", "imag", "angle"):
            found[name] = function
    return found


class Chain(NamedTuple):
    """A random chain.

    Attributes:
        names: its operations.
        arrays: what was tracked, and what each operation made of the one before.
        pairs: of each operation, those of its output and its input.

    """

    names: list[str]
    arrays: list[TrackedArray]
    pairs: list[LineageRelation]


def draw(rng: np.random.Generator, length: int) -> Chain:
    """A chain of some operations; what refuses its input, or has too many pairs for the rival, is drawn again."""
    operations = single()
    names: list[str] = []
    arrays = [track(rng.random(SHAPE), "x")]
    pairs: list[LineageRelation] = []
    while len(names) < length:
        name = str(rng.choice(sorted(operations)))
        step = track(arrays[-1].values, "step")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = _tried(operations[name], arrays[-1])
            relation = None if made is None else _pairs(operations[name](step).node, step.node)
        if made is not None and relation is not None:
            names.append(name)
            arrays.append(made)
            pairs.append(relation)
    return Chain(names, arrays, pairs)


def _tried(operation: Operation, array: TrackedArray) -> TrackedArray | None:
    """What the operation makes; None: it does not take such an array, or makes too little, or too much of it."""
    try:
        operation(array.values)
    except (ValueError, IndexError, TypeError):
        return None
    made = operation(array)
    usual = isinstance(made, TrackedArray) and made.dtype.kind == "f" and made is not array
    return made if usual and LEAST_CELLS <= made.size <= 4 * math.prod(SHAPE) else None


def _pairs(node: Node, source: Node) -> LineageRelation | None:
    """The pairs of one operation, listed; None: they are too many."""
    if node is source:
        return RunsRelation.identity(
            LineageSet.from_intervals(np.zeros(1, np.int64), np.array([math.prod(node.shape) - 1]))
        )
    parts = []
    for edge in node.edges:
        if edge.control:
            continue
        behind = _pairs(edge.source, source)
        if behind is None or sum(each.cardinality for each in edge.steps) > MOST_PAIRS:
            return None
        relation = behind
        for step in reversed(edge.steps):
            relation = compose(step, relation)
        parts.append(relation)
    found = union(parts)
    return found if found.cardinality <= MOST_PAIRS else None


def measure(runs: int, chains: int = 20) -> list[dict[str, Any]]:
    """Milliseconds of questions in both directions; both ways must name as many cells."""
    found = []
    for length in LENGTHS:
        rng = np.random.default_rng(length)
        for number in range(chains):
            chain = draw(rng, length)
            with tempfile.TemporaryDirectory() as folder:
                joins = Joins([[each] for each in chain.pairs], Path(folder))
                for asked in _asked(chain, joins, rng, runs):
                    found.append({"length": length, "chain": number, "names": chain.names, **asked})
    return found


def _asked(chain: Chain, joins: Joins, rng: np.random.Generator, runs: int) -> Iterator[dict[str, Any]]:
    first, last = chain.arrays[0], chain.arrays[-1]
    for way in ("forward", "backward"):
        begin = first if way == "forward" else last
        for share in SHARES:
            count = max(round(share * begin.size), 1)
            start = int(rng.integers(0, begin.size - count + 1))
            numbers = np.arange(start, start + count)
            cells = Cells(boxes_of_numbers(begin.shape, numbers))
            ask, rival = {
                "forward": (lambda: forward(first, cells, last), lambda: joins.forward(numbers)),  # noqa: B023
                "backward": (lambda: backward(last, cells)["x"], lambda: joins.backward(numbers)),  # noqa: B023
            }[way]
            ask()  # what relations keep for questions is made by the first one
            ours, own, answer = timed(ask, runs)
            theirs, theirs_own, rows = timed(rival, min(runs, 3))
            assert len(answer) == rows, (chain.names, way, share, len(answer), rows)
            yield {
                "way": way, "share": share, "cells": rows, "boxes": len(answer.boxes),
                "ours": ours, "own": own, "duckdb": theirs, "duckdb_own": theirs_own,
            }  # fmt: skip


def show(console: Console, found: Any) -> None:
    """Print a row for each length and direction, and the slowest chains."""
    table = Table("steps", "direction", "cells asked", "ours, ms", "of the processor", "DuckDB, ms", "of the processor",
                  "times, mean", "geometric", "worst", "worse?",
                  title=f"Fig. 9: {FIGURES['Fig. 9']}")  # fmt: skip
    for length in LENGTHS:
        for way in ("forward", "backward"):
            for share in (*SHARES, None):
                rows = [each for each in found if (each["length"], each["way"]) == (length, way)]
                rows = [each for each in rows if share in (None, each["share"])]
                table.add_row(str(length), way, _named(share), *_figures(rows))
    console.print(table)
    own = [each["duckdb_own"] / max(each["own"], 0.01) for each in found]
    console.print(
        f"all questions by processor time: mean {mean(own):.0f} times, geometric {geometric_mean(own):.0f}, "
        f"worst {min(own):.1f}"
    )
    slowest = sorted(found, key=lambda each: each["duckdb"] / each["ours"])[:5]
    for each in slowest:
        console.print(
            f"slowest: {each['duckdb'] / each['ours']:.2f} times, {each['ours']:.1f} ms, {each['way']}, "
            f"{_named(each['share'])}, {each['boxes']:,} boxes: {' → '.join(each['names'])}"
        )


def _named(share: float | None) -> str:
    return "all of these" if share is None else f"{share:.0%}" if share else "one"


def _figures(rows: list[dict[str, Any]]) -> list[str]:
    times = [each["duckdb"] / each["ours"] for each in rows]
    faults = ["mean below 20 times"] if mean(times) < 20 else []
    faults += ["slower than DuckDB in a chain"] if min(times) < 1 else []
    mine, own, theirs, theirs_own = (
        f"{mean(each[name] for each in rows):.2f} ({max(each[name] for each in rows):.1f})"
        for name in ("ours", "own", "duckdb", "duckdb_own")
    )
    return [
        mine, own, theirs, theirs_own, f"{mean(times):.0f}", f"{geometric_mean(times):.0f}", f"{min(times):.1f}",
        "; ".join(faults) or "no",
    ]  # fmt: skip
