"""Table VII: bytes of twelve operations, and what capture of the structured ones takes.   [Zhao 2024, §VII-C1]"""

from __future__ import annotations

import math
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from forward_lineage.relations import segment as segments
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.segment import Form, Segment
from tests.bench.arrays import rivals
from tests.bench.arrays.operations import OPERATIONS, Operation, joined_pairs
from tests.bench.arrays.paper import BARS, TABLE_7
from tests.bench.arrays.rivals import ArrayRelation

Found = list[dict[str, Any]]


def measure(most_pairs: int, names: Sequence[str] = ()) -> Found:
    """Figures of the operations of these names, or of all."""
    return [_measure(each, most_pairs) for each in OPERATIONS if not names or each.name in names]


def _measure(operation: Operation, most_pairs: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": operation.name, "structured": operation.structured}
    if operation.structured:
        found |= capture(operation)
    relations = operation.make()
    is_join = operation.name == "inner join"  # what is put side by side has the same pairs again
    found["pairs"] = sum(each.cardinality for each in (relations[1::2] if is_join else relations))
    found["ours"] = sum(size_of(each) for each in relations)
    found["relations"] = len(relations)
    if found["pairs"] <= most_pairs:
        with tempfile.TemporaryDirectory() as folder:
            listed = joined_pairs(relations) if is_join else relations
            parts = [rivals.sizes(each, Path(folder)) for each in listed]
        found["rivals"] = {name: sum(part[name] for part in parts) for name in parts[0]}
    return found


def size_of(relation: ArrayRelation) -> int:
    """Bytes of the segment of a relation, which is read again."""
    form = cast(Form, "boxes" if isinstance(relation, BoxRelation) else "gather")
    data = segments.encode(Segment(0, math.prod(relation.out_shape), relation), form)
    assert segments.decode(data).relation.cardinality == relation.cardinality
    return len(data)


def capture(operation: Operation) -> dict[str, float]:
    """Milliseconds (the best of 20) and bytes of memory that the rule of an operation takes."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        made = operation.make()
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    made = operation.make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"capture_ms": 1000 * min(times) / len(made), "capture_bytes": peak / len(made)}


def worse(found: dict[str, Any]) -> list[str]:
    """What is not as it should be: larger than the bar, than the paper's ProvRC-GZip, or than a rival measured here."""
    name, ours = found["name"], found["ours"]
    bar = BARS.get(name, 200e-6 * found["relations"]) * 1e6
    faults = [f"above the bar of {bar / 1e6:g} MB"] if ours > bar else []
    if ours > TABLE_7[name].provrc_gzip * 1e6:
        faults.append("larger than the paper's")
    faults += [f"larger than {rival}" for rival, size in found.get("rivals", {}).items() if ours > size]
    if found["structured"]:
        faults += ["capture takes 1 ms or more"] if found["capture_ms"] >= 1 else []
        faults += ["capture takes 1 MB or more"] if found["capture_bytes"] >= 1e6 else []
    return faults


def show(console: Console, found: Any) -> None:
    """Print the table."""
    table = Table("operation", "pairs", "ours, MB", "paper: ProvRC-GZip", "Parquet-GZip", "raw",
                  "here: ProvRC-GZip", "Parquet-GZip", "Parquet", "CSV", "capture", "worse?",
                  title="Table VII: megabytes on disk")  # fmt: skip
    for each in found:
        paper, here = TABLE_7[each["name"]], each.get("rivals", {})
        rival = [
            f"{here[name] / 1e6:.4g}" if here else "–" for name in ("provrc_gzip", "parquet_gzip", "parquet", "raw")
        ]
        taken = f"{each['capture_ms']:.2f} ms, {each['capture_bytes'] / 1e3:.0f} kB" if each["structured"] else "–"
        table.add_row(
            each["name"], f"{each['pairs']:,}", f"{each['ours'] / 1e6:.6f}", f"{paper.provrc_gzip:g}",
            f"{paper.parquet_gzip:g}", f"{paper.raw:g}", *rival, taken, "; ".join(worse(each)) or "no",
        )  # fmt: skip
    console.print(table)
