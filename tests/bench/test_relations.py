"""The bench of stored relations: its figures are of the relation it says, and both forms are asked."""

from __future__ import annotations

import pyarrow as pa
from rich.console import Console

from forward_lineage.relations.runs import RunsRelation
from tests.bench.relations import measure, print_tables, roaring_size
from udafs.lineage_set import LineageSet


def test_figures_of_a_small_relation() -> None:
    column = [LineageSet(range(row, row + 50)).to_bytes() for row in range(40)] + [LineageSet().to_bytes()]
    found = measure(pa.chunked_array([pa.array(column)]), runs=1)
    assert (found["rows"], found["pairs"], found["sets"]) == (41, 2000, 40)
    assert found["bytes"]["int32"] == 8000
    assert found["bytes"]["DL values"] == sum(map(len, column))
    assert found["bytes"]["segment"] == min(found["bytes"]["runs"], found["bytes"]["bdd"])
    assert set(found["warm_ms"]) == {"runs", "bdd"}
    console = Console(record=True, width=200)
    print_tables(console, [{"query": "q", "table": "t", **found}])
    assert "2,000" in console.export_text()


def test_a_table_without_lineage() -> None:
    found = measure(pa.chunked_array([pa.array([LineageSet().to_bytes()] * 3)]), runs=1)
    assert found["pairs"] == 0 and found["over_smallest"] is None


def test_roaring_counts_a_bitmap_a_row() -> None:
    one = roaring_size(RunsRelation.from_pairs([0], [5]))
    assert roaring_size(RunsRelation.from_pairs([0, 1], [5, 5])) == 2 * one
