"""How long rewriting takes once the catalog is known: `rewrite_sql` over every TPC-H query, both semantics; no Spark.

Time of this process, so that what else the machine does counts as little as may be.

python -m tests.bench.rewriting --runs 9
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

import tpch_queries
from forward_lineage import Catalog, rewrite_sql
from tpch_queries.data import generate

SEMANTICS = ("data", "control")


def measure(folder: Path, runs: int) -> Mapping[str, Mapping[str, float]]:
    """Return query → semantics → median milliseconds of CPU, over the tables in a folder; the queries take turns."""
    known = Catalog.from_parquet(folder)
    found: dict[str, dict[str, list[float]]] = {name: {each: [] for each in SEMANTICS} for name in tpch_queries.names()}
    for run in range(runs + 1):
        for name, by_semantics in found.items():
            text = tpch_queries.query(name)
            for semantics, times in by_semantics.items():
                start = time.process_time()
                rewrite_sql(text, known, semantics)
                if run:  # the first fills sqlglot's caches
                    times.append((time.process_time() - start) * 1000)
    return {name: {each: statistics.median(times) for each, times in found[name].items()} for name in found}


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--runs", default=9, show_default=True, type=click.IntRange(1), help="Timed runs of each query.")
def main(runs: int) -> None:
    """Measure and print."""
    medians = measure(generate(0.01), runs)
    table = Table(title=f"rewrite_sql, milliseconds of CPU, medians of {runs}")
    table.add_column("query")
    for semantics in SEMANTICS:
        table.add_column(semantics, justify="right")
    for name, found in medians.items():
        table.add_row(name, *(f"{found[semantics]:.1f}" for semantics in SEMANTICS))
    Console().print(table)
    worst = max(
        (value, f"{name} ({semantics})") for name, found in medians.items() for semantics, value in found.items()
    )
    Console().print(f"the longest: {worst[1]}, {worst[0]:.1f} ms")


if __name__ == "__main__":
    main()
