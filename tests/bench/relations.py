"""Stored lineage relations of TPC-H queries: bytes on disk beside other ways to store them, and times of questions.

    python -m tests.bench.relations --scale 1 --queries q1,q3,q9,q10,q11,q18,s8 --semantics data

Both forms of a segment are measured, `runs` and `bdd`; the store writes the smaller. A question is asked cold (the
bytes of the segment in memory, nothing decoded) and warm (medians). No Spark takes part in a question.
"""

from __future__ import annotations

import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import LineageError
from forward_lineage.relations import segment as segments
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.values import relation_of_values
from forward_lineage.spark.local import local_session
from tests.bench.sessions import Sessions
from tests.bench.workloads import TPCH
from tpch_queries.data import generate
from udafs.lineage_set import LineageSet

#: Beyond this many pairs the BDD form and the rivals are left out: building them would take minutes.
MOST_PAIRS = 8_000_000


def parquet_size(relation: LineageRelation) -> int:
    """Bytes of the pairs as a Parquet file, delta encoded, zstd."""
    rows, ids = relation.pairs()
    file = io.BytesIO()
    encoding = dict.fromkeys(("row", "id"), "DELTA_BINARY_PACKED")
    pairs = pa.table({"row": rows, "id": ids})
    pq.write_table(pairs, file, compression="zstd", use_dictionary=False, column_encoding=encoding)
    return file.tell()


def roaring_size(relation: LineageRelation) -> int:
    """Bytes of a run-optimised Roaring bitmap for each row."""
    rows, ids = relation.pairs()
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    total = 0
    for part in np.split(ids.astype(np.uint64), starts[1:]):
        bitmap = BitMap64(part)
        bitmap.run_optimize()
        total += len(bitmap.serialize())
    return total


def seconds(ask: Callable[[LineageRelation], object], relation: LineageRelation, runs: int) -> float:
    """Median time of a question."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        ask(relation)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def questions(relation: LineageRelation) -> dict[str, Callable[[LineageRelation], object]]:
    """The questions that are timed, answers as arrays."""
    ids, rows = relation.ids().ids(), relation.rows().ids()
    rng = np.random.default_rng(2007)
    one, row = LineageSet([int(ids[ids.size // 2])]), LineageSet([int(rows[rows.size // 2])])
    thousand = LineageSet(rng.choice(ids, min(1000, ids.size), replace=False))
    return {
        "forward 1": lambda each: each.forward(one).ids(),
        "forward 1000": lambda each: each.forward(thousand).ids(),
        "backward 1 row": lambda each: each.backward(row).ids(),
    }


def measure(values: pa.ChunkedArray, runs: int) -> dict[str, Any]:
    """Everything about the lineage of one result on one table."""
    start = time.perf_counter()
    relation = relation_of_values(values)
    built = time.perf_counter() - start
    whole = Segment(0, len(values), relation)
    found: dict[str, Any] = {
        "rows": len(values),
        "pairs": len(relation),
        "sets": relation.sets,
        "seconds_to_build": built,
        "bytes": {"int32": 4 * len(relation), "DL values": sum(len(each.as_buffer()) for each in values)},
        "cold_ms": {},
        "warm_ms": {},
    }
    small = len(relation) <= MOST_PAIRS
    if small:
        found["bytes"] |= {"parquet": parquet_size(relation), "roaring": roaring_size(relation)}
    for form in ("runs", "bdd") if small else ("runs",):
        data = segments.encode(whole, form)  # type: ignore[arg-type]
        found["bytes"][form] = len(data)
        if not len(relation):
            continue
        asked = questions(relation)
        start = time.perf_counter()
        answering = segments.decode(data).relation
        asked["forward 1"](answering)
        found["cold_ms"][form] = 1e3 * (time.perf_counter() - start)
        found["warm_ms"][form] = {name: 1e3 * seconds(ask, answering, runs) for name, ask in asked.items()}
        answering.release()
    start = time.perf_counter()
    found["bytes"]["segment"] = len(segments.encode(whole))
    found["seconds_to_encode"] = time.perf_counter() - start
    rivals = [size for name, size in found["bytes"].items() if name not in ("segment", "runs", "bdd", "DL values")]
    found["over_smallest"] = found["bytes"]["segment"] / min(rivals) if len(relation) else None
    return found


def run(scale: float, queries: Sequence[str], semantics: str, runs: int, memory: str) -> list[dict[str, Any]]:
    """Compute the queries with lineage and measure each of their relations."""
    folder = generate(scale)
    spark = local_session("stored relations", driver_memory=memory)
    found = []
    with tempfile.TemporaryDirectory() as home:
        lineage = Sessions.over(TPCH, spark, folder, Path(home)).lineage
        for name in queries:
            values = lineage.sql(tpch_queries.query(name), semantics=semantics).select("DL.*").toArrow()
            for table in values.column_names:
                found.append({"query": name, "table": table, **measure(values[table], runs)})
    spark.stop()
    return found


def print_tables(console: Console, found: list[dict[str, Any]]) -> None:
    """Bytes, then milliseconds."""
    sizes = Table(title="bytes on disk")
    names = ("int32", "DL values", "parquet", "roaring", "runs", "bdd", "segment")
    for column in ("query", "table", "rows", "ids", "sets", *names, "over smallest"):
        sizes.add_column(column, justify="left" if column in ("query", "table") else "right")
    times = Table(title="milliseconds: cold forward of one id, then warm")
    for column in ("query", "table", "form", "cold", "forward 1", "forward 1000", "backward 1 row", "encode"):
        times.add_column(column, justify="left" if column in ("query", "table", "form") else "right")
    for each in found:
        numbers = [each["rows"], each["pairs"], each["sets"], *(each["bytes"].get(name) for name in names)]
        ratio = "–" if each["over_smallest"] is None else f"{each['over_smallest']:.2f}"
        sizes.add_row(each["query"], each["table"], *("–" if n is None else f"{n:,}" for n in numbers), ratio)
        for form, warm in each["warm_ms"].items():
            cells = [each["cold_ms"][form], *warm.values(), 1e3 * each["seconds_to_encode"]]
            times.add_row(each["query"], each["table"], form, *(f"{cell:.2f}" for cell in cells))
    console.print(sizes)
    console.print(times)


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--queries", default="q1,q3,q9,q10,q11,q18,s8", show_default=True, help="Names, joined by commas.")
@click.option("--semantics", default="data", show_default=True, type=click.Choice(["data", "control"]))
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Timed runs of each question.")
@click.option("--memory", default="6g", show_default=True, help="Heap of the Spark driver.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured as JSON instead of tables.")
def main(scale: float, queries: str, semantics: str, runs: int, memory: str, as_json: bool) -> None:
    console = Console()
    try:
        found = run(scale, queries.split(","), semantics, runs, memory)
    except LineageError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        console.print_json(json.dumps(found))
    else:
        print_tables(console, found)


if __name__ == "__main__":
    main()
