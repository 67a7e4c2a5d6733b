"""Which part of a query runs again when rows change: text in, text out; and for which queries no rule tells."""

from __future__ import annotations

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError
from forward_lineage.store.updating.replacement_rules import (
    KEYS,
    Keyed,
    check_each_once,
    keeps_order,
    replacement,
)

CHANGED = {"sales", "shops"}


def among(*keys: str) -> str:
    equal = " AND ".join(f"__fl_key.__fl_k{i} <=> ({key})" for i, key in enumerate(keys))
    return f"EXISTS(SELECT 1 FROM {KEYS} AS __fl_key WHERE {equal})"


def test_joined_rows() -> None:
    sql = "SELECT n, n + 1 AS m FROM sales s JOIN shops USING (shop) WHERE n > 3 UNION ALL SELECT a, b FROM sales"
    found = replacement(parse(sql).tree, CHANGED)
    assert isinstance(found, tuple) and [(each.probe.table, each.block, each.sql) for each in found] == [
        ("sales", 0, f"SELECT n, n + 1 AS m FROM {PLACE} AS s JOIN shops USING (shop) WHERE n > 3"),
        ("shops", 0, f"SELECT n, n + 1 AS m FROM sales AS s JOIN {PLACE} AS shops USING (shop) WHERE n > 3"),
        ("sales", 1, f"SELECT a, b FROM {PLACE} AS sales"),
    ]
    check_each_once([found[0], found[2]])
    with pytest.raises(NotProvableError, match="in more than one place"):
        check_each_once(found)


KEYED = [
    (
        "SELECT item, sum(n) FROM sales WHERE n > 3 OR m GROUP BY item, shop ORDER BY item",
        (0,),
        f"SELECT item, sum(n) FROM sales WHERE (n > 3 OR m) AND {among('item')} GROUP BY item, shop",
        f"SELECT DISTINCT item AS __fl_k0 FROM {PLACE} AS sales WHERE n > 3 OR m",
    ),
    (
        "SELECT count(*), year(day) AS y FROM sales GROUP BY y",
        (1,),
        f"SELECT count(*), year(day) AS y FROM sales WHERE {among('year(day)')} GROUP BY y",
        f"SELECT DISTINCT year(day) AS __fl_k0 FROM {PLACE} AS sales",
    ),
    (
        "SELECT DISTINCT a, f(b) FROM sales",
        (0,),
        f"SELECT DISTINCT a, f(b) FROM sales WHERE {among('a')}",
        f"SELECT DISTINCT a AS __fl_k0 FROM {PLACE} AS sales",
    ),
    (
        "SELECT a, b, rank() OVER (PARTITION BY a, b ORDER BY c) AS r, max(c) OVER (PARTITION BY b) AS m FROM sales",
        (1,),
        "SELECT a, b, rank() OVER (PARTITION BY a, b ORDER BY c) AS r, max(c) OVER (PARTITION BY b) AS m FROM sales "
        f"WHERE {among('b')}",
        f"SELECT DISTINCT b AS __fl_k0 FROM {PLACE} AS sales",
    ),
    (
        "SELECT a, count(*) FROM sales GROUP BY a UNION ALL (SELECT b, 1 FROM u WHERE c)",
        (0,),
        f"SELECT a, count(*) FROM sales WHERE {among('a')} GROUP BY a UNION ALL "
        f"(SELECT b, 1 FROM u WHERE (c) AND {among('b')})",
        f"SELECT DISTINCT a AS __fl_k0 FROM {PLACE} AS sales",
    ),
    (
        "SELECT a, 'x' FROM sales INTERSECT SELECT b, c FROM u",
        (0, 1),
        f"SELECT a, 'x' FROM sales WHERE {among('a', chr(39) + 'x' + chr(39))} INTERSECT SELECT b, c FROM u",
        f"SELECT DISTINCT a AS __fl_k0, 'x' AS __fl_k1 FROM {PLACE} AS sales",
    ),
]


@pytest.mark.parametrize(("sql", "columns", "again", "probe"), KEYED)
def test_keys(sql: str, columns: tuple[int, ...], again: str, probe: str) -> None:
    found = replacement(parse(sql).tree, CHANGED)
    assert isinstance(found, Keyed) and (found.columns, found.sql) == (columns, again)
    assert [each.sql for each in found.probes] == [probe]


REFUSED = [
    ("SELECT count(*) FROM sales", "all its rows are one group"),
    ("SELECT DISTINCT count(*) FROM sales", "all its rows are one group"),
    ("SELECT max(n) FROM sales GROUP BY item", "none of its columns says which of its groups a row is in"),
    ("SELECT item, count(*) FROM sales GROUP BY item HAVING count(*) > 1", "it has HAVING"),
    ("SELECT item, count(*) FROM sales GROUP BY ROLLUP (item)", "it groups by more than values of a row"),
    ("SELECT item, rank() OVER (ORDER BY count(*)) FROM sales GROUP BY item", "its windows look at groups"),
    ("SELECT a, rank() OVER (ORDER BY a) FROM sales", "none of its columns says which of its partitions a row is in"),
    ("SELECT a, rank() OVER w FROM sales WINDOW w AS (PARTITION BY a)", "it has ALIAS"),
    ("SELECT DISTINCT * FROM sales", r"it selects \*"),
    ("SELECT n FROM u EXCEPT SELECT n FROM shops", "a table that changed is behind EXCEPT"),
    (
        "SELECT a, count(*) FROM sales GROUP BY a INTERSECT SELECT b, c FROM u",
        "a group that INTERSECT or EXCEPT kept out",
    ),
    ("SELECT max(n) FROM sales UNION ALL SELECT n FROM shops", "all its rows are one group"),
    ("SELECT n, 1 FROM sales UNION SELECT max(n), 2 FROM shops GROUP BY m", "none of its columns says which"),
    ("SELECT explode(a) FROM sales", "it selects more than values of a row"),
    ("SELECT mine(a) FROM sales", "it selects more than values of a row"),
    ("SELECT n, (SELECT max(a) FROM u) FROM sales", "it selects more than values of a row"),
    ("SELECT n FROM u LEFT JOIN sales ON u.a = sales.a", "a table that changed is in LEFT JOIN"),
    ("SELECT n FROM sales LIMIT 3", "it has LIMIT"),
    ("WITH s AS (SELECT * FROM sales) SELECT n FROM s", "WITH reads a table that changed"),
]


@pytest.mark.parametrize(("sql", "why"), REFUSED)
def test_no_rule(sql: str, why: str) -> None:
    with pytest.raises(NotProvableError, match=f"^{why}"):
        replacement(parse(sql).tree, CHANGED)


def test_groups_that_were_filtered_out_if_rows_only_came() -> None:
    sql = "SELECT item, count(*) FROM sales GROUP BY item HAVING count(*) > 1"
    assert isinstance(replacement(parse(sql).tree, CHANGED, only_came=True), Keyed)
    asks = f"{sql} AND max(n) > (SELECT max(n) FROM shops)"
    with pytest.raises(NotProvableError, match="asks a subquery"):
        replacement(parse(asks).tree, CHANGED, only_came=True)


@pytest.mark.parametrize(
    ("order", "kept"), [("1", True), ("item DESC", True), ("n", False), ("1, n", False), ("upper(item)", False)]
)
def test_order(order: str, kept: bool) -> None:
    tree = parse(f"SELECT item, count(*) AS n FROM sales GROUP BY item ORDER BY {order}").tree
    found = replacement(tree, CHANGED)
    assert isinstance(found, Keyed) and keeps_order(tree, found) == kept


def test_places_are_told_apart() -> None:
    """Of a table that is read twice, each probe reads the new rows in one place."""
    found = replacement(parse("SELECT 1 AS one FROM sales a JOIN sales b ON a.n = b.m").tree, CHANGED)
    assert isinstance(found, tuple)
    assert [each.sql.index(PLACE) < each.sql.index("JOIN") for each in found] == [True, False]
