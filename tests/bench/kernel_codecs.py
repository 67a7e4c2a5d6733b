"""The kernel's codecs alone: ns an id to build and to read 1,000,000 random ids, and RoaringBitmap's own build.

    python -m tests.bench.kernel_codecs --bits 23,32,62

The ids are random below 2^bits and come unsorted; building is adding them one by one and writing the bytes.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from udafs.build import build_kernel, class_path, compile_scala, java

_SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))
_MAIN = "org.apache.spark.sql.forwardlineage.CodecBench"


def measure(bits: str) -> list[tuple[int, str, float, int]]:
    """Return (bits, what, median ns an id, bytes of the value; 0 where there is none)."""
    kernel = build_kernel()
    with tempfile.TemporaryDirectory() as folder:
        compile_scala(_SOURCES, Path(folder), [kernel])
        command = [java(), "-Xmx2g", "-cp", class_path(Path(folder), kernel), _MAIN, *bits.split(",")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(int(b), what, float(ns), int(size)) for b, what, ns, size in rows]


@click.command(help=__doc__)
@click.option("--bits", default="23,32", show_default=True, help="Bit lengths of the ids.")
def main(bits: str) -> None:
    table = Table("ids below", "what", "ns an id", "over RoaringBitmap's build", "bytes an id")
    base: dict[int, float] = {}
    for b, what, ns, size in measure(bits):
        base.setdefault(b, ns)
        ratio = f"{ns / base[b]:.2f}" if what.startswith("build") else ""
        table.add_row(f"2^{b}", what, f"{ns:.1f}", ratio, f"{size / 1e6:.2f}" if size else "")
    Console().print(table)


if __name__ == "__main__":
    main()
