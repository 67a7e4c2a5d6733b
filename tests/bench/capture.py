"""What capturing lineage costs: the query with lineage, and with `collect_set` by hand, over the query without.

    python -m tests.bench.capture --scale 1 --queries q1,q3,q6,q10 --runs 5 --semantics data
    python -m tests.bench.capture --workload walmart --queries all

All variants read the same Parquet files. The rival, `tests/bench/collect_set/*/*.sql`, is what a careful user would
write today: the same query, a `collect_set` of row positions for each base table (data lineage; `--semantics` does not
change it), ids as plain columns where nothing is aggregated.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.local_spark import local_session
from tests.bench.harness import Comparison, Variant, as_json, compare_all, refusals, table_of_ratios
from tests.bench.workloads import TPCH, WORKLOADS, Workload

_ENCODING = "spark.forward_lineage.encoding"


@dataclass(frozen=True)
class Sessions:
    """Sessions of one Spark application over the same files.

    Attributes:
        workload: the tables and queries.
        spark: the application's own session, to which the lineage is attached.
        plain: a session that has the tables as they are.
        numbered: a session whose tables also have a column `<table>_id`, the position of the row in its file.
        lineage: the tables registered with ids from the position of the row.

    """

    workload: Workload
    spark: SparkSession
    plain: SparkSession
    numbered: SparkSession
    lineage: ForwardLineage

    @classmethod
    def over(cls, workload: Workload, spark: SparkSession, folder: Path, home: Path) -> Sessions:
        """Set the sessions up over a folder of the workload's tables; the lineage's registrations go into `home`."""
        sessions = cls(workload, spark, spark.newSession(), spark.newSession(), ForwardLineage(spark, home=home))
        for table in workload.tables:
            file = folder / f"{table}.parquet"
            sessions.plain.read.parquet(str(file)).createOrReplaceTempView(table)
            rows = sessions.numbered.read.parquet(str(file))
            rows.selectExpr("*", f"_metadata.row_index as {table}_id").createOrReplaceTempView(table)
            sessions.lineage.register(table, path=str(file))
        return sessions

    def variants(self, name: str, semantics: str, encodings: Sequence[str]) -> list[Variant]:
        """Return the ways to answer a query: without lineage, with lineage in each encoding, collected by hand."""
        text = self.workload.query(name)
        return [
            Variant("without", lambda: self.plain.sql(text)),
            *(Variant(f"lineage {encoding}", self.traced(text, semantics, encoding)) for encoding in encodings),
            Variant("collect_set", lambda: self.numbered.sql(self.workload.rival(name))),
        ]

    def traced(self, text: str, semantics: str, encoding: str) -> Callable[[], DataFrame]:
        """Return what runs a text with lineage, its sets in that encoding."""

        def prepare() -> DataFrame:
            self.spark.conf.set(_ENCODING, encoding)
            return self.lineage.sql(text, semantics=semantics)

        return prepare


def measure(
    spark: SparkSession,
    *,
    folder: Path,
    queries: Sequence[str],
    workload: Workload = TPCH,
    runs: int,
    semantics: str = "data",
    encodings: Sequence[str] = ("auto",),
    warm_up: int = 1,
) -> list[Comparison]:
    """Compare the variants of each query over a folder of the workload's tables."""
    with tempfile.TemporaryDirectory() as home:
        sessions = Sessions.over(workload, spark, folder, Path(home))
        work = [(name, sessions.variants(name, semantics, encodings)) for name in queries]
        return compare_all(spark, work, runs=runs, warm_up=warm_up)


def _chosen(workload: Workload, queries: str) -> Sequence[str]:
    if queries == "all":
        return workload.names
    wanted = [name.strip().lower() for name in queries.split(",")]
    unknown = [name for name in wanted if name not in workload.names]
    if unknown:
        known = ", ".join(workload.names)
        raise click.BadParameter(f"{', '.join(unknown)}: not among {known}, or all", param_hint="--queries")
    return wanted


def _encodings(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    wanted = tuple(name.strip() for name in value.split(","))
    unknown = [name for name in wanted if name not in {"auto", "bdd", "set"}]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}: not among auto, bdd, set")
    return wanted


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--workload", default="tpch", show_default=True, type=click.Choice(list(WORKLOADS)))
@click.option("--scale", default=1.0, show_default=True, help="Of the data; 1 is the paper's size.")
@click.option("--queries", default="q1,q3,q6,q10", show_default=True, help="Names, or all.")
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Timed runs of each variant.")
@click.option("--semantics", default="data", show_default=True, type=click.Choice(["data", "control"]))
@click.option("--encodings", default="auto", show_default=True, callback=_encodings, help="Any of auto,bdd,set.")
@click.option("--memory", default="6g", show_default=True, help="Heap of the Spark driver.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write everything measured to this file.")
def main(
    workload: str,
    scale: float,
    queries: str,
    runs: int,
    semantics: str,
    encodings: tuple[str, ...],
    memory: str,
    json_file: Path | None,
) -> None:
    """Measure, print the ratios, and write the record."""
    console = Console()
    chosen = WORKLOADS[workload]
    names = _chosen(chosen, queries)
    try:
        folder = chosen.generate(scale)
        spark = local_session("capture overhead", driver_memory=memory)
        comparisons = measure(
            spark,
            folder=folder,
            queries=names,
            workload=chosen,
            runs=runs,
            semantics=semantics,
            encodings=encodings,
        )
        spark.stop()
    except LineageError as error:
        raise click.ClickException(str(error)) from None
    what = f"{chosen.name} at scale {scale:g}, {semantics} lineage"
    title = f"{what}: time over the query without, medians of {runs} interleaved runs"
    console.print(table_of_ratios(title, comparisons))
    for line in refusals(comparisons):
        console.print(line, highlight=False, markup=False)
    if json_file:
        record = {
            "workload": workload,
            "scale": scale,
            "semantics": semantics,
            "runs": runs,
            "spark": spark.version,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "comparisons": as_json(comparisons),
        }
        json_file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
