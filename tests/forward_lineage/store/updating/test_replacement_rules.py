"""Which part of a query runs again when rows change: text in, text out; and for which queries no rule tells."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.growing_groups import growing
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, NotProvableError
from forward_lineage.store.updating.replacement_rules import (
    Keyed,
    keyed_replacement,
    replacement,
)
from forward_lineage.store.updating.touched_rows import before, both, kept

CHANGED = {"sales", "shops"}


def among(*keys: str) -> str:
    equal = " AND ".join(f"__fl_key.__fl_k{i} <=> ({key})" for i, key in enumerate(keys))
    return f"EXISTS(SELECT 1 FROM {KEYS} AS __fl_key WHERE {equal})"


def test_joined_rows() -> None:
    sql = "SELECT n, n + 1 AS m FROM sales s JOIN shops USING (shop) WHERE n > 3 UNION ALL SELECT a, b FROM sales"
    found = replacement(parse(sql).tree, CHANGED)
    assert isinstance(found, tuple) and [(each.probe.table, each.block, each.sql) for each in found] == [
        ("sales", 0, f"SELECT n, n + 1 AS m FROM {PLACE} AS s JOIN shops USING (shop) WHERE n > 3"),
        ("shops", 0, f"SELECT n, n + 1 AS m FROM {kept('sales')} AS s JOIN {PLACE} AS shops USING (shop) WHERE n > 3"),
        ("sales", 1, f"SELECT a, b FROM {PLACE} AS sales"),
    ]
    assert [each.kept for each in found] == [set(), {"sales"}, set()]


def test_names_in_place() -> None:
    """What WITH names is a query in FROM, with the names of columns that it is given."""
    sql = "WITH s(a, b) AS (SELECT n, m FROM sales), t AS (SELECT 1 AS c FROM old) SELECT a FROM s JOIN t ON b = c"
    found = replacement(parse(sql).tree, CHANGED)
    assert isinstance(found, tuple) and [each.sql for each in found] == [
        f"WITH t AS (SELECT 1 AS c FROM old) SELECT a FROM (SELECT n, m FROM {PLACE} AS sales) AS s(a, b) "
        "JOIN t ON b = c"
    ]
    sql = "WITH s AS (SELECT n FROM sales), t AS (SELECT n FROM s AS x) SELECT n, sum(n) FROM t GROUP BY n"
    place = f"(SELECT n FROM (SELECT n FROM {PLACE} AS sales) AS x) AS t"
    assert growing(parse(sql).tree, CHANGED).places[0].sql == f"SELECT n, sum(n) FROM {place} GROUP BY n"


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
    ("SELECT max(n) FROM sales x JOIN sales y ON x.n = y.n GROUP BY x.item", "its parts have no key that is selected"),
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
    (
        "WITH s AS (SELECT count(*) AS n FROM sales) SELECT n FROM s",
        "a subquery in FROM selects more than values of a row",
    ),
]


@pytest.mark.parametrize(("sql", "why"), REFUSED)
def test_no_rule(sql: str, why: str) -> None:
    with pytest.raises(NotProvableError, match=f"^{why}"):
        replacement(parse(sql).tree, CHANGED)


BOTH_SIDES = [
    (
        "SELECT item, count(*) FROM sales GROUP BY item HAVING count(*) > 1",
        [f"SELECT DISTINCT item AS __fl_k0 FROM {PLACE} AS sales"],
    ),
    (
        "SELECT u.a, count(n) FROM u LEFT JOIN sales ON u.a = sales.b AND n > 1 WHERE u.c AND n < 9 GROUP BY u.a",
        [f"SELECT DISTINCT u.a AS __fl_k0 FROM u JOIN {PLACE} AS sales ON u.a = sales.b AND n > 1 WHERE u.c"],
    ),
    (
        "SELECT a FROM u WHERE c AND NOT EXISTS (SELECT 1 FROM sales WHERE b = u.a)",
        [f"SELECT DISTINCT a AS __fl_k0 FROM u WHERE c AND EXISTS(SELECT 1 FROM {PLACE} AS sales WHERE b = u.a)"],
    ),
    (
        "SELECT a FROM sales EXCEPT SELECT b FROM u WHERE b NOT IN (SELECT c FROM sales)",
        [
            f"SELECT DISTINCT a AS __fl_k0 FROM {PLACE} AS sales",
            "SELECT DISTINCT b AS __fl_k0 FROM u WHERE EXISTS(SELECT 1 FROM (SELECT c AS __fl_in_0 FROM "
            f"{PLACE} AS sales) AS __fl_in WHERE NOT (((b) = __fl_in.__fl_in_0) <=> FALSE))",
        ],
    ),
    (
        "SELECT a FROM sales WHERE n = (SELECT max(n) FROM sales)",
        [
            f"SELECT DISTINCT a AS __fl_k0 FROM {PLACE} AS sales WHERE n = (SELECT max(n) FROM sales)",
            f"SELECT DISTINCT a AS __fl_k0 FROM {both('sales')} AS sales WHERE (NOT (CAST((SELECT max(n) FROM "
            f"{before('sales')} AS sales) AS STRING) <=> CAST((SELECT max(n) FROM sales) AS STRING)) OR "
            "typeof((SELECT max(n) FROM sales)) IN ('double', 'float'))",
        ],
    ),
]


@pytest.mark.parametrize(("sql", "probes"), BOTH_SIDES)
def test_old_rows_at_hand(sql: str, probes: list[str]) -> None:
    found = keyed_replacement(parse(sql).tree, CHANGED, {"sales"})
    assert [each.sql for each in found.probes] == probes


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, count(*) FROM u GROUP BY a HAVING count(*) > (SELECT n FROM sales)",
        "SELECT a FROM u JOIN v ON EXISTS (SELECT 1 FROM sales WHERE n = a)",
        "SELECT a FROM u FULL JOIN sales ON a = n",
        "SELECT a FROM u JOIN (SELECT max(n) AS m FROM sales) ON a = m",
        "SELECT a FROM u WHERE a IN (SELECT m FROM (SELECT n AS m FROM sales))",
        "SELECT a FROM sales LIMIT 3",
    ],
)
def test_no_rule_with_old_rows_either(sql: str) -> None:
    with pytest.raises(NotProvableError):
        keyed_replacement(parse(sql).tree, CHANGED, {"sales"})


def test_keys_of_rows_that_may_be_missing() -> None:
    """What a key is computed of is asked of the joined rows without them: there it cannot be."""
    asked: list[str] = []

    def fits(sql: str, columns: Sequence[int]) -> bool:
        asked.append(sql)
        return list(columns) == [0]

    sql = "SELECT a, n FROM u JOIN v USING (a) LEFT JOIN sales ON a = b"
    assert keyed_replacement(parse(sql).tree, CHANGED, {"sales"}, fits).columns == (0,)
    assert asked[0] == "SELECT a AS c0, n AS c1, a AS c2, n AS c3 FROM u JOIN v USING (a)"


def test_places_are_told_apart() -> None:
    """Of a table that is read twice, each probe reads the new rows in one place."""
    found = replacement(parse("SELECT 1 AS one FROM sales a JOIN sales b ON a.n = b.m").tree, CHANGED)
    assert isinstance(found, tuple)
    assert [each.sql.index(PLACE) < each.sql.index("JOIN") for each in found] == [True, False]
