"""Fig. 7: from captured pairs to a file, and from the rule of the operation.   [Zhao 2024, §VII-C2]"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from forward_lineage.relations import segment as segments
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.provrc import encode
from forward_lineage.relations.segment import Segment
from tests.bench.arrays import operations, rivals
from tests.bench.arrays.paper import FIGURES
from tests.bench.arrays.questions import timed


def measure(most_cells: int, runs: int) -> list[dict[str, Any]]:
    """Milliseconds of both kinds of lineage for arrays of 10², 10³ … cells."""
    found = []
    for exponent in range(2, round(math.log10(most_cells)) + 1):
        for kind, make in (("one to one", _one_to_one), ("aggregate", _aggregate)):
            figures = _measure(partial(make, 10**exponent), 1 if exponent > 6 else runs)
            found.append({"kind": kind, "cells": 10**exponent, **figures})
    return found


def _one_to_one(cells: int) -> list[rivals.ArrayRelation]:
    return operations.negative(1, cells)


def _aggregate(cells: int) -> list[rivals.ArrayRelation]:
    side = 10 ** (round(math.log10(cells)) // 2)
    return [BoxRelation.rule((side,), (cells // side, side), [(0, cells // side - 1), operations.SAME])]


def _measure(make: Callable[[], list[rivals.ArrayRelation]], runs: int) -> dict[str, float]:
    relation = make()[0]
    rows, ids = relation.pairs()
    table = rivals.table_of(relation)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pairs"

        def keep(boxes: rivals.ArrayRelation) -> None:
            file.write_bytes(segments.encode(Segment(0, math.prod(boxes.out_shape), boxes), "boxes"))

        ways: dict[str, Callable[[], object]] = {
            "rule": lambda: keep(make()[0]),
            "pairs": lambda: keep(encode(relation.out_shape, relation.in_shape, rows, ids)),
            "parquet": lambda: pq.write_table(table, file, compression="none"),
            "parquet_gzip": lambda: pq.write_table(table, file, compression="gzip"),
        }
        found: dict[str, float] = {}
        for name, way in ways.items():
            # Parquet with gzip takes half a minute for a million pairs one to one.
            found[name], found[f"{name}_own"], _ = timed(way, 1 if name == "parquet_gzip" else runs)
        return found


def show(console: Console, found: Any) -> None:
    """Print the table."""
    table = Table("lineage", "cells", "our rule", "our encoder of pairs", "Parquet", "Parquet-GZip", "worse?",
                  title="Fig. 7: milliseconds to a file, on the clock and (of the processor). "
                  f"The paper says: {FIGURES['Fig. 7']}")  # fmt: skip
    for each in found:
        slower = [
            f"{rival} ({kind})"
            for rival in ("parquet", "parquet_gzip")
            for kind, own in (("clock", ""), ("processor", "_own"))
            if each[f"pairs{own}"] > each[f"{rival}{own}"]
        ]
        table.add_row(
            each["kind"], f"{each['cells']:,}",
            *(f"{each[name]:.2f} ({each[f'{name}_own']:.2f})" for name in ("rule", "pairs", "parquet", "parquet_gzip")),
            f"the encoder is slower than {', '.join(slower)}" if slower else "no",
        )  # fmt: skip
    console.print(table)
