"""Groups that rows came to: which queries, and what is made of the values of before and of new ones."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.growing_groups import check_kinds, growing, grown
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError


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
