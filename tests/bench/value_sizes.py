"""How `auto` chooses: bytes of the lineage of each TPC-H query under every encoding.   [Zhang 2007, Figures 4 and 5]

    python -m tests.bench.value_sizes --scale 0.1

The paper compares sets of 4-byte ids with BDDs; beside both: delta varints, Roaring, and `auto`, value by value.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.local import local_session
from tests.bench.workloads import TPCH
from udafs.lineage_set import LineageSet

ENCODINGS = ("bdd", "roaring", "set")


def bytes_of(column: pa.ChunkedArray) -> dict[str, int]:
    """Bytes of a column of lineage values: as it is ("auto"), as int32 lists, and under each encoding."""
    total = dict.fromkeys(("auto", "int32", *ENCODINGS), 0)
    for value in column:
        if value.is_valid:
            ids = LineageSet.from_bytes(value.as_buffer())
            total["auto"] += len(value.as_buffer())
            total["int32"] += 4 * len(ids)
            for encoding in ENCODINGS:
                total[encoding] += len(ids.to_bytes(encoding))  # type: ignore[arg-type]
    return total


def measure(lineage: ForwardLineage, query: str) -> dict[str, int]:
    """Bytes of a query's lineage over all its base tables, ids in the order of the files."""
    fields = lineage.sql(TPCH.query(query)).select("DL.*").toArrow()
    columns = [bytes_of(column) for column in fields.columns]
    return {name: sum(column[name] for column in columns) for name in columns[0]}


def overhead(sizes: dict[str, int]) -> float:
    """What `auto` takes over the smallest of the others, the bar being 1.1."""
    smallest = min(sizes[name] for name in sizes if name != "auto")
    return sizes["auto"] / smallest if smallest else 1.0


@click.command(help=__doc__)
@click.option("--scale", default=0.1, show_default=True, help="TPC-H scale factor.")
@click.option("--query", "names", multiple=True, help="Only these queries, e.g. q9.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(scale: float, names: tuple[str, ...], json_path: Path | None) -> None:
    folder = TPCH.generate(scale)
    table = Table("query", "int32", *ENCODINGS, "auto", "auto / smallest", title=f"bytes, scale {scale:g}")
    figures: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        spark = local_session("sizes", master="local[2]", driver_memory="2g", log=Path(scratch) / "spark.log")
        lineage = ForwardLineage(spark, Path(scratch) / "home")
        for name in TPCH.tables:
            lineage.register(name, path=folder / f"{name}.parquet")
        for query in names or TPCH.names:
            try:
                sizes = figures[query] = measure(lineage, query)
            except LineageError as refusal:
                table.add_row(query, f"refused: {refusal}")
                continue
            row = (sizes["int32"], *(sizes[encoding] for encoding in ENCODINGS), sizes["auto"])
            table.add_row(query, *(f"{each:,}" for each in row), f"{overhead(sizes):.2f}")
        spark.stop()
    Console(width=110).print(table)
    if json_path is not None:
        json_path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
