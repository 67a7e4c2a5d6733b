"""Which queries are proven by probes, and how a probe reads: text in, text out."""

from __future__ import annotations

import pytest

from forward_lineage.frontend import parse
from forward_lineage.store.updating.joining_rows import PLACE, NotProvableError, names_read, probes

PROBES = [
    (
        "SELECT item, sum(n) FROM sales s JOIN shops USING (shop) WHERE n > 3 AND item IN (SELECT i FROM u) GROUP BY 1",
        ["SELECT 1 FROM {} AS s JOIN shops USING (shop) WHERE n > 3 AND item IN (SELECT i FROM u)"],
    ),
    ("SELECT DISTINCT item FROM sales ORDER BY item", ["SELECT 1 FROM {} AS sales"]),
    ("SELECT count(n) FILTER (WHERE n > 1) FROM sales", ["SELECT 1 FROM {} AS sales"]),
    ("SELECT rank() OVER (ORDER BY n) FROM `sales`", ["SELECT 1 FROM {} AS `sales`"]),
    (
        "SELECT 1 FROM sales a, sales b WHERE a.x = b.y",
        [
            "SELECT 1 FROM {} AS a CROSS JOIN sales AS b WHERE a.x = b.y",
            "SELECT 1 FROM sales AS a CROSS JOIN {} AS b WHERE a.x = b.y",
        ],
    ),
    (
        "SELECT n FROM sales LEFT JOIN u ON sales.i = u.i UNION SELECT n FROM sales LEFT ANTI JOIN u ON sales.i = u.i",
        [
            "SELECT 1 FROM {} AS sales LEFT JOIN u ON sales.i = u.i",
            "SELECT 1 FROM {} AS sales LEFT ANTI JOIN u ON sales.i = u.i",
        ],
    ),
    (
        "SELECT x.n FROM (SELECT n, m + 1 AS k FROM sales WHERE n > 1) x WHERE k > 2",
        ["SELECT 1 FROM (SELECT n, m + 1 AS k FROM {} AS sales WHERE n > 1) AS x WHERE k > 2"],
    ),
    (
        "SELECT n FROM (SELECT max(n) AS n FROM u) x JOIN sales USING (n)",
        ["SELECT 1 FROM (SELECT MAX(n) AS n FROM u) AS x JOIN {} AS sales USING (n)"],
    ),
    ("SELECT n FROM u HAVING count(*) > (SELECT 1) LIMIT 1", []),
    ("WITH x AS (SELECT 1 AS n) SELECT n FROM sales", ["WITH x AS (SELECT 1 AS n) SELECT 1 FROM {} AS sales"]),
]


@pytest.mark.parametrize(("sql", "wanted"), PROBES)
def test_probes(sql: str, wanted: list[str]) -> None:
    found = probes(parse(sql).tree, {"SALES"})
    assert [probe.sql.lower() for probe in found] == [_as_printed(each.format(PLACE)) for each in wanted]
    assert {probe.table for probe in found} <= {"sales"}


def _as_printed(sql: str) -> str:
    return sql.replace("CROSS JOIN", ",").replace(" ,", ",").lower()


REFUSED = [
    ("SELECT n FROM sales GROUP BY n HAVING count(*) > 1", "it has HAVING"),
    ("SELECT n FROM sales QUALIFY rank() OVER (ORDER BY n) = 1", "it has QUALIFY"),
    ("SELECT n FROM sales ORDER BY n LIMIT 3", "it has LIMIT"),
    ("SELECT n FROM u UNION ALL (SELECT n FROM sales LIMIT 3)", "it has LIMIT"),
    ("(SELECT n FROM sales) LIMIT 3", "it has LIMIT"),
    ("SELECT n FROM sales OFFSET 3", "it has OFFSET"),
    ("SELECT n FROM sales TABLESAMPLE (3 ROWS)", "it has TABLESAMPLE"),
    ("SELECT n FROM sales LATERAL VIEW explode(a) t AS x", "it has LATERAL VIEW"),
    ("SELECT explode(a) FROM sales", "it makes rows of a value, as explode does"),
    ("WITH x AS (SELECT * FROM sales) SELECT n FROM x JOIN sales", "WITH reads a table that changed"),
    ("WITH RECURSIVE x AS (SELECT 1) SELECT n FROM sales", "it has WITH RECURSIVE"),
    ("SELECT n FROM u LEFT JOIN sales USING (n)", "a table that changed is in LEFT JOIN"),
    ("SELECT n FROM sales RIGHT JOIN u USING (n)", "a table that changed is in RIGHT JOIN"),
    ("SELECT n FROM sales FULL JOIN u USING (n)", "a table that changed is in FULL JOIN"),
    ("SELECT n FROM u LEFT ANTI JOIN sales USING (n)", "a table that changed is in LEFT ANTI JOIN"),
    ("SELECT n FROM u LEFT SEMI JOIN sales USING (n)", "a table that changed is in LEFT SEMI JOIN"),
    ("SELECT n FROM sales EXCEPT SELECT n FROM u", "EXCEPT may lose rows"),
    ("SELECT n FROM sales INTERSECT SELECT n FROM u", "INTERSECT may lose rows"),
    ("SELECT n FROM sales WHERE n > (SELECT avg(n) FROM sales)", "it asks a subquery about a table that changed"),
    ("SELECT n FROM sales JOIN u ON EXISTS (SELECT 1 FROM sales)", "it asks a subquery about a table that changed"),
    ("SELECT (SELECT max(n) FROM sales) FROM sales", "it asks a subquery about a table that changed"),
    ("SELECT n FROM u WHERE n NOT IN (SELECT n FROM sales)", "it asks a subquery about a table that changed"),
    ("SELECT * FROM (SELECT count(*) AS n FROM sales)", "a subquery in FROM selects more than values of a row"),
    ("SELECT * FROM (SELECT n FROM sales GROUP BY n)", "it has GROUP"),
    ("SELECT * FROM (SELECT DISTINCT n FROM sales)", "it has DISTINCT"),
    ("SELECT * FROM (SELECT n FROM sales UNION ALL SELECT n FROM u)", "a table that changed is behind FROM in a way"),
    ("SELECT * FROM sales PIVOT (sum(a) FOR b IN (1, 2))", "it has PIVOT"),
    ("SELECT n FROM sales VERSION AS OF 3", "it has VERSION"),
    ("SELECT n FROM sales CLUSTER BY n", "it has CLUSTER"),
]


@pytest.mark.parametrize(("sql", "reason"), REFUSED)
def test_what_is_not_proven(sql: str, reason: str) -> None:
    with pytest.raises(NotProvableError) as refused:
        probes(parse(sql).tree, {"sales"})
    assert str(refused.value).startswith(reason)


def test_names() -> None:
    tree = parse("WITH x AS (SELECT * FROM a.T) SELECT * FROM x JOIN `u v` WHERE n IN (SELECT id FROM range(3))").tree
    assert names_read(tree) == {"a.t", "u v"}
    with pytest.raises(NotProvableError, match="it reads _metadata of files"):
        names_read(parse("SELECT _metadata.file_path FROM sales").tree)
    with pytest.raises(NotProvableError, match="it reads a table function"):
        names_read(parse("SELECT * FROM read_files('x')").tree)
