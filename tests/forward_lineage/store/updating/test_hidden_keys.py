"""Keys that are not selected: of which queries they can be told, and that the right parts are made again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.updating.hidden_keys import NUMBER
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, NotProvableError
from forward_lineage.store.updating.replacement_rules import Keyed, replacement
from tests.forward_lineage.store.updating.full_run import as_saved, full_run
from tests.shared_state import drop_views


@pytest.mark.parametrize(
    ("sql", "hidden"),
    [
        (
            "SELECT max(n) FROM sales x JOIN shops s ON x.shop = s.shop WHERE n > 1 GROUP BY s.city, s.street, x.n",
            f"SELECT {NUMBER}, s.city AS __fl_k0, s.street AS __fl_k1 FROM {PLACE} AS s",
        ),
        (
            "SELECT n, rank() OVER (PARTITION BY upper(item) ORDER BY n) FROM sales",
            f"SELECT {NUMBER}, upper(item) AS __fl_k0 FROM {PLACE} AS sales",
        ),
    ],
)
def test_hidden_keys(sql: str, hidden: str) -> None:
    found = replacement(parse(sql).tree, {"sales"}, {"sales"})
    assert isinstance(found, Keyed) and found.hidden is not None and found.columns == ()
    assert found.hidden.sql == hidden and KEYS in found.sql
    assert len(found.names) == len(found.hidden.keys)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM sales x JOIN sales y ON x.n = y.m GROUP BY x.item",
        "SELECT count(*) FROM shops s LEFT JOIN sales x ON s.shop = x.shop GROUP BY x.item",
        "SELECT count(*) FROM sales x RIGHT JOIN shops s ON s.shop = x.shop GROUP BY x.item",
        "SELECT count(*) FROM shops s JOIN sales x USING (shop) GROUP BY shop",
        "SELECT count(*) FROM shops s NATURAL JOIN sales x GROUP BY item",
        "SELECT DISTINCT count(*) FROM sales GROUP BY item",
        "SELECT count(*) FROM sales GROUP BY item UNION ALL SELECT 1 FROM shops",
        "SELECT count(*) FROM (SELECT item FROM sales) d GROUP BY item",
        "SELECT count(*) FROM sales x JOIN shops s ON s.shop = x.shop GROUP BY x.a + s.b",
        "SELECT count(*) FROM sales GROUP BY rand()",
        "SELECT count(*) FROM sales GROUP BY ROLLUP (item)",
        "SELECT count(*) AS n FROM sales GROUP BY item ORDER BY n",
    ],
)
def test_none(sql: str) -> None:
    """Where keys cannot be told; of an order the rule cannot tell either, and the order is looked at later."""
    tree = parse(sql).tree
    if "ORDER BY" in sql:
        found = replacement(tree, {"sales"}, {"sales"})
        assert isinstance(found, Keyed) and found.columns == ()
        return
    with pytest.raises(NotProvableError):
        replacement(tree, {"sales"}, {"sales"})


def test_partitions_need_old_rows() -> None:
    sql = "SELECT n, rank() OVER (PARTITION BY item ORDER BY n) FROM sales"
    with pytest.raises(NotProvableError, match="a row that went"):
        replacement(parse(sql).tree, {"sales"}, None)
    assert isinstance(replacement(parse("SELECT max(n) FROM sales GROUP BY item").tree, {"sales"}, None), Keyed)


HIDDEN = {
    "hid_sizes": "SELECT count(*) AS n FROM hid_sales JOIN hid_shops USING (shop) GROUP BY city",
    "hid_ranks": "SELECT id, rank() OVER (PARTITION BY shop ORDER BY n) AS r FROM hid_sales",
}


def test_parts_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    """Rows and lineage are those of a full run; a group that stays keeps its number."""
    lineage = ForwardLineage(spark, tmp_path / "home")

    def register(sales: str, shops: str = "(1, 'Oslo'), (2, 'Rome'), (3, 'Rome'), (4, 'Bonn')") -> None:
        rows = spark.sql(f"SELECT * FROM VALUES {sales} AS t(id, shop, n)")
        lineage.register("hid_sales", source=rows, key="id")
        lineage.register("hid_shops", source=spark.sql(f"SELECT * FROM VALUES {shops} AS t(shop, city)"), key="shop")

    register("(1, 1, 5), (2, 1, 5), (3, 2, 7), (4, 3, 8), (5, 4, 9)")
    for name, sql in HIDDEN.items():
        lineage.save(sql, name)
    edits = [
        "(1, 1, 5), (2, 1, 5), (3, 2, 7), (4, 3, 8), (5, 4, 9), (6, 1, 1)",
        "(1, 1, 5), (3, 1, 7), (4, 3, 8), (6, 1, 1)",
    ]
    for sales in edits:
        register(sales)
        assert {step.result: step.way.value for step in lineage.updates()} == dict.fromkeys(HIDDEN, "partly")
        for name, sql in HIDDEN.items():
            assert as_saved(lineage, name) == full_run(lineage, sql), name
    drop_views(spark)
