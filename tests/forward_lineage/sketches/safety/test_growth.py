"""Which sketches may grow when rows are appended."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.facts import ColumnFacts, Facts
from forward_lineage.sketches.safety.growth import grows

FACTS = Facts(
    {
        "t": {name: ColumnFacts("bigint", 0, 100, nulls=False) for name in ("id", "g", "v")},
        "u": {name: ColumnFacts("bigint", 0, 100, nulls=False) for name in ("g", "w")},
    }
)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, v FROM t WHERE v > 5",
        "SELECT DISTINCT v FROM t WHERE v > 5",
        "SELECT sum(v) AS s FROM t WHERE g < 5",
        "SELECT v, count(*) AS n FROM t WHERE g < 5 GROUP BY v",
        "SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) < 5",
        "SELECT max(s) AS m FROM (SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 5)",
        "SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3",
        "SELECT g, min(v) AS s FROM t GROUP BY g ORDER BY s, g LIMIT 3",
        "SELECT g, v FROM t ORDER BY v, g LIMIT 3",
        "SELECT t.g, sum(w) AS s FROM t JOIN u ON t.g = u.g GROUP BY t.g HAVING sum(w) > 5",
        "SELECT t.g, w FROM t LEFT JOIN u ON t.g = u.g WHERE v > 5",
        "SELECT g FROM t WHERE v > (SELECT max(w) FROM u)",
        "SELECT g FROM t WHERE NOT EXISTS (SELECT 1 FROM t s WHERE s.g = t.g AND s.v > t.v)",
        "SELECT g, v, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t",
        "SELECT a.g, b.v FROM t a JOIN t b ON a.g = b.g WHERE a.v > b.v",
        "SELECT g FROM t WHERE v > 5 UNION ALL SELECT w FROM u",
    ],
)
def test_it_grows(sql: str) -> None:
    assert grows(parse(sql), "t", "g", FACTS), grows(parse(sql), "t", "g", FACTS).why


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT v, count(*) AS n FROM t GROUP BY v HAVING count(*) > 5", "old rows in other fragments"),
        ("SELECT sum(v) AS s FROM t HAVING sum(v) > 5", "old rows in other fragments"),
        ("SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s, g LIMIT 3", "leave the top"),
        ("SELECT g, avg(v) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3", "leave the top"),
        ("SELECT v, sum(g) AS s FROM t GROUP BY v ORDER BY s DESC, v LIMIT 3", "old rows in other fragments"),
        ("SELECT g, v FROM t ORDER BY v LIMIT 3", "seen when the sketch was captured"),
        ("SELECT g, v FROM t ORDER BY v, g LIMIT 3 OFFSET 1", "OFFSET"),
        ("SELECT a.g, b.v FROM t a JOIN t b ON a.id = b.v", "old rows in other fragments"),
        ("SELECT w FROM u LEFT JOIN t ON t.v = u.w", "old rows in other fragments"),
        ("SELECT w FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.v = u.w)", "other"),
        ("SELECT w FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.v = u.w)", ""),
        ("SELECT w FROM u EXCEPT SELECT v FROM t", ""),
    ],
)
def test_it_does_not(sql: str, why: str) -> None:
    verdict = grows(parse(sql), "t", "g", FACTS)
    assert not verdict and why in verdict.why
