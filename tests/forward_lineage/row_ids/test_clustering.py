"""What `forward-lineage ids` foretells of an id order is what a copy in that order has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.cli.ids import measure_orders
from forward_lineage.row_ids.clustering import ranks_under

KEYS = "l_shipdate, l_orderkey DESC, l_linenumber"
QUERY = "SELECT l_shipmode, sum(l_tax) FROM {table} WHERE l_shipdate < DATE '1993-01-01' GROUP BY l_shipmode"


def test_figures_of_an_order_are_those_of_a_copy(lineage: ForwardLineage, tpch: Path) -> None:
    lineage.register("lineitem", path=tpch / "lineitem.parquet")
    lineage.register("by_day", source="lineitem", order_by=KEYS.split(", "))
    (_, plain), (_, foretold) = measure_orders(lineage, QUERY.format(table="lineitem"), "data", [("lineitem", KEYS)])
    [(_, copied)] = measure_orders(lineage, QUERY.format(table="by_day"), "data", [])
    assert replace(foretold, order=None) == copied
    assert (foretold.rows, foretold.ids, foretold.replication) == (plain.rows, plain.ids, plain.replication)
    assert foretold.clustering > plain.clustering
    assert foretold.size < plain.size


def test_ranks_are_dense(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    ranks = ranks_under(lineage.rows("t"), ["v DESC"])
    assert {row.id: row.rank for row in ranks.collect()} == {5: 0, 4: 1, 3: 2, 2: 3, 1: 4, 0: 5}
    nothing = ranks_under(lineage.rows("t").where("v < 0"), ["v"])
    assert nothing.count() == 0


def test_a_column_called_row_id(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW odd AS SELECT 9 - id AS k, id AS row_id FROM range(4)")
    lineage.register("odd", key="k")
    assert lineage.rows("odd").columns == ["_row_id", "k", "row_id"]
    ranks = ranks_under(lineage.rows("odd"), ["row_id"])
    assert {row.id: row.rank for row in ranks.collect()} == {9: 0, 8: 1, 7: 2, 6: 3}


def test_what_cannot_be_measured(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    with pytest.raises(LineageError, match=r"^the query does not trace s\. It traces t\.$"):
        measure_orders(lineage, "SELECT v FROM t", "data", [("s", "v")])
    with pytest.raises(LineageError, match="`w` cannot be resolved"):
        measure_orders(lineage, "SELECT v FROM t", "data", [("t", "w")])
