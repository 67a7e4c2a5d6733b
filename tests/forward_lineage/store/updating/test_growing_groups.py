"""Groups that rows came to: which queries, and what is made of the values of before and of new ones."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.updating.growing_groups import check_kinds, growing, grown
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError
from tests.shared_state import drop_views


def test_growing() -> None:
    sql = "SELECT sum(n) AS s, item, count(*) FILTER(WHERE n > 1), max(m) FROM sales JOIN u USING (k) GROUP BY 2"
    found = growing(parse(sql).tree, {"sales"})
    assert found.columns == ("sum", "key", "count", "max") and found.keys == (1,)
    assert [each.sql for each in found.places] == [sql.replace("sales", f"{PLACE} AS sales")]
    assert growing(parse("SELECT count(*) FROM sales").tree, {"sales"}).keys == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT item, avg(n) FROM sales GROUP BY item",
        "SELECT item, count(DISTINCT n) FROM sales GROUP BY item",
        "SELECT item, sum(n) + 1 FROM sales GROUP BY item",
        "SELECT item, sum(n) FROM sales GROUP BY item, shop",
        "SELECT upper(item) AS item, sum(n) FROM sales GROUP BY item",
        "SELECT item, sum(n) FROM sales GROUP BY ROLLUP (item)",
        "SELECT item, sum(n) FROM sales GROUP BY item HAVING sum(n) > 1",
        "SELECT item, sum(n) FROM u LEFT JOIN sales USING (k) GROUP BY item",
        "SELECT item, max(rank()) OVER (ORDER BY item) FROM sales GROUP BY item",
        "SELECT item, sum((SELECT max(k) FROM u)) FROM sales GROUP BY item",
        "SELECT item FROM sales",
        "SELECT count(*) FROM sales UNION ALL SELECT 1",
    ],
)
def test_not_growing(sql: str) -> None:
    with pytest.raises(NotProvableError):
        growing(parse(sql).tree, {"sales"})


def test_values() -> None:
    columns, kinds = ("key", "sum", "count", "min", "max"), ("string", "decimal(38,2)", "bigint", "date", "string")
    large = Decimal("9" * 30 + ".01")
    assert grown(columns, kinds, ("a", large, 3, None, "é"), ("a", Decimal("0.02"), 0, 5, "z")) == (
        *("a", Decimal("9" * 30 + ".03"), 3, 5, "é"),
    )
    assert grown(columns, kinds, ("a", large, 3, 4, None), ("a", None, 2, None, None)) == ("a", large, 5, 4, None)
    assert grown(("sum",), ("bigint",), (None,), (3,)) == (3,)


@pytest.mark.parametrize(
    ("kind", "then", "more"),
    [
        ("bigint", 2**63 - 1, 1),
        ("decimal(12,2)", Decimal("9999999999.99"), Decimal("0.01")),
        ("decimal(12,2)", None, Decimal(1)),
    ],
)
def test_sums_that_may_be_too_large(kind: str, then: object, more: object) -> None:
    with pytest.raises(NotProvableError):
        grown(("sum",), (kind,), (then,), (more,))


def test_types() -> None:
    check_kinds(("key", "sum", "max"), ("date", "decimal(9,1)", "string"))
    for column, kind in (
        ("sum", "double"),
        ("max", "double"),
        ("key", "string collate UTF8_LCASE"),
        ("sum", "interval day"),
    ):
        with pytest.raises(NotProvableError):
            check_kinds((column,), (kind,))


GROWING = {
    "grown_total": "SELECT count(*) AS n, sum(id) AS s, max(id) AS m FROM grown_days",
    "grown_by_name": "SELECT name, count(*) AS n, sum(CAST(id AS DECIMAL(9,2))) AS s, min(id) AS lo FROM grown_days "
    "JOIN grown_names ON id % 3 = k GROUP BY name",
    "grown_bare": "SELECT id % 4 AS g, count(id) FILTER (WHERE id > 3) AS n, sum(id) AS s FROM grown_days "
    "GROUP BY id % 4",
    "grown_late": "SELECT sum(id) AS s, count(*) AS n FROM grown_days WHERE id > 100",
}


@pytest.mark.long
def test_rows_that_come(spark: SparkSession, tmp_path: Path) -> None:
    """Rows and lineage are those of a full run: of groups, new groups, NULL, and totals over no rows."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    spark.range(10).coalesce(1).write.parquet(f"{tmp_path}/days")
    names = "SELECT * FROM VALUES (0, 'a'), (1, 'b'), (2, NULL) AS t(k, name)"
    spark.sql(names).coalesce(1).write.parquet(f"{tmp_path}/names")
    lineage.register("grown_days", path=tmp_path / "days")
    lineage.register("grown_names", path=tmp_path / "names")
    for name, sql in GROWING.items():
        lineage.save(sql, name)
    for first, last in ((10, 13), (98, 104)):
        spark.range(first, last).coalesce(1).write.mode("append").parquet(f"{tmp_path}/days")
        lineage.refresh("grown_days")
        steps = {step.result: step.way.value for step in lineage.updates()}
        assert steps == {**dict.fromkeys(GROWING, "partly"), "grown_late": "partly" if last > 100 else "untouched"}
        for name, sql in GROWING.items():
            traced = lineage.sql(sql)
            tables = traced.schema["DL"].dataType.names  # type: ignore[attr-defined]
            ids = [f"dl_ids(DL.{table}) AS dl_{table}" for table in tables]
            wanted = [tuple(row) for row in traced.selectExpr("*", *ids).drop("DL").collect()]
            numbered = zip(lineage.describe(name).numbers(), lineage.result(name).collect(), strict=True)
            found = [
                (*row, *(lineage.backward_ids(name, rows=[number], table=table).ids().tolist() for table in tables))
                for number, row in numbered
            ]
            assert sorted(map(repr, found)) == sorted(map(repr, wanted)), name
    drop_views(spark)
