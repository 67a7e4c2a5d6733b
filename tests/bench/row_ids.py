"""What row ids cost: scans with ids by position over the same scans without, and registering.

    python -m tests.bench.row_ids [--scale 1] [--files 1000] [--runs 7] [--json FILE]

Two layouts of TPC-H lineitem: one large file, and the same rows in many small files. The scan with ids computes the id
of every row; ratios are medians of interleaved runs in one session, the bar is 1.10.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
from pyarrow import parquet
from pyspark.sql import SparkSession
from rich.console import Console

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.bench.harness import Comparison, Turns, Variant, compare
from tpch_queries.data import generate

# title → columns and condition; Spark's own `row_index`, which ids are made from, is measured beside
SCANS = {
    "all columns": ("*", ""),
    "3 columns": ("l_orderkey, l_extendedprice, l_shipdate", ""),
    "1 year": ("*", "WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1995-12-31'"),
}


@click.command()
@click.option("--scale", type=float, default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--files", type=int, default=1000, show_default=True, help="Number of small files.")
@click.option("--runs", type=int, default=7, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(scale: float, files: int, runs: int, json_path: Path | None) -> None:
    """Measure and print."""
    console = Console()
    lineitem = generate(scale) / "lineitem.parquet"
    with tempfile.TemporaryDirectory(prefix="row_ids-") as scratch:
        spark = local_session("row ids", master="local[2]", driver_memory="4g", log=Path(scratch) / "spark.log")
        try:
            figures = measure(spark, lineitem, Path(scratch), files, runs, console)
        finally:
            spark.stop()
    if json_path is not None:
        json_path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def measure(
    spark: SparkSession, lineitem: Path, scratch: Path, files: int, runs: int, console: Console
) -> dict[str, float]:
    """Return ratios of scans and seconds of registrations by name, printing them on the way."""
    lineage = ForwardLineage(spark, scratch / "home")
    small = split(lineitem, scratch / "small", files)
    figures: dict[str, float] = {}
    for name, path in (("one file", lineitem), (f"{files} files", small)):
        figures[f"register {name}, seconds"] = seconds(lambda p=path: lineage.register("lineitem", path=p))  # type: ignore[misc]
        compared = scans(lineage, name, runs)
        for title in SCANS:
            figures[f"{title}, {name}: with ids"] = ratio(compared, f"{title} with ids", title)
            figures[f"{title}, {name}: Spark's own row index"] = ratio(compared, f"{title} with row_index", title)
    orders = lineitem.with_name("orders.parquet")
    figures["register orders by key, seconds"] = seconds(
        lambda: lineage.register("orders", path=orders, key="o_orderkey")
    )
    figures["register orders by key, trusted, seconds"] = seconds(
        lambda: lineage.register("orders", path=orders, key="o_orderkey", trusted=True)
    )
    for name, value in figures.items():
        console.print(f"{name:<52} {value:6.2f}")
    return figures


def scans(lineage: ForwardLineage, name: str, runs: int) -> Comparison:
    """Compare scans of the registered table with and without ids."""
    base = lineage.registrations.base_table(lineage.tables()["lineitem"])
    spark = lineage.spark
    texts = {}
    for title, (columns, where) in SCANS.items():
        texts[title] = f"SELECT {columns} FROM {base.relation} {where}"
        texts[f"{title} with ids"] = f"SELECT {columns}, {base.row_id} AS id FROM {base.relation} {where}"
        texts[f"{title} with row_index"] = f"SELECT {columns}, _metadata.row_index AS id FROM {base.relation} {where}"
    variants = [Variant(title, lambda sql=sql: spark.sql(sql)) for title, sql in texts.items()]  # type: ignore[misc]
    return compare(spark, name, variants, Turns(runs))


def ratio(compared: Comparison, variant: str, base: str) -> float:
    """Return one variant's median over another's."""
    medians = {timing.variant: timing.median for timing in compared.timings}
    above, below = medians[variant], medians[base]
    assert above is not None and below is not None
    return above / below


def split(source: Path, folder: Path, files: int) -> Path:
    """Write the rows of a Parquet file as many small files, in order."""
    folder.mkdir()
    whole = parquet.ParquetFile(source)
    rows = -(-whole.metadata.num_rows // files)
    for number, batch in enumerate(whole.iter_batches(batch_size=rows)):
        writer = parquet.ParquetWriter(folder / f"{number:05d}.parquet", batch.schema)
        with writer:
            writer.write_batch(batch)
    return folder


def seconds(work: object) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
