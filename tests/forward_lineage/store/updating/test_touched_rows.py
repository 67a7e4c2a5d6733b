"""Probes that look at old rows, too: of every SELECT in a query, wherever it stands."""

from __future__ import annotations

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError
from forward_lineage.store.updating.touched_rows import both, probes_of_both

BOTH = both("sales")
PROBES = [
    ("SELECT n FROM sales GROUP BY n HAVING count(*) > 1 LIMIT 1", ["SELECT 1 FROM {} AS sales"]),
    (
        "SELECT n FROM u LEFT JOIN (SELECT max(n) FROM sales WHERE n > 2) ON true WHERE n NOT IN (SELECT m FROM sales)",
        ["SELECT 1 FROM {} AS sales WHERE n > 2", "SELECT 1 FROM {} AS sales"],
    ),
    ("SELECT n FROM u EXCEPT SELECT m FROM sales", ["SELECT 1 FROM {} AS sales"]),
    ("SELECT n FROM sales LATERAL VIEW explode(a) t AS x WHERE n > 1", ["SELECT 1 FROM {} AS sales WHERE n > 1"]),
    (
        "WITH x AS (SELECT n FROM sales WHERE n > 1), y AS (SELECT max(n) AS n FROM x) SELECT n FROM sales JOIN y "
        "USING (n)",
        [
            f"WITH x AS (SELECT n FROM {BOTH} AS sales WHERE n > 1), y AS (SELECT max(n) AS n FROM x) " + each
            for each in ("SELECT 1 FROM {} AS sales WHERE n > 1", "SELECT 1 FROM {} AS sales JOIN y USING (n)")
        ],
    ),
    ("SELECT n FROM u LEFT JOIN sales USING (n) JOIN v WHERE m", ["SELECT 1 FROM u JOIN {} AS sales USING (n)"]),
    ("SELECT n FROM u LEFT ANTI JOIN sales USING (n)", ["SELECT 1 FROM u JOIN {} AS sales USING (n)"]),
    ("SELECT n FROM sales LEFT ANTI JOIN u USING (n)", ["SELECT 1 FROM {} AS sales LEFT ANTI JOIN u USING (n)"]),
    ("SELECT n FROM sales RIGHT JOIN u USING (n) WHERE m", ["SELECT 1 FROM {} AS sales JOIN u USING (n)"]),
    (
        "SELECT n FROM u RIGHT JOIN sales USING (n) WHERE m",
        ["SELECT 1 FROM u RIGHT JOIN {} AS sales USING (n) WHERE m"],
    ),
    ("SELECT n FROM v JOIN u FULL JOIN sales USING (n) WHERE m", ["SELECT 1 FROM {} AS sales"]),
    ("SELECT n FROM v JOIN sales FULL JOIN u USING (n) WHERE m", ["SELECT 1 FROM v JOIN {} AS sales"]),
    (
        "SELECT 1 FROM sales a JOIN sales b ON a.n = b.m",
        [
            f"SELECT 1 FROM {{}} AS a JOIN {BOTH} AS b ON a.n = b.m",
            f"SELECT 1 FROM {BOTH} AS a JOIN {{}} AS b ON a.n = b.m",
        ],
    ),
]


@pytest.mark.parametrize(("sql", "wanted"), PROBES)
def test_probes(sql: str, wanted: list[str]) -> None:
    found = probes_of_both(parse(sql).tree, {"sales"}, {"sales"})
    assert sorted(probe.sql for probe in found) == sorted(each.format(PLACE) for each in wanted)
    assert all(probe.both for probe in found)


def test_where_rows_only_came_there_are_no_others() -> None:
    (probe, _) = probes_of_both(parse("SELECT 1 FROM sales a JOIN sales b").tree, {"sales"}, ())
    assert probe.sql == f"SELECT 1 FROM {PLACE} AS a JOIN sales AS b"


def test_a_subquery_that_mentions_the_query_around_it() -> None:
    """It is asked within that query: for the rows that conditions without subqueries let through."""
    sql = "SELECT n FROM u WHERE n > 1 AND (k OR NOT EXISTS (SELECT m FROM sales WHERE sales.m = u.n AND m < 9))"
    (probe,) = probes_of_both(parse(sql).tree, {"sales"}, ())
    inner = f"SELECT 1 FROM {PLACE} AS sales WHERE sales.m = u.n AND m < 9"
    assert (probe.sql, probe.within) == (inner, f"SELECT 1 FROM u WHERE n > 1 AND EXISTS({inner})")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n + 1 AS n FROM u GROUP BY n HAVING EXISTS (SELECT m FROM sales WHERE m = n)",
        "SELECT n FROM u JOIN v ON EXISTS (SELECT m FROM sales WHERE m = u.n)",
    ],
)
def test_a_subquery_that_is_not_asked_within_the_query_around_it(sql: str) -> None:
    (probe,) = probes_of_both(parse(sql).tree, {"sales"}, ())
    assert probe.within is None


@pytest.mark.parametrize(
    "sql",
    [
        "WITH sales AS (SELECT 1 AS n) SELECT n FROM sales JOIN u USING (n)",
        "WITH u AS (SELECT n FROM u JOIN sales USING (n)) SELECT n FROM u",
        "WITH x AS (SELECT n FROM u JOIN sales USING (n)), u AS (SELECT 1 AS n) SELECT n FROM u",
        "SELECT n FROM u WHERE n IN (WITH x AS (SELECT 1 AS m) SELECT m FROM sales JOIN x USING (m))",
        "SELECT n FROM sales TABLESAMPLE (3 ROWS)",
        "SELECT n FROM u TABLESAMPLE (3 ROWS) JOIN sales USING (n)",
        "SELECT * FROM sales PIVOT (sum(a) FOR b IN (1, 2))",
        "SELECT n FROM sales VERSION AS OF 3",
    ],
)
def test_where_no_probe_looks(sql: str) -> None:
    with pytest.raises(NotProvableError):
        probes_of_both(parse(sql).tree, {"sales"}, ())
