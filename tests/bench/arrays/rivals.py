"""What the paper compares with: pairs of cells in Parquet, a column for each axis, joined by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.lattice_cells import boxes_of
from forward_lineage.relations.provrc import encode
from forward_lineage.relations.relation import LineageRelation

ArrayRelation = BoxRelation | GatherRelation
Numbers = npt.NDArray[np.int64]


#: Rivals write so many pairs at a time: a join of the paper's size has 82 million.
BATCH = 1 << 22


class Listed(NamedTuple):
    """A relation between arrays as its pairs, for rivals that have nothing else."""

    out_shape: tuple[int, ...]
    in_shape: tuple[int, ...]
    rows: Numbers
    ids: Numbers

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Both."""
        return self.rows, self.ids


Rival = ArrayRelation | Listed


def batches(relation: LineageRelation | Listed) -> Iterator[tuple[Numbers, Numbers]]:
    """All pairs, in parts; of large boxes a part of the output's first axis at a time."""
    if isinstance(relation, BoxRelation) and relation.out_shape and relation.cardinality > BATCH:
        size = relation.out_shape[0]
        step = max(size * BATCH // relation.cardinality, 1)
        for first in range(0, size, step):
            yield relation.of_cells(boxes_of(relation.out_shape, slice(first, first + step))).pairs()
        return
    rows, ids = relation.pairs()
    for first in range(0, max(rows.size, 1), BATCH):
        yield rows[first : first + BATCH], ids[first : first + BATCH]


def table_of(relation: Rival, rows: Numbers | None = None, ids: Numbers | None = None) -> pa.Table:
    """All pairs, or some, with a column for each output axis and each input axis."""
    if rows is None or ids is None:
        rows, ids = relation.pairs()
    columns = {}
    for letter, shape, numbers in (("b", relation.out_shape, rows), ("a", relation.in_shape, ids)):
        for axis, places in enumerate(np.unravel_index(numbers, shape) if shape else ()):
            columns[f"{letter}{axis}"] = places
    return pa.table(columns)


def sizes(relation: Rival, folder: Path) -> dict[str, int]:
    """Bytes of the pairs as CSV, Parquet, Parquet with gzip, and of the paper's table with gzip."""
    files = {"raw": "raw.csv", "parquet": "pairs.parquet", "parquet_gzip": "pairs.gz.parquet"}
    paths = {name: folder / file for name, file in files.items()}
    with ExitStack() as stack:
        writers: list[Any] = []
        for part in batches(relation):
            table = table_of(relation, *part)
            if not writers:
                writers.append(stack.enter_context(csv.CSVWriter(paths["raw"], table.schema)))
                for name, compression in (("parquet", "none"), ("parquet_gzip", "gzip")):
                    writers.append(
                        stack.enter_context(pq.ParquetWriter(paths[name], table.schema, compression=compression))
                    )
            for writer in writers:
                writer.write_table(table)
    boxes = encode(relation.out_shape, relation.in_shape, *relation.pairs())
    rows = pa.table({f"c{place}": column for place, column in enumerate(_as_the_paper(boxes))})
    paths["provrc_gzip"] = folder / "provrc.parquet"
    pq.write_table(rows, paths["provrc_gzip"], compression="gzip")
    return {name: path.stat().st_size for name, path in paths.items()}


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
            with pq.ParquetWriter(file, pa.schema([("b", pa.int64()), ("a", pa.int64())])) as writer:
                for each in step:
                    for rows, ids in batches(each):
                        writer.write_table(pa.table({"b": rows, "a": ids}))
            self.files.append(file)
        self.database = duckdb.connect(config={"memory_limit": "3GB", "temp_directory": str(folder / "spilled")})

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
