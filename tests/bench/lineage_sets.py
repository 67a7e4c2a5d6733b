"""What lineage values cost in Python: bytes, nanoseconds an id to write and to read, building a roBDD.

    python -m tests.bench.lineage_sets --ids 1000000 --runs 7

The rival is pyroaring (CRoaring, C): a bitmap from the same ids in random order. Everything takes turns; medians.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import click
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64
from rich.console import Console
from rich.progress import track
from rich.table import Table

from udafs.lineage_set import LineageSet

Ids = npt.NDArray[np.int64]

ENCODINGS = ("auto", "bdd", "set", "roaring")
LINEITEM = 6_001_215  # rows at scale factor 1


def shapes(count: int) -> dict[str, Ids]:
    """Sets of about `count` ids, from scattered to contiguous."""
    rng = np.random.default_rng(2007)
    starts = np.cumsum(rng.integers(51, 250, count // 50))
    return {
        "random among 6M": np.unique(rng.integers(0, LINEITEM, count)),
        "random of 24 bits": np.unique(rng.integers(0, 1 << 24, count)),
        "random of 31 bits": np.unique(rng.integers(0, 1 << 31, count)),
        "runs of 50": (starts[:, None] + np.arange(50)).ravel(),
        "every 7th": np.arange(0, 7 * count, 7),
        "contiguous": np.arange(1000, 1000 + count),
    }


def measure(ids: Ids, runs: int) -> dict[str, list[float]]:
    """Processor seconds of each step (all are single-threaded), the steps taking turns; the first turn warms up."""
    shuffled = np.random.default_rng(1).permutation(ids)
    unsigned = shuffled.astype(np.uint64)
    values = {encoding: LineageSet(ids).to_bytes(encoding) for encoding in ENCODINGS}
    steps: dict[str, Callable[[], object]] = {
        "build roaring bitmap (pyroaring)": lambda: BitMap64(unsigned),
        "build roBDD": lambda: LineageSet(shuffled).table(),
    }
    for encoding in ENCODINGS:
        steps[f"write {encoding}"] = lambda encoding=encoding: LineageSet(ids).to_bytes(encoding)
        steps[f"read {encoding}"] = lambda encoding=encoding: LineageSet.from_bytes(values[encoding]).ids()
    seconds: dict[str, list[float]] = {step: [] for step in steps}
    for turn in range(runs + 1):
        for step, run in steps.items():
            start = time.process_time()
            run()
            if turn:
                seconds[step].append(time.process_time() - start)
    return seconds


def report(name: str, ids: Ids, runs: int) -> dict[str, object]:
    """Everything about one shape."""
    seconds = {step: statistics.median(each) for step, each in measure(ids, runs).items()}
    value = LineageSet(ids)
    return {
        "shape": name,
        "ids": len(value),
        "bytes": {encoding: len(value.to_bytes(encoding)) for encoding in ENCODINGS},
        "auto": {0: "set", 1: "bdd", 2: "roaring"}[value.to_bytes()[0]],
        "nodes": value.table().nodes,
        "nanoseconds_an_id": {step: 1e9 * each / len(value) for step, each in seconds.items()},
        "roBDD_over_roaring_construction": seconds["build roBDD"] / seconds["build roaring bitmap (pyroaring)"],
    }


def print_tables(console: Console, found: list[dict]) -> None:
    """Bytes, then nanoseconds."""
    sizes = Table(title="bytes")
    for column in ("shape", "ids", "int32", "int64", *ENCODINGS, "auto is", "roBDD nodes"):
        sizes.add_column(column, justify="left" if column == "shape" else "right")
    for each in found:
        written = (4 * each["ids"], 8 * each["ids"], *each["bytes"].values())
        cells = [f"{number:,}" for number in (each["ids"], *written)]
        sizes.add_row(each["shape"], *cells, each["auto"], f"{each['nodes']:,}")
    times = Table(title="nanoseconds an id")
    times.add_column("step")
    for each in found:
        times.add_column(each["shape"], justify="right")
    for step in found[0]["nanoseconds_an_id"]:
        times.add_row(step, *(f"{each['nanoseconds_an_id'][step]:.1f}" for each in found))
    times.add_section()
    times.add_row("roBDD / roaring bitmap", *(f"{each['roBDD_over_roaring_construction']:.2f}" for each in found))
    console.print(sizes)
    console.print(times)


@click.command()
@click.option("--ids", "count", default=1_000_000, show_default=True, help="About how many ids in a set.")
@click.option("--runs", default=7, show_default=True, help="Timed runs of each step.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured as JSON instead of tables.")
def main(count: int, runs: int, as_json: bool) -> None:
    """Measure lineage sets of several shapes in every encoding."""
    console = Console()
    progress = track(shapes(count).items(), "measuring", console=Console(stderr=True), transient=True)
    found = [report(name, ids, runs) for name, ids in progress]
    if as_json:
        console.print_json(json.dumps(found))
    else:
        print_tables(console, found)


if __name__ == "__main__":
    main()
