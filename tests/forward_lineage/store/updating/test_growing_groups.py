"""Groups that rows came to: which queries, and what is made of the values of before and of new ones."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.updating.growing_groups import Growing, Parts, growing
from forward_lineage.store.updating.grown_values import check_kinds, grown
from forward_lineage.store.updating.hidden_sums import NAME as SUMS
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError, key_column
from tests.forward_lineage.store.updating.full_run import as_saved, full_run
from tests.shared_state import drop_views


def test_growing() -> None:
    sql = "SELECT sum(n) AS s, item, count(*) FILTER(WHERE n > 1), max(m) FROM sales JOIN u USING (k) GROUP BY 2"
    found = growing(parse(sql).tree, {"sales"})
    assert found.columns == ("sum", "key", "count", "max") and found.keys == (1,) and not found.hidden
    assert [each.sql for each in found.places] == [sql.replace("sales", f"{PLACE} AS sales")]
    assert growing(parse("SELECT count(*) FROM sales").tree, {"sales"}).keys == ()


def test_hidden_columns() -> None:
    """An average has a sum and a count, of whole numbers bounds, too; a sum of which rows went has a count."""
    sql = "SELECT avg(n), item, sum(n), sum(n) FILTER (WHERE n > 1) AS m FROM sales GROUP BY 2 ORDER BY 1"
    came = growing(parse(sql).tree, {"sales"}, kinds=["decimal(9,6)", "string", "bigint", "bigint"])
    assert came.hidden == ("count(n)",) and came.parts[0] == Parts(2, 4)
    assert came.places[0].sql.startswith("SELECT avg(n), item, sum(n), sum(n) FILTER(WHERE n > 1) AS m, count(n) AS ")
    assert came.totals == f"SELECT item AS {key_column(0)}, count(n) AS __fl_h0 FROM sales GROUP BY item"
    assert growing(parse(sql).tree, {"sales"}, kinds=["double"]).hidden == ("min(n)", "max(n)", "count(n)")
    went = growing(parse(sql).tree, {"sales"}, {"sales"}, ["decimal(9,6)"])
    assert went.hidden == ("count(n)", "count(n) FILTER(WHERE n > 1)") and went.places[0].probe.both


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT item, median(n) FROM sales GROUP BY item",
        "SELECT item, count(DISTINCT n) FROM sales GROUP BY item",
        "SELECT item, avg(DISTINCT n) FROM sales GROUP BY item",
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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT item, max(n) FROM sales GROUP BY item",
        "SELECT item, count(*) FROM sales JOIN u USING (k) GROUP BY item",
        "SELECT item, count(*) FROM sales JOIN sales AS other USING (k) GROUP BY item",
    ],
)
def test_not_shrinking(sql: str) -> None:
    with pytest.raises(NotProvableError):
        growing(parse(sql).tree, {"sales"}, {"sales"})


def _plain(*columns: str) -> Growing:
    return Growing((), columns, (Parts(),) * len(columns))


def test_values() -> None:
    columns, kinds = ("key", "sum", "count", "min", "max"), ("string", "decimal(38,2)", "bigint", "date", "string")
    large, how = Decimal("9" * 30 + ".01"), _plain(*columns)
    assert grown(how, kinds, ("a", large, 3, None, "é"), came=("a", Decimal("0.02"), 0, 5, "z")) == (
        *("a", Decimal("9" * 30 + ".03"), 3, 5, "é"),
    )
    assert grown(how, kinds, ("a", large, 3, 4, None), came=("a", None, 2, None, None)) == ("a", large, 5, 4, None)
    assert grown(_plain("sum"), ("bigint",), (None,), came=(3,)) == (3,)


SHRINKING = Growing((), ("sum", "avg"), (Parts(count=2), Parts(0, 2, (3, 4))), ("",) * 3, ("count", "min", "max"))


def test_values_that_went() -> None:
    kinds = ("bigint", "double", "bigint", "bigint", "bigint")
    then = (10, 2.5, 4, 1, 4)
    assert grown(SHRINKING, kinds, then, went=(4, 4.0, 1, 4, 4))[:3] == (6, 2.0, 3)
    assert grown(SHRINKING, kinds, then, went=(10, 2.5, 4, 1, 4))[:3] == (None, None, 0), "no values are left"
    assert grown(SHRINKING, kinds, then, went=(4, 4.0, 1, 4, 4), came=(9, 9.0, 1, 9, 9)) == (15, 3.75, 4, 1, 9)
    assert grown(SHRINKING, kinds, then[:2], went=(4, 4.0, 1, 4, 4), now=(3, 1, 3)) == (6, 2.0, 3, 1, 3)
    assert grown(SHRINKING, kinds, (None, None, 0, None, None), came=(9, 9.0, 1, 9, 9)) == (9, 9.0, 1, 9, 9)


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
        grown(_plain("sum"), (kind,), (then,), came=(more,))


def _averaged(kind: str, summed: str, total: object, count: int, bounds: tuple[int, ...] = ()) -> object:
    parts = Parts(1, 2, (3, 4) if bounds else None)
    how = Growing((), ("avg",), (parts,), ("",) * 4, ("sum", "count", "min", "max")[: 2 + len(bounds)])
    return grown(how, (kind, summed, *["bigint"] * 3), (None,), now=(total, count, *bounds))[0]


def test_averages_as_spark_gives_them() -> None:
    """What Spark gave for these, in the order that it added in."""
    assert _averaged("double", "bigint", 10, 3, (0, 9)) == 10 / 3
    assert _averaged("decimal(19,6)", "decimal(25,2)", Decimal("0.05"), 3) == Decimal("0.016667")
    assert _averaged("decimal(23,4)", "decimal(29,0)", Decimal(-1), 20000) == Decimal("-0.0001"), "half away from 0"
    assert _averaged("decimal(9,6)", "decimal(15,2)", Decimal("0.05"), 3) == Decimal("0.016667")


@pytest.mark.parametrize(
    ("kind", "summed", "total", "count", "bounds"),
    [
        ("double", "bigint", 2**53 + 1, 2, (0, 2**53)),  # what was added up in floating point may have been rounded
        ("double", "bigint", 0, 2**23, (-(2**31), 0)),
        ("decimal(15,4)", "decimal(21,0)", Decimal(1), 100_000, ()),
        ("decimal(9,4)", "decimal(15,0)", Decimal(1), 20_000, ()),  # the middle of two
        ("decimal(38,6)", "decimal(38,2)", Decimal("9" * 34), 1, ()),
        ("decimal(38,6)", "decimal(38,2)", None, 1, ()),
    ],
)
def test_averages_that_are_not_told(kind: str, summed: str, total: object, count: int, bounds: tuple[int, ...]) -> None:
    with pytest.raises(NotProvableError):
        _averaged(kind, summed, total, count, bounds)


def test_types() -> None:
    check_kinds(_plain("key", "sum", "max", "avg"), ("date", "decimal(9,1)", "string", "double"))
    for column, kind in (
        ("sum", "double"),
        ("max", "double"),
        ("avg", "float"),
        ("key", "string collate UTF8_LCASE"),
        ("sum", "interval day"),
    ):
        with pytest.raises(NotProvableError):
            check_kinds(_plain(column), (kind,))


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


SHRINKING_RESULTS = {
    "shrunk_total": "SELECT count(*) AS n, sum(n) AS s, avg(n) AS a FROM shrunk_sales",
    "shrunk_by_shop": "SELECT shop, avg(CAST(n AS DECIMAL(15,2))) AS a, sum(n) AS s FROM shrunk_sales GROUP BY shop",
    "shrunk_part": "SELECT shop, count(n) FILTER (WHERE n > 3) AS c, avg(n) AS a FROM shrunk_sales WHERE k < 9 "
    "GROUP BY shop",
}


def test_rows_that_go(spark: SparkSession, tmp_path: Path) -> None:
    """Rows and lineage are those of a full run, when groups lose rows, all of them, or all that have a value."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    sales = {1: (1, 4), 2: (1, None), 3: (2, 5), 4: (3, 6), 5: (3, 7), 6: (None, 8), 9: (1, 2)}

    def register() -> None:
        rows = ", ".join(f"({k}, {shop or 'NULL'}, {n or 'NULL'})" for k, (shop, n) in sales.items())
        source = spark.sql(f"SELECT CAST(k AS INT) k, shop, n FROM VALUES {rows} AS v(k, shop, n)")
        lineage.register("shrunk_sales", source=source, key="k")

    register()
    for name, sql in SHRINKING_RESULTS.items():
        lineage.save(sql, name)
    edits: list[dict[int, tuple[int | None, int | None] | None]] = [
        {1: None, 4: (3, 60)},  # a value goes, one differs
        {3: None, 10: (2, 5), 9: (1, None)},  # all rows of a group go, and one comes; no value is left in another
        {2: None, 9: None, 11: (7, 1)},
    ]
    for number, edit in enumerate(edits):
        if number == 1:  # then it is asked again
            (lineage.describe("shrunk_total").folder / SUMS).write_text("damaged")
        for k, row in edit.items():
            sales.pop(k, None)
            sales |= {} if row is None else {k: row}
        register()
        steps = {step.result: (step.way.value, step.why) for step in lineage.updates()}
        assert {way for way, _ in steps.values()} == {"partly"}, steps
        assert all("are added to its groups" in why for _, why in steps.values()), steps
        for name, sql in SHRINKING_RESULTS.items():
            assert as_saved(lineage, name) == full_run(lineage, sql), name
            assert (lineage.describe(name).folder / SUMS).exists(), "the next update need not ask"
    drop_views(spark)


SEVERAL = {
    "several_joined": "SELECT o, l, n FROM several_orders JOIN several_lines USING (o)",
    "several_days": "SELECT day, sum(n) AS s, avg(n) a FROM several_orders JOIN several_lines USING (o) GROUP BY day",
    "several_late": "WITH late AS (SELECT o, day FROM several_orders WHERE day > 1), "
    "lines AS (SELECT day, CAST(n AS DECIMAL(15,2)) AS n FROM late JOIN several_lines USING (o)) "
    "SELECT day, avg(n) AS a, count(*) AS c FROM lines GROUP BY day",
}


def test_rows_that_come_in_several_tables(spark: SparkSession, tmp_path: Path) -> None:
    """New lines of new orders, of old ones, and old lines of new ones: each joined row is counted once."""
    lineage = ForwardLineage(spark, tmp_path / "home")

    def write(orders: list[tuple[int, int]], lines: list[tuple[int, int, int]]) -> None:
        for name, columns, rows in (("orders", "o, day", orders), ("lines", "o, l, n", lines)):
            values = ", ".join(map(str, rows))
            frame = spark.sql(f"SELECT * FROM VALUES {values} AS v({columns})").coalesce(1)
            frame.write.mode("append").parquet(f"{tmp_path}/{name}")

    write([(1, 1), (2, 2)], [(1, 1, 5), (2, 1, 6), (3, 1, 7)])
    for name in ("orders", "lines"):
        lineage.register(f"several_{name}", path=tmp_path / name)
    for name, sql in SEVERAL.items():
        lineage.save(sql, name)
    write([(3, 2), (4, 3)], [(4, 1, 8), (1, 2, 9), (2, 2, 10), (4, 2, 11)])
    for name in ("orders", "lines"):
        lineage.refresh(f"several_{name}")
    assert {step.result: step.way.value for step in lineage.updates()} == dict.fromkeys(SEVERAL, "partly")
    for name, sql in SEVERAL.items():
        assert as_saved(lineage, name) == full_run(lineage, sql), name
    drop_views(spark)
