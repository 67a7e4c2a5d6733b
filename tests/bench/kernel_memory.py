"""The least heap in which one group of very many ids can be united, beside `collect_list`; and whether 60M fit into 6g.

    python -m tests.bench.kernel_memory --ids 6000000

Each attempt is a Spark of its own with that heap. "random" ids are all below their number, in no order at all,
"scattered" ones anywhere below 2^40, "clustered" ones come in runs of 100. What Spark itself needs is in every figure.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

_ONE_GROUP = """
import sys, time
from pathlib import Path
from forward_lineage.spark.local import local_session
from udafs.attach import attach

heap, expression, ids, count, log = sys.argv[1:]
spark = local_session("memory", master="local[2]", driver_memory=heap, log=Path(log))
attach(spark)
start = time.perf_counter()
size = "size" if "collect" in expression else "octet_length"
query = f"SELECT {size}({expression}) FROM (SELECT {ids} AS id FROM range(0, {count}, 1, 8))"
print(spark.sql(query).first()[0], f"{time.perf_counter() - start:.1f}")
"""
# A multiplier that is odd and prime to `count` makes a permutation: random in order, each id once.
_SHAPES = {
    "random": "(id * 2654435761) % {count}",
    "scattered": "shiftrightunsigned(xxhash64(id), 24)",
    "clustered": "(id div 100) * 250 + id % 100",
}
_FUNCTIONS = {"dlunion": "dlunion(id)", "collect_list": "collect_list(id)"}


def attempt(heap_mb: int, function: str, shape: str, count: int) -> str | None:
    """Return what the query printed (size of the value, seconds); None when the heap is too small."""
    with tempfile.TemporaryDirectory() as folder:
        ids = _SHAPES[shape].format(count=count)
        arguments = [f"{heap_mb}m", _FUNCTIONS[function], ids, str(count), str(Path(folder) / "log")]
        command = [sys.executable, "-c", _ONE_GROUP, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def least_heap(function: str, shape: str, count: int, heaps: list[int]) -> str:
    """Return the first of `heaps` (MB, ascending) that does."""
    for heap in heaps:
        if attempt(heap, function, shape, count) is not None:
            return f"{heap} MB"
    return f"more than {heaps[-1]} MB"


@click.command(help=__doc__)
@click.option("--ids", "count", default=6_000_000, show_default=True, help="Ids in the one group.")
@click.option("--heaps", default="512,640,768,1024,1536,2048", show_default=True, help="MB to try, ascending.")
@click.option(
    "--large", default=60_000_000, show_default=True, help="Ids of the group that must fit into 6g; 0 for none."
)
def main(count: int, heaps: str, large: int) -> None:
    console = Console()
    tried = [int(heap) for heap in heaps.split(",")]
    table = Table("ids", *_FUNCTIONS, title=f"least heap for one group of {count:,} ids")
    for shape in _SHAPES:
        table.add_row(shape, *(least_heap(function, shape, count, tried) for function in _FUNCTIONS))
    console.print(table)
    if large:
        found = attempt(6144, "dlunion", "clustered", large)
        console.print(f"{large:,} clustered ids in 6g (bytes, seconds): {found or 'does not fit'}")


if __name__ == "__main__":
    main()
