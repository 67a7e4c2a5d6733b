"""Queries that group in FROM and WITH: which stand as tables, and that the right parts are made again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, NotProvableError
from forward_lineage.store.updating.replacement_rules import keyed_replacement
from forward_lineage.store.updating.touched_rows import before, both
from forward_lineage.store.updating.updating import Way
from tests.forward_lineage.store.updating.full_run import as_saved, full_run
from tests.shared_state import drop_views

AMONG = f"EXISTS(SELECT 1 FROM {KEYS} AS __fl_key WHERE __fl_key.__fl_k0 <=> ({{}}))"


def test_groups_of_groups() -> None:
    inner = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"
    sql = f"SELECT n, count(*) FROM ({inner}) AS s GROUP BY n"
    found = keyed_replacement(parse(sql).tree, {"sales"}, {"sales"})
    (source,) = found.sources
    assert found.sql == f"SELECT n, count(*) FROM ({inner}) AS s WHERE {AMONG.format('n')} GROUP BY n"
    assert [each.sql for each in found.probes] == [f"SELECT DISTINCT n AS __fl_k0 FROM {PLACE} AS s"]
    assert found.probes[0].table == source.name and source.whole[0] == inner
    assert source.part[0] == f"SELECT shop, count(*) AS n FROM sales WHERE {AMONG.format('shop')} GROUP BY shop"
    assert source.part[1] == source.part[0].replace("sales", f"{before('sales')} AS sales")
    assert [each.sql for each in source.probes] == [f"SELECT DISTINCT shop AS __fl_k0 FROM {PLACE} AS sales"]


def test_names_that_are_read_twice() -> None:
    """Q15 of TPC-H: those with the largest sum."""
    sql = (
        "WITH r(supplier, total) AS (SELECT supp, sum(p) FROM items GROUP BY supp) SELECT s.k, total FROM s JOIN r "
        "ON s.k = r.supplier WHERE total = (SELECT max(total) FROM r)"
    )
    found = keyed_replacement(parse(sql).tree, {"items"}, {"items"})
    (source,) = found.sources
    place, value = found.probes
    assert (
        f"JOIN {PLACE} AS r(supplier, total)" in place.sql and f"FROM {source.name} AS r(supplier, total)" in place.sql
    )
    assert before(source.name) in value.sql and both(source.name) in value.sql
    assert "WITH" not in found.sql and found.sql.count("GROUP BY supp") == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n, count(*) FROM (SELECT count(*) AS n FROM sales) s GROUP BY n",
        "SELECT n FROM (SELECT shop AS n FROM sales GROUP BY shop LIMIT 3) s",
        "SELECT n FROM (SELECT shop AS n FROM sales UNION SELECT shop FROM sales) s WHERE n IN (SELECT n FROM sales)",
        "SELECT shop FROM sales GROUP BY shop HAVING count(*) IN (SELECT n FROM sales)",
        "SELECT shop, count(*) FROM u GROUP BY shop HAVING count(*) > (SELECT n FROM sales)",
    ],
)
def test_none(sql: str) -> None:
    with pytest.raises(NotProvableError):
        keyed_replacement(parse(sql).tree, {"sales"}, {"sales"})


NESTED = {
    "nest_sizes": "SELECT n, count(*) AS shops FROM (SELECT p.id, count(s.id) AS n FROM nest_people p LEFT JOIN "
    "nest_sales s ON p.id = s.person GROUP BY p.id) d GROUP BY n",
    "nest_best": "WITH r (person, total) AS (SELECT person, sum(v) FROM nest_sales GROUP BY person) SELECT p.id, total "
    "FROM nest_people p JOIN r ON p.id = r.person WHERE total = (SELECT max(total) FROM r)",
    "nest_idle": "SELECT city, count(*) AS n FROM (SELECT city, id FROM nest_people p WHERE NOT EXISTS (SELECT 1 FROM "
    "nest_sales s WHERE s.person = p.id)) d GROUP BY city",
    "nest_large": "SELECT person, sum(v) AS v FROM nest_sales GROUP BY person HAVING sum(v) > (SELECT max(id) FROM "
    "nest_people)",
}


@pytest.mark.long
def test_shapes_of_tpch(spark: SparkSession, tmp_path: Path) -> None:
    """Q13, Q15, Q22, Q11: rows and lineage are those of a full run after each edit."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    people = "SELECT * FROM VALUES (1, 'Oslo'), (2, 'Rome'), (3, 'Rome'), (4, 'Oslo') AS t(id, city)"
    lineage.register("nest_people", source=spark.sql(people), key="id")
    recomputed: set[str] = set()
    for number, sales in enumerate(
        [
            "(1, 1, 5), (2, 1, 5), (3, 2, 7), (4, 3, 8)",
            "(1, 1, 5), (2, 1, 5), (3, 2, 7), (4, 3, 8), (5, 2, 2)",
            "(1, 1, 5), (3, 2, 7), (4, 3, 1), (5, 2, 2)",
        ]
    ):
        rows = spark.sql(f"SELECT * FROM VALUES {sales} AS t(id, person, v)")
        lineage.register("nest_sales", source=rows, key="id")
        if number == 0:
            for name, sql in NESTED.items():
                lineage.save(sql, name)
        recomputed |= {step.result for step in lineage.updates() if step.way is Way.RECOMPUTED}
        for name, sql in NESTED.items():
            assert as_saved(lineage, name) == full_run(lineage, sql), name
    assert recomputed == {"nest_best"}, "its lineage is kept by reference, since it reads groups twice"
    drop_views(spark)
