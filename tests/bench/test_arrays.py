"""The bench of array lineage: both sides are of the same relations, and what is worse is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from forward_lineage.relations.algebra import compose
from forward_lineage.relations.lattice import LatticeBoxes
from forward_lineage.relations.lattice_cells import boxes_of_numbers, cells_in
from tests.bench.arrays import chains, encoding, operations, pipelines, questions, rivals, sizes


def test_operations_have_the_pairs_of_the_paper() -> None:
    assert sum(each.cardinality for each in operations.matrix_matrix()) == 2_000_000_000
    (masked,) = operations.explanation(201, 926_000)
    assert masked.first.shape[0] == 201 and abs(masked.cardinality - 926_000) < 10_000
    (grouped,) = operations.group_by(500, 3, 10)
    assert grouped.cardinality == 1500 and len(grouped.ids()) == 1500
    left, _, right, beside = operations.inner_join(1000)
    assert left.cardinality / 9 == right.cardinality / 4 == beside.cardinality / 4
    assert abs(left.cardinality / 9 - 1000) < 60


def test_rivals_hold_the_same_pairs(tmp_path: Path) -> None:
    (relation,) = operations.repetition(2, 30)
    table = rivals.table_of(relation)
    assert table.num_rows == relation.cardinality == 240 and table.column_names == ["b0", "b1", "b2", "b3", "a0", "a1"]
    found = rivals.sizes(relation, tmp_path)
    assert set(found) == {"raw", "parquet", "parquet_gzip", "provrc_gzip"} and min(found.values()) > 0


def test_rivals_write_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "BATCH", 50)
    (boxes,) = operations.repetition(2, 30)
    relations = operations.inner_join(100)
    for relation in (boxes, relations[0], *operations.joined_pairs(relations)):
        parts = [np.concatenate(side) for side in zip(*rivals.batches(relation), strict=True)]
        assert all(map(np.array_equal, parts, relation.pairs()))
        assert rivals.sizes(relation, tmp_path)["raw"] > 0
    composed = [compose(relations[1], relations[0]), compose(relations[3], relations[2])]
    for listed, whole in zip(operations.joined_pairs(relations), composed, strict=True):
        assert all(map(np.array_equal, listed.pairs(), whole.pairs()))


def test_random_chains_are_asked_from_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether both sides name as many cells is looked at by the bench itself."""
    monkeypatch.setattr(chains, "SHAPE", (12, 10))
    monkeypatch.setattr(chains, "LEAST_CELLS", 4)
    found = chains.measure(1, 2)
    assert len(found) == 2 * 2 * 2 * len(chains.SHARES)
    assert all(len(each["names"]) == each["length"] for each in found) and any(each["cells"] for each in found)
    console = Console(record=True, width=250)
    chains.show(console, [{**each, "ours": 2.0, "duckdb": 1.0} for each in found])
    text = console.export_text()
    assert "mean below 20 times; slower than DuckDB in a chain" in text and "slowest: 0.50 times" in text


def test_both_ways_name_the_same_cells(tmp_path: Path) -> None:
    path = pipelines.relational(300)
    joins = rivals.Joins(path, tmp_path)
    shape = path[0][0].in_shape
    for cells in (np.arange(40, 90), np.arange(9 * shape[0])):
        asked = boxes_of_numbers(shape, cells)
        assert cells_in(questions.forward(path, asked)) == joins.forward(cells) > 0


def test_pipelines_end_where_they_should() -> None:
    for path in (pipelines.image(), pipelines.resnet()):
        found = questions.forward(path, LatticeBoxes.everything(path[0][0].in_shape))
        assert cells_in(found) == {(6,): 6, operations.IMAGE: 416 * 416}[path[-1][0].out_shape]


def test_what_is_worse_is_said() -> None:
    good = {"name": "sort", "ours": 2_100_000, "relations": 1, "structured": False, "pairs": 10}
    assert sizes.worse(good) == []
    assert sizes.worse({**good, "ours": 2_800_000}) == ["above the bar of 2.2 MB", "larger than the paper's"]
    assert sizes.worse({**good, "rivals": {"parquet": 5}}) == ["larger than parquet"]
    slow = {"name": "negative", "ours": 300, "relations": 1, "structured": True, "capture_ms": 2, "capture_bytes": 10}
    assert sizes.worse(slow) == ["above the bar of 0.0002 MB", "capture takes 1 ms or more"]
    console = Console(record=True, width=250)
    took = {"rule": 1, "pairs": 3, "parquet": 2, "parquet_gzip": 4}
    encoding.show(console, [{"kind": "k", "cells": 5, **took, **{f"{name}_own": each for name, each in took.items()}}])
    questions.show(
        console,
        [
            {
                "pipeline": "image",
                "way": "forward",
                "share": 0.2,
                "cells": 3,
                "boxes": 1,
                "ours": 20,
                "own": 3,
                "duckdb": 10,
                "duckdb_own": 9,
            }
        ],
    )
    sizes.show(console, [{**slow, "pairs": 10}])
    text = console.export_text()
    assert "the encoder is slower than parquet (clock)" in text and "slower than DuckDB; more than 10 ms" in text
    assert "capture takes 1 ms or more" in text
