"""LINEAGE ON RANGES: where ranges begin, what ids mean, now and in a saved result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.columns.ranges import Partition
from forward_lineage.tracing import column_ranges
from tests.forward_lineage.sketches.columns import TYPES, drawn, key


@pytest.fixture
def table(lineage: ForwardLineage, tmp_path: Path) -> pa.Table:
    columns = {name: drawn(name, 300, 2) for name in TYPES}
    made = pa.table({"n": pa.array(range(300)), **columns, "flag": pa.array([True] * 300)})
    pq.write_table(made, tmp_path / "t.parquet")
    lineage.register("t", path=str(tmp_path / "t.parquet"))
    return made


def test_ranges_of_every_type_are_found_and_read_back(lineage: ForwardLineage, table: pa.Table) -> None:
    for name in TYPES:
        frame = lineage.sql(f"SELECT n, {name} AS v FROM t LINEAGE ON RANGES({name}, 6)")
        ids = {row.n: row.ids[0] for row in frame.selectExpr("n", "dl_ids(DL.t) AS ids").collect()}
        tables = lineage._parts.tables
        bounds = column_ranges.KnownRanges(tables).bounds(tables.base_table(tables.registered("t")), name, 6)
        partition = Partition("t", name, bounds)
        assert ids == dict(enumerate(partition.fragments_of(table[name]).tolist()))
        shown = {row.n: row.DL.t[0] for row in lineage.granules(frame).collect()}
        for n, fragment in ids.items():
            if fragment == 0:
                assert shown[n] is None
            elif name != "time":  # which Python shows in its own zone
                assert [*map(key, shown[n])] == [*map(key, partition.interval(fragment))], name


def test_a_sample_tells_where_ranges_begin(
    lineage: ForwardLineage, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_ranges, "_LEAST", 400)
    monkeypatch.setattr(column_ranges, "_SAMPLED", 40)
    pq.write_table(pa.table({"n": pa.array(range(4000)), "k": [i % 7 for i in range(4000)]}), tmp_path / "big.parquet")
    lineage.register("big", path=str(tmp_path / "big.parquet"))
    tables = lineage._parts.tables
    big, known = tables.base_table(tables.registered("big")), column_ranges.KnownRanges(tables)
    sizes = Counter(Partition("big", "n", known.bounds(big, "n", 10)).fragments_of(pa.array(range(4000))).tolist())
    assert len(sizes) == 10 and max(sizes.values()) < 800
    assert known.bounds(big, "k", 10).to_pylist() == [1, 2, 3, 4, 5, 6]  # each value its own, however few were seen
    assert known.bounds(big, "n", 10) is known.bounds(big, "n", 10)


def test_a_saved_result_keeps_what_its_ranges_were(lineage: ForwardLineage, table: pa.Table) -> None:
    lineage.save("SELECT tiny, count(*) AS c FROM t GROUP BY tiny LINEAGE ON RANGES(n, 3)", "few")
    lineage.save("SELECT n FROM t WHERE n = 250 LINEAGE ON RANGES(n, 3)", "one")
    (granule,) = lineage.backward("one").select("*").collect()
    assert granule[0][0] == 200
    assert lineage.backward("few").count() == 3


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("RANGES(flag, 3)", "no ranges of .*bool"),
        ("RANGES(n, 3), n", "something else over the same table"),
        ("RANGES(n, 0)", "0 ranges"),
    ],
)
def test_what_is_refused(lineage: ForwardLineage, table: pa.Table, clause: str, said: str) -> None:
    with pytest.raises(LineageError, match=said):
        lineage.sql(f"SELECT n FROM t LINEAGE ON {clause}")
