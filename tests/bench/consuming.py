"""A consuming aggregate over the lineage of one bar, against the scan that finds the same rows.  [Smoke §6.3, Fig. 8]

    python -m tests.bench.consuming [--rows 2000000] [--groups 5000] [--skews 0,0.8,1.6] [--runs 5] [--json FILE]

The paper's table zipf(id, z, v), its groups of z saved with their lineage, its rows in no order. Of each skew bars from
the largest to the smallest are asked, in turns:

    scan        SELECT count(*), sum(v) FROM zipf WHERE z = :bar, plain Spark: the cheapest predicate there is
    BACKWARD    the same over BACKWARD(groups WHERE z = :bar, zipf), its own lineage not looked at
    with DL     the same, its lineage computed as well
    answer      `lineage.answer` of the same text, which the save was told of (`workload=`); no Spark job
    ids         the ids alone, of a row that is known: what the paper's engine does; no Spark job

A figure is the median of the milliseconds from text to rows.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.workloads.answering import Answer
from tests.bench.harness import Turns, Variant, compare

#: Of the bars by size, which are asked: the largest, then by share of the bars that are larger.
BARS = (0.0, 0.001, 0.01, 0.1, 0.5, 0.999)
#: [Smoke §6.3, Fig. 8] of 10M rows in memory: "mainly around 1 ms"; the lazy scan's cost is fixed; with skews of 0.8
#: and 1.6 the scan is the faster one for the largest groups.
PAPER = "the paper, 10M rows in memory: around 1 ms; slower than its scan for the largest bars of skews 0.8 and 1.6"

_BASE = """
    SELECT z, count(*) AS n, sum(v) AS sv, sum(v * v) AS svv, sum(sqrt(v)) AS sqrts, min(v) AS least, max(v) AS most
    FROM zipf GROUP BY z
"""
_ASKED = "SELECT count(*) AS n, sum(v) AS v FROM {rows}"
_CONSUMING = _ASKED.format(rows="BACKWARD(groups WHERE z = :bar, zipf)")
_RUNS_WITHOUT_SPARK = 50


@dataclass(frozen=True)
class Asked:
    """What one bar costs.

    Attributes:
        skew: of the table.
        bar: the group.
        rows: how many it has.
        milliseconds: by way, median.

    """

    skew: float
    bar: int
    rows: int
    milliseconds: dict[str, float]


def sizes(rows: int, groups: int, skew: float) -> NDArray[np.int64]:
    """How many rows each group has, the largest first; each has one at least, all together have `rows`."""
    weights = 1.0 / np.arange(1, groups + 1) ** skew
    found = np.maximum(1, np.floor(weights / weights.sum() * rows)).astype(np.int64)
    found[0] += rows - found.sum()
    return found


def table(rows: int, groups: int, skew: float) -> pa.Table:
    """zipf(id, z, v): group k is the k-th largest, the rows in no order."""
    random = np.random.default_rng(2018)
    z = np.repeat(np.arange(groups, dtype=np.int32), sizes(rows, groups, skew))
    random.shuffle(z)
    return pa.table({"id": np.arange(rows), "z": z, "v": random.uniform(0, 100, rows)})


def measure(lineage: ForwardLineage, folder: Path, rows: int, groups: int, skew: float, turns: Turns) -> list[Asked]:
    """Ask for the bars of one skew."""
    folder.mkdir()
    parquet.write_table(table(rows, groups, skew), folder / "zipf.parquet", write_page_index=True)
    lineage.register("zipf", path=folder)
    lineage.save(_BASE, "groups", workload=[_CONSUMING])
    counted = sizes(rows, groups, skew)
    bars = [min(groups - 1, int(share * groups)) for share in BARS]
    return [Asked(skew, bar, int(counted[bar]), _asked(lineage, bar, turns)) for bar in dict.fromkeys(bars)]


def _asked(lineage: ForwardLineage, bar: int, turns: Turns) -> dict[str, float]:
    spark, args = lineage.spark, {"bar": bar}
    scan = _ASKED.format(rows="zipf WHERE z = :bar")

    def ours() -> DataFrame:
        return lineage.sql(_CONSUMING, args=args)

    def prepared() -> Answer:
        return lineage.answer(_CONSUMING, args)

    assert ours().drop("DL").first() == spark.sql(scan, args=args).first()
    _check_prepared(prepared(), spark.sql(scan, args=args).toArrow())
    variants = [
        Variant("scan", lambda: spark.sql(scan, args=args)),
        Variant("BACKWARD", lambda: ours().drop("DL")),
        Variant("with DL", ours),
    ]
    found = compare(spark, f"bar {bar}", variants, turns)
    row = lineage.result("groups").collect().index(lineage.result("groups").where(f"z = {bar}").collect()[0])
    ids = _milliseconds(lambda: lineage.backward_ids("groups", rows=[row]))
    with_spark = {timing.variant: 1000 * median(timing.clock) for timing in found.timings}
    return with_spark | {"answer": _milliseconds(prepared), "ids": ids}


def _check_prepared(answer: Answer, wanted: pa.Table) -> None:
    """The same, but for the order in which floats are added up, and without lineage being read."""
    assert answer.by in ("cube", "partition"), answer.why
    (found,), (expected,) = answer.table.to_pylist(), wanted.to_pylist()
    assert found["n"] == expected["n"] and math.isclose(found["v"], expected["v"], rel_tol=1e-9)


def _milliseconds(run: Callable[[], object]) -> float:
    found = []
    for _ in range(_RUNS_WITHOUT_SPARK):
        start = time.perf_counter()
        run()
        found.append(1000 * (time.perf_counter() - start))
    return median(found)


def report(found: Sequence[Asked]) -> Table:
    """A line a bar."""
    shown = Table(title="one bar, milliseconds from text to rows", caption=PAPER)
    ways = list(found[0].milliseconds)
    for title in ("skew", "rows of the bar", *ways, "BACKWARD / scan"):
        shown.add_column(title, justify="right")
    for each in found:
        cells = [f"{each.milliseconds[way]:.1f}" for way in ways]
        ratio = each.milliseconds["BACKWARD"] / each.milliseconds["scan"]
        shown.add_row(f"{each.skew:g}", f"{each.rows:,}", *cells, f"{ratio:.2f}")
    return shown


@click.command()
@click.option("--rows", default=2_000_000, show_default=True)
@click.option("--groups", default=5_000, show_default=True)
@click.option("--skews", default="0,0.8,1.6", show_default=True)
@click.option("--runs", default=5, show_default=True)
@click.option("--json", "output", type=click.Path(path_type=Path), help="Where to write every figure.")
def main(*, rows: int, groups: int, skews: str, runs: int, output: Path | None) -> None:
    """Measure, and print a table."""
    spark = local_session("local[2]")
    found: list[Asked] = []
    with tempfile.TemporaryDirectory() as scratch:
        for skew in map(float, skews.split(",")):
            home = Path(scratch) / f"home-{skew:g}"
            lineage = ForwardLineage(spark.newSession(), home)
            found += measure(lineage, Path(scratch) / f"zipf-{skew:g}", rows, groups, skew, Turns(runs, warm_up=2))
    Console(width=120).print(report(found))
    if output is not None:
        output.write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == "__main__":
    main()
