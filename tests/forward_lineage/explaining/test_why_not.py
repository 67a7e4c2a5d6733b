"""`why_not` from end to end: each thing that keeps rows out is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.explaining.campaign import Trial
from tests.explaining.pages import walked
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import BadArgumentError, LineageError, NotTracedError

JOINED = "SELECT c.id AS customer_id, amount FROM customers c JOIN orders o ON c.id = o.cust WHERE amount > 50"
GROUPED = (
    "SELECT segment, sum(amount) AS total FROM customers LEFT JOIN orders ON id = cust "
    "GROUP BY segment HAVING sum(amount) > 100"
)
INNER = (
    "WITH s AS (SELECT cust, sum(amount) AS total FROM orders GROUP BY cust) "
    "SELECT name, total FROM customers JOIN s ON id = cust WHERE total >= 100"
)
#: Query, question → what keeps the rows out, in which text, and a part of why.
CASES: list[tuple[str, dict[str, Any], tuple[str, str, str]]] = [
    (JOINED, {"where": "customer_id = 17"}, ("WHERE", "it", "o.amount = 40, asked amount > 50")),
    (JOINED, {"where": "customer_id = 19"}, ("JOIN", "it", "o has no partner for it: c.id = 19")),
    (JOINED, {"where": "customer_id = 77"}, ("FROM", "it", "no row of customers has customer_id = 77")),
    (JOINED, {"where": "customer_id = 18 AND amount = 1"}, ("asked", "it", "asked amount = 1")),
    (JOINED, {"table": "orders", "ids": [4]}, ("JOIN", "it", "c has no partner for it: o.cust = 99")),
    (GROUPED, {"where": "segment = 'A'"}, ("HAVING", "it", "sum(orders.amount) = 40, asked sum(amount) > 100")),
    (GROUPED, {"table": "orders", "ids": [4]}, ("LEFT JOIN", "it", "customers has no partner")),
    (GROUPED, {"where": "segment = 'B' AND total < 3"}, ("asked", "it", "sum(orders.amount) = 150, asked total < 3")),
    (INNER, {"where": "name = 'x'"}, ("WHERE", "it", "s.total = 40, asked total >= 100")),
    (INNER, {"table": "orders", "ids": [4]}, ("JOIN", "it", "customers has no partner for it: s.cust = 99")),
    ("SELECT segment FROM base WHERE total < 120", {"where": "segment = 'A'"}, ("HAVING", "base", "asked sum")),
    (
        "SELECT segment FROM base WHERE total < 120",
        {"table": "customers", "ids": [18]},
        ("WHERE", "it", "base.total = 150"),
    ),
    (
        "SELECT oid FROM orders ORDER BY amount DESC LIMIT 2",
        {"where": "oid = 1"},
        ("LIMIT", "it", "place 4 in the order"),
    ),
    (
        "SELECT oid FROM orders QUALIFY row_number() OVER (PARTITION BY cust ORDER BY amount DESC) = 1",
        {"where": "oid = 2"},
        ("QUALIFY", "it", "= 2"),
    ),
    ("SELECT id FROM customers EXCEPT SELECT cust FROM orders", {"where": "id = 17"}, ("EXCEPT", "it", "equal row")),
    (
        "SELECT name FROM customers LEFT ANTI JOIN orders ON cust = id",
        {"where": "name = 'x'"},
        ("ANTI JOIN", "it", "orders has a partner"),
    ),
    (
        "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust = c.id)",
        {"where": "name = 'x'"},
        ("WHERE", "it", "c.id = 17, asked NOT EXISTS"),
    ),
    (
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY segment ORDER BY id) AS r FROM customers) "
        "WHERE r = 1",
        {"where": "name = 'z'"},
        ("WHERE", "it", "subquery.r = 2, asked r = 1"),
    ),
    (
        "SELECT subquery.id, o FROM (SELECT id FROM customers) AS subquery "
        "JOIN (SELECT cust, oid AS o FROM orders WHERE amount > 50) ON id = cust",
        {"table": "customers", "ids": [17, 18]},
        ("JOIN", "it", "subquery_2 has no partner for it: subquery.id = 17"),
    ),
    (
        "SELECT oid FROM orders o WHERE amount > (SELECT avg(amount) FROM orders i WHERE i.cust = o.cust)",
        {"table": "orders", "ids": [2, 3]},
        ("WHERE", "it", "(SELECT avg(amount) FROM orders AS i WHERE i.cust = o.cust) = 75.0, asked"),
    ),
    (
        "SELECT cust FROM orders GROUP BY cust HAVING sum(amount) > (SELECT avg(amount) FROM orders)",
        {"where": "cust = 17"},
        ("HAVING", "it", "(SELECT avg(amount) FROM orders) = 172.5, asked"),
    ),
    (
        "SELECT id FROM customers WHERE segment = 'Z' UNION SELECT cust FROM orders WHERE amount > 100",
        {"where": "id = 17"},
        ("WHERE", "it", "asked segment = 'Z'"),
    ),
    (
        "SELECT id FROM customers WHERE segment = 'Z' UNION SELECT cust FROM orders WHERE amount > 500",
        {"where": "id = 99"},
        ("WHERE", "it", "orders.amount = 500, asked amount > 500"),
    ),
]


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    made = ForwardLineage(spark, tmp_path_factory.mktemp("why") / "home")
    customers = "(17, 'A', 'x'), (18, 'B', 'y'), (19, 'A', 'z') AS c(id, segment, name)"
    orders = "(1, 17, 40), (2, 18, 70), (3, 18, 80), (4, 99, 500) AS o(oid, cust, amount)"
    spark.sql(f"CREATE TEMP VIEW customers AS SELECT * FROM VALUES {customers}")
    spark.sql(f"CREATE TEMP VIEW orders AS SELECT * FROM VALUES {orders}")
    made.register("customers", key="id")
    made.register("orders", key="oid")
    made.save(GROUPED, "base")
    yield made
    drop_views(spark)


@pytest.mark.parametrize(
    ("sql", "asked", "wanted"),
    every_day(CASES, [CASES[at] for at in (0, 1, 4, 5, 7, 8, 10, 12, 14, 16, 17, 18, 19, 22)]),
)
def test_what_keeps_rows_out(
    lineage: ForwardLineage, sql: str, asked: dict[str, Any], wanted: tuple[str, str, str]
) -> None:
    lineage.save(sql, "it")
    found = lineage.why_not("it", **asked)
    step = found.kept_out_by
    assert step is not None
    assert (step.kind, step.query) == wanted[:2]
    assert wanted[2] in step.why
    assert bool(found.present) == (len(asked.get("ids", [])) > 1), "the others of several are there"
    assert json.loads(found.as_json())["steps"][-1]["kind"]
    assert step.why[:10] in str(found)


def test_the_page_is_the_way_with_the_part_of_the_query_marked(lineage: ForwardLineage, tmp_path: Path) -> None:
    sql = "WITH o AS (SELECT * FROM orders\nWHERE amount > 1) SELECT name FROM customers JOIN o ON cust = id"
    lineage.save(f"{sql}\nWHERE name < 'y' AND amount > 50", "marked")
    start = walked(lineage.why_not("marked", table="customers", ids=[17]).save(tmp_path / "why.html"))
    assert [(item["label"], item["amount"], item["stops"]) for item in start["items"]] == [
        ("FROM customers", "1 → 1", False),
        ("WHERE name < 'y'", "1 → 1", False),
        ("JOIN o ON cust = id", "1 → 1", False),
        ("WHERE amount > 50", "1 → 0", True),
    ]
    last = start["items"][-1]
    assert last["chosen"] and [each["panel"]["code"][0]["marked"] for each in start["items"]] == [
        "customers",
        "name < 'y'",
        "JOIN o ON cust = id",
        "amount > 50",
    ]
    assert last["panel"]["images"][0]["rows"] == [["o.amount", "40"]]
    inner = walked(lineage.why_not("marked", table="orders", ids=[3]).save(tmp_path / "why.html"))["items"]
    assert [(each["head"], each["panel"]["code"][0]["marked"]) for each in inner][:2] == [
        ("o", "orders"),
        ("o", "amount > 1"),
    ], "a CTE stands in the text around it"


def test_several_ids_of_which_some_are_there(lineage: ForwardLineage) -> None:
    lineage.save("SELECT oid FROM orders WHERE amount > 75", "large")
    found = lineage.why_not("large", table="orders", ids=[1, 2, 3, 4])
    assert (found.apart, found.present) == ((3, 4), (0, 1))
    assert "3, 4 are in rows 0, 1; of the others: WHERE kept it out" in str(found)
    assert [step.arrived for step in found.steps] == [2, 2]
    assert lineage.why_not("large", table="orders", ids=[3, 4]).kept_out_by is None


def test_tables_that_only_decide_are_read_as_they_were(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark = lineage.spark
    for rows in ("(0, 17)", "(1, 18)"):
        frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t(id, cust)").coalesce(1)
        frame.write.mode("append").parquet(f"{tmp_path}/blocked")
        if "blocked" not in lineage.tables():
            lineage.register("blocked", path=f"{tmp_path}/blocked")
            lineage.save("SELECT cust FROM blocked WHERE cust > 0", "saved_block")
            for name, source in (("free", "blocked"), ("free_too", "saved_block")):
                lineage.save(f"SELECT name FROM customers WHERE id NOT IN (SELECT cust FROM {source})", name)
    lineage.refresh("blocked")
    lineage.save("SELECT cust FROM blocked WHERE cust > 0", "saved_block", keep_versions=True)
    for name in ("free", "free_too"):
        assert lineage.why_not(name, table="customers", ids=[18]).kept_out_by is None, "18 was not blocked then"
        found = lineage.why_not(name, table="customers", ids=[17])
        assert found.kept_out_by is not None and found.kept_out_by.kind == "WHERE" and not found.as_now


def test_a_row_that_is_there(lineage: ForwardLineage) -> None:
    found = lineage.why_not("base", where="segment = 'B'")
    assert (found.kept_out_by, found.present) == (None, (0,))
    assert "nothing is missing" in found._repr_html_()
    assert found.frame().columns[0] == "query"


@pytest.mark.parametrize(
    ("sql", "said"),
    every_day(
        [
            ("SELECT segment, count(*) AS n FROM customers GROUP BY ROLLUP (segment)", "ROLLUP.*line 1, column"),
            ("SELECT id, segment FROM customers LIMIT 1", "LIMIT without ORDER BY.*line 1, column"),
            (
                "SELECT id, segment FROM customers NATURAL JOIN (SELECT 17 AS id)",
                "NATURAL JOIN is not followed.*line 1",
            ),
        ],
        [("SELECT segment, count(*) AS n FROM customers GROUP BY ROLLUP (segment)", "ROLLUP.*line 1, column")],
    ),
)
def test_what_is_not_followed(lineage: ForwardLineage, sql: str, said: str) -> None:
    lineage.save(sql, "it")
    with pytest.raises(NotTracedError, match=said):
        lineage.why_not("it", where="segment = 'A'")


def test_questions_that_say_nothing(lineage: ForwardLineage) -> None:
    with pytest.raises(BadArgumentError, match="where=, or table="):
        lineage.why_not("base")
    with pytest.raises(LineageError, match="nothing"):
        lineage.why_not("base", where="nothing = 1")
    with pytest.raises(BadArgumentError, match="names no column"):
        lineage.why_not("base", where="total > 3")
    with pytest.raises(NotTracedError, match=r"depends on rand.*over the columns of base alone"):
        lineage.why_not("base", where="segment = 'A' AND rand() > 0.5")
    with pytest.raises(BadArgumentError, match="was not made of parts"):
        lineage.why_not("base", table="parts", ids=[1])


@pytest.mark.long
def test_generated(spark: SparkSession, tmp_path: Path) -> None:
    verdicts = list(Trial(ForwardLineage(spark, tmp_path / "home"), 3).followed())
    drop_views(spark)
    assert [each for each in verdicts if each is not None] == []
