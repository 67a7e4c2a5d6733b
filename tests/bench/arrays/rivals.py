"""What the paper compares with: pairs of cells in Parquet, a column for each axis, joined by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.provrc import encode
from forward_lineage.relations.relation import LineageRelation

ArrayRelation = BoxRelation | GatherRelation
Numbers = npt.NDArray[np.int64]


def table_of(relation: ArrayRelation) -> pa.Table:
    """All pairs, with a column for each output axis and each input axis."""
    rows, ids = relation.pairs()
    columns = {}
    for letter, shape, numbers in (("b", relation.out_shape, rows), ("a", relation.in_shape, ids)):
        for axis, places in enumerate(np.unravel_index(numbers, shape) if shape else ()):
            columns[f"{letter}{axis}"] = places
    return pa.table(columns)


def sizes(relation: ArrayRelation, folder: Path) -> dict[str, int]:
    """Bytes of the pairs as CSV, Parquet, Parquet with gzip, and of the paper's table with gzip."""
    table = table_of(relation)
    csv.write_csv(table, folder / "raw.csv")
    pq.write_table(table, folder / "pairs.parquet", compression="none")
    pq.write_table(table, folder / "pairs.gz.parquet", compression="gzip")
    boxes = encode(relation.out_shape, relation.in_shape, *relation.pairs())
    rows = pa.table({f"c{place}": column for place, column in enumerate(_as_the_paper(boxes))})
    pq.write_table(rows, folder / "provrc.parquet", compression="gzip")
    files = {
        "raw": "raw.csv",
        "parquet": "pairs.parquet",
        "parquet_gzip": "pairs.gz.parquet",
        "provrc_gzip": "provrc.parquet",
    }
    return {name: (folder / file).stat().st_size for name, file in files.items()}


def _as_the_paper(boxes: BoxRelation) -> list[Numbers]:
    """The columns of a backward table: corners of the output, ranges of the input, and what these are relative to."""
    sides = [boxes.first, boxes.last - boxes.first, boxes.axis, boxes.low.scale]
    sides += [boxes.low.offset, boxes.high.offset - boxes.low.offset, boxes.high.scale - boxes.low.scale]
    return [column for side in sides for column in side.T]


class Joins:
    """A path of relations as Parquet files, asked by DuckDB; cells by their numbers, which is kinder to it."""

    def __init__(self, path: Sequence[Sequence[LineageRelation]], folder: Path) -> None:
        """Write the pairs of each step, from the first array to the last."""
        self.files = []
        for place, step in enumerate(path):
            file = folder / f"step{place}.parquet"
            parts = [pa.table(dict(zip(("b", "a"), each.pairs(), strict=True))) for each in step]
            pq.write_table(pa.concat_tables(parts), file)
            self.files.append(file)
        self.database = duckdb.connect()

    def forward(self, cells: Numbers) -> int:
        """How many cells of the last array are made of some of the first: a join a step, duplicates gone after each."""
        return self._joined(cells, self.files, "a", "b")

    def backward(self, cells: Numbers) -> int:
        """How many cells of the first array some of the last are made of."""
        return self._joined(cells, self.files[::-1], "b", "a")

    def _joined(self, cells: Numbers, files: Sequence[Path], known: str, wanted: str) -> int:
        self.database.register("cells", pa.table({"n": cells}))
        query = "SELECT n FROM cells"
        for file in files:
            query = f"SELECT DISTINCT s.{wanted} AS n FROM '{file}' s SEMI JOIN ({query}) q ON s.{known} = q.n"
        return int(self.database.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0])
