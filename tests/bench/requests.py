"""How many requests a table costs on a store far away: `counted:` lists folders, `flat:` trees, in pages of 1,000.

    python -m tests.bench.requests [--files 10000] [--latency 5]

Two layouts: one folder, and a folder for each hundred files (`p=…`). Requests are Spark's and ours; footers are opened.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
from pyarrow import parquet

from forward_lineage import ForwardLineage
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.spark.local import local_session
from tests.forward_lineage.row_ids.counted_files import CountedFiles
from udafs.attach import attach

_KINDS = ("status", "list", "open", "checksum")


@click.command()
@click.option("--files", type=int, default=10_000, show_default=True)
@click.option("--latency", type=int, default=5, show_default=True, help="Of a request, in milliseconds.")
def main(files: int, latency: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="requests-") as scratch:
        folder = Path(scratch)
        spark = local_session("requests", master="local[2]", driver_memory="3g", log=folder / "spark.log")
        try:
            attach(spark)
            store = CountedFiles(spark, folder)
            print("layout", "step", *_KINDS, "seconds", sep=" | ")
            for layout, in_folder in (("counted: one folder", 0), ("flat: a folder for 100 files", 100)):
                place = written(folder / f"t{in_folder}", files, in_folder)
                scheme = layout.partition(":")[0]
                lineage = ForwardLineage(spark, folder / f"home{in_folder}")
                store.plan.reset()
                store.plan.latency(latency)
                for step, work in steps(lineage, f"{scheme}:{place}", place):
                    start = time.perf_counter()
                    work()
                    spent = time.perf_counter() - start
                    asked = store.requests()
                    print(layout, step, *(f"{asked[kind]:,}" for kind in _KINDS), f"{spent:.1f}", sep=" | ", flush=True)
        finally:
            spark.stop()


def steps(lineage: ForwardLineage, address: str, place: Path) -> list[tuple[str, Callable[[], object]]]:
    """What is asked of a table, one after the other."""
    spark = lineage.spark
    one = next(iter(sorted(place.rglob("*.parquet"))))
    return [
        ("spark.read.parquet", lambda: spark.read.parquet(address)),
        ("register", lambda: lineage.register("t", path=address)),
        ("is it unchanged?", lambda: check_unchanged(spark, lineage.tables()["t"])),
        ("a query, planned", lambda: lineage.sql("SELECT v FROM t")),
        ("ten new files", lambda: [shutil.copy(one, one.with_name(f"new-{n}.parquet")) for n in range(10)]),
        ("refresh", lambda: lineage.refresh("t")),
        ("a new session", lambda: ForwardLineage(spark.newSession(), lineage.home)),
    ]


def written(folder: Path, files: int, in_folder: int) -> Path:
    """Write one-row files, all in one folder or so many in each."""
    folder.mkdir()
    parquet.write_table(pa.table({"v": pa.array([1], pa.int64())}), folder / "_one")
    data = (folder / "_one").read_bytes()
    (folder / "_one").unlink()
    for number in range(files):
        within = folder / f"p={number // in_folder:05d}" if in_folder else folder
        within.mkdir(exist_ok=True)
        (within / f"{number:07d}.parquet").write_bytes(data)
    return folder


if __name__ == "__main__":
    main()
