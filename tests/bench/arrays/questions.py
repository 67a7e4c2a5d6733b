"""Fig. 8: questions both ways through three pipelines, beside DuckDB's joins over Parquet.   [Zhao 2024, §VII-D]"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of_numbers, cells_in, merged
from tests.bench.arrays import pipelines
from tests.bench.arrays.paper import FIGURES
from tests.bench.arrays.rivals import Joins

SELECTIVITIES = (0.001, 0.01, 0.2, 0.8, 1.0)


def forward(path: pipelines.Path, cells: LatticeBoxes) -> LatticeBoxes:
    """The cells of the last array that are made of some of the first one."""
    for step in path:
        cells = _united([each.forward_cells(cells) for each in step])
    return cells


def backward(path: pipelines.Path, cells: LatticeBoxes) -> LatticeBoxes:
    """The cells of the first array that some of the last one are made of."""
    for step in reversed(path):
        cells = _united([each.backward_cells(cells) for each in step])
    return cells


def _united(found: list[LatticeBoxes]) -> LatticeBoxes:
    cells = found[0]
    for more in found[1:]:
        cells = merged(cells.together(more))
    return cells


def measure(rows: int, runs: int) -> list[dict[str, Any]]:
    """Milliseconds of every pipeline at every selectivity; both ways must name as many cells."""
    found = []
    paths = {"image": pipelines.image(), "relational": pipelines.relational(rows), "ResNet": pipelines.resnet()}
    for name, path in paths.items():
        with tempfile.TemporaryDirectory() as folder:
            joins = Joins(path, Path(folder))
            for way in ("forward", "backward"):
                found += [
                    {"pipeline": name, "way": way, "share": share, **_measured(path, joins, way, share, runs)}
                    for share in SELECTIVITIES
                ]
    return found


def _measured(path: pipelines.Path, joins: Joins, way: str, share: float, runs: int) -> dict[str, Any]:
    shape = path[0][0].in_shape if way == "forward" else path[-1][0].out_shape
    size = math.prod(shape)
    count = max(round(share * size), 1)
    start = int(np.random.default_rng(3).integers(0, size - count + 1))
    numbers = np.arange(start, start + count)
    asked = boxes_of_numbers(shape, numbers)
    ask, rival = (forward, joins.forward) if way == "forward" else (backward, joins.backward)
    ask(path, asked)  # what relations keep for questions is made by the first one
    ours, own, answer = timed(lambda: ask(path, asked), runs)
    theirs, theirs_own, cells = timed(lambda: rival(numbers), min(runs, 3))
    assert cells_in(answer) == cells, (way, share, cells_in(answer), cells)
    return {
        "cells": cells, "boxes": len(answer), "ours": ours, "own": own, "duckdb": theirs, "duckdb_own": theirs_own,
    }  # fmt: skip


def timed(ask: Callable[[], Any], runs: int) -> tuple[float, float, Any]:
    """Milliseconds on the clock, those of the processor, which do not count what else runs here, and the answer."""
    times, processor = [], []
    for _ in range(runs):
        start, own = time.perf_counter(), time.process_time()
        found = ask()
        times.append(1000 * (time.perf_counter() - start))
        processor.append(1000 * (time.process_time() - own))
    return statistics.median(times), statistics.median(processor), found


def show(console: Console, found: Any) -> None:
    """Print the table."""
    table = Table("pipeline", "direction", "cells asked", "answer", "ours, ms", "of the processor", "DuckDB, ms",
                  "of the processor", "times", "worse?",
                  title=f"Fig. 8: milliseconds of a question. The paper says: {FIGURES['Fig. 8']}")  # fmt: skip
    for each in found:
        times = each["duckdb"] / each["ours"]
        faults = ["slower than DuckDB"] if each["ours"] > each["duckdb"] else []
        if each["pipeline"] != "relational" and each["ours"] > 10:
            faults.append("more than 10 ms")
        table.add_row(
            each["pipeline"], each["way"], f"{each['share']:.1%}", f"{each['cells']:,} cells, {each['boxes']:,} boxes",
            f"{each['ours']:.2f}", f"{each['own']:.2f}", f"{each['duckdb']:.1f}",
            f"{each['duckdb_own']:.1f}", f"{times:.0f}",
            "; ".join(faults) or "no",
        )  # fmt: skip
    console.print(table)
