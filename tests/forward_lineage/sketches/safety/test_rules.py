"""Each operator's rule, by examples: the SQL, the sketch's column, whether it is proven, what is to be seen."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.facts import ColumnFacts, Facts
from forward_lineage.sketches.safety.proving import prove

KEY, SMALL = ColumnFacts("int", 0, 999, False, unique=True), ColumnFacts("int", 0, 9, False)
FACTS = Facts(
    {
        "t": {"id": KEY, "g": SMALL, "v": SMALL, "n": ColumnFacts("int", -9, 9), "s": ColumnFacts("string")},
        "u": {"uid": KEY, "g": SMALL, "w": SMALL, "f": ColumnFacts("double"), "l": ColumnFacts("bigint")},
    }
)

PROVEN = {
    "monotone": ("SELECT id FROM t WHERE v > 3 AND s LIKE 'a%'", "v"),
    "join": ("SELECT * FROM t JOIN u ON t.g = u.g", "v"),
    "global aggregate": ("SELECT sum(n), avg(n), min(s), count(DISTINCT v) FROM t WHERE v > 1", "v"),
    "groups returned": ("SELECT g, avg(v) FROM t GROUP BY g", "v"),
    "count in the direction of HAVING": ("SELECT g FROM t GROUP BY g HAVING count(*) > 2", "v"),
    "sum of what is not negative": ("SELECT g FROM t GROUP BY g HAVING sum(v) >= 5", "v"),
    "max of either sign": ("SELECT g FROM t GROUP BY g HAVING max(n) > -3", "v"),
    "min of either sign": ("SELECT g FROM t GROUP BY g HAVING min(n) < 3", "v"),
    "sign by WHERE": ("SELECT g FROM t WHERE n > 0 GROUP BY g HAVING sum(n) > 7", "v"),
    "arithmetic": ("SELECT g FROM t GROUP BY g HAVING 2 * sum(v) + count(*) > 7", "v"),
    "whole groups": ("SELECT g FROM t GROUP BY g HAVING avg(v) < 2", "g"),
    "whole groups by an equal column": ("SELECT u.g FROM t JOIN u ON t.g = u.g GROUP BY u.g HAVING avg(v) < 2", "g"),
    "whole groups by a key": ("SELECT id FROM t GROUP BY id HAVING sum(n) < 2", "v"),
    "groups of a literal": ("SELECT count(*) FROM t WHERE g = 3 GROUP BY v HAVING avg(n) < 2", "g"),
    "top-k by a sum": ("SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 3", "v"),
    "nested": ("SELECT max(c) FROM (SELECT g, count(*) AS c FROM t GROUP BY g)", "v"),
    "EXISTS": ("SELECT uid FROM u WHERE EXISTS (SELECT * FROM t WHERE t.g = u.g)", "v"),
    "IN": ("SELECT uid FROM u WHERE g IN (SELECT g FROM t)", "v"),
    "NOT EXISTS of the same column": ("SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM t o WHERE o.g = t.g AND o.v > t.v)", "g"),  # noqa: E501
    "NOT EXISTS by a key": ("SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM t o WHERE o.id = t.id AND o.v > 3)", "v"),
    "above a maximum": ("SELECT id FROM t a WHERE v <= (SELECT max(v) FROM t b WHERE b.g = a.g)", "v"),
    "whole or empty": ("SELECT uid FROM u WHERE w < (SELECT avg(v) FROM t WHERE t.g = u.g)", "g"),
    "left join, kept": ("SELECT u.uid, count(id) FROM u LEFT JOIN t ON t.g = u.g GROUP BY u.uid", "v"),
    "left join, asked for the right": ("SELECT uid FROM u LEFT JOIN t ON t.g = u.g WHERE v > 3", "v"),
    "left join of the same column": ("SELECT a.id FROM t a LEFT JOIN t b ON a.g = b.g WHERE b.v IS NULL", "g"),
    "semi join": ("SELECT uid FROM u LEFT SEMI JOIN t ON t.g = u.g", "v"),
    "union": ("SELECT g FROM t UNION SELECT g FROM u", "v"),
    "intersect": ("SELECT g FROM t INTERSECT SELECT w FROM u", "v"),
    "except, left": ("SELECT v FROM t EXCEPT SELECT w FROM u", "g"),
    "except of the same column": ("SELECT g FROM t WHERE v > 3 EXCEPT SELECT g FROM t WHERE v < 2", "g"),
    "window, kept": ("SELECT id, rank() OVER (PARTITION BY g ORDER BY v) FROM t", "v"),
    "window, whole": ("SELECT * FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY v) r FROM t) WHERE r = 1", "g"),
    "window, falling": ("SELECT id FROM (SELECT id, count(*) OVER (PARTITION BY g) c FROM t) WHERE c > 2", "v"),
    "a CTE twice": ("WITH c AS (SELECT g, count(*) AS k FROM t GROUP BY g) SELECT * FROM c a JOIN c b ON a.g = b.g", "g"),  # noqa: E501
    "limit by a key": ("SELECT id FROM t ORDER BY id LIMIT 3 OFFSET 2", "v"),
    "limit by a group's key": ("SELECT g, count(*) AS c FROM t GROUP BY g ORDER BY g, c LIMIT 3", "v"),
    "limit of one row": ("SELECT count(*) FROM t LIMIT 1", "v"),
    "nothing is asked": ("SELECT id FROM t WHERE id IS NULL AND v NOT IN (SELECT v FROM t)", "v"),
}  # fmt: skip

NOT_PROVEN = {
    "against the direction": ("SELECT g FROM t GROUP BY g HAVING count(*) < 2", "v"),
    "equal to a count": ("SELECT g FROM t GROUP BY g HAVING count(*) = 2", "v"),
    "sum of either sign": ("SELECT g FROM t GROUP BY g HAVING sum(n) > 5", "v"),
    "average": ("SELECT g FROM t GROUP BY g HAVING avg(v) > 5", "v"),
    "top-k by an average": ("SELECT g, avg(v) AS a FROM t GROUP BY g ORDER BY a DESC, g LIMIT 3", "v"),
    "bottom-k by a sum": ("SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s, g LIMIT 3", "v"),
    "NULL comes first": ("SELECT g, max(n) AS m FROM t GROUP BY g ORDER BY m DESC NULLS FIRST, g LIMIT 3", "v"),
    "NOT EXISTS": ("SELECT uid FROM u WHERE NOT EXISTS (SELECT * FROM t WHERE t.g = u.g)", "g"),
    "NOT IN": ("SELECT id FROM t WHERE g NOT IN (SELECT v FROM t o WHERE o.n > t.n)", "s"),
    "left join, NULL asked for": ("SELECT uid FROM u LEFT JOIN t ON t.g = u.g WHERE id IS NULL", "g"),
    "left join, groups": ("SELECT v, count(*) AS c FROM u LEFT JOIN t ON t.g = u.g GROUP BY v HAVING count(*) > 1", "g"),  # noqa: E501
    "except, right": ("SELECT w FROM u EXCEPT SELECT v FROM t", "v"),
    "limit within": ("SELECT * FROM (SELECT id, v FROM t ORDER BY id LIMIT 3) WHERE v > 2", "v"),
    "a rank in WHERE": ("SELECT id FROM (SELECT id, rank() OVER (PARTITION BY g ORDER BY v) r FROM t) WHERE r = 1", "v"),  # noqa: E501
    "groups by a count": ("SELECT c, count(*) FROM (SELECT g, count(*) AS c FROM t GROUP BY g) WHERE c > 1 GROUP BY c HAVING count(*) > 1", "v"),  # noqa: E501
    "order by a window": ("SELECT id FROM t ORDER BY rank() OVER (PARTITION BY g ORDER BY v), id LIMIT 2", "g"),
    "division": ("SELECT g FROM t GROUP BY g HAVING 10 / (count(*) - 2) > 1", "v"),
    "division by a padded value": ("SELECT uid FROM u LEFT JOIN t ON t.g = u.g WHERE 1 / coalesce(v, 0) > 0", "g"),
    "chance": ("SELECT id FROM t WHERE rand() < 0.5", "v"),
    "floats": ("SELECT g, sum(f) FROM u JOIN t USING (g) GROUP BY g", "v"),
    "a user's function": ("SELECT mine(id) FROM t", "v"),
    "first": ("SELECT g, first(v) FROM t GROUP BY g", "g"),
    "a value made over no rows": ("SELECT max(c) FROM (SELECT coalesce(sum(v), 7) AS c FROM t WHERE g = 3) WHERE c > 1", "g"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str) -> None:
    sql, column = PROVEN[name]
    verdict = prove(parse(sql), {"t": column}, FACTS)
    assert verdict.safe, verdict.why


@pytest.mark.parametrize("name", NOT_PROVEN)
def test_not_proven(name: str) -> None:
    sql, column = NOT_PROVEN[name]
    assert not prove(parse(sql), {"t": column}, FACTS).safe


@pytest.mark.parametrize(
    ("sql", "checks"),
    [
        ("SELECT g, v FROM t ORDER BY v LIMIT 3", [("no tie", 3)]),
        ("SELECT g, v FROM t ORDER BY v, g LIMIT 3", []),
        ("SELECT g, v FROM t ORDER BY v LIMIT 3 OFFSET 2", [("no tie", 2), ("no tie", 5)]),
        ("SELECT g, v FROM t LIMIT 3", [("no tie", 3)]),
        ("SELECT id FROM t WHERE v > (SELECT avg(v) FROM t)", [("rows", 1)]),
        ("SELECT g FROM t GROUP BY g HAVING avg(n) > 2 * (SELECT avg(v) FROM t)", [("rows", 1)]),
    ],
)
def test_what_is_to_be_seen_at_capture(sql: str, checks: list[tuple[str, int]]) -> None:
    verdict = prove(parse(sql), {"t": "g"}, FACTS)
    assert verdict.safe
    assert [(check.kind, check.row) for check in verdict.checks] == checks


def test_a_verdict_says_where() -> None:
    verdict = prove(parse("SELECT g\nFROM t GROUP BY g HAVING count(*) < 2"), {"t": "v"}, FACTS)
    assert "may be true over the sketch" in verdict.why
    assert "line 2" in verdict.why


def test_one_witness() -> None:
    nested = "SELECT max(a) FROM (SELECT g, avg(v) AS a FROM t GROUP BY g)"
    assert prove(parse(nested), {"t": "v"}, FACTS).safe
    assert not prove(parse(nested), {"t": "v"}, FACTS, one_witness=True).safe
    assert prove(parse(nested.replace("avg", "count")), {"t": "v"}, FACTS, one_witness=True).safe


def test_integers_that_wrap_around() -> None:
    sql = "SELECT g FROM u GROUP BY g HAVING sum(l) > 5"
    facts = Facts({"u": {**FACTS.tables["u"], "l": ColumnFacts("bigint", 0, 2**62)}}, ansi=False)
    assert not prove(parse(sql), {"u": "w"}, facts).safe
    assert prove(parse(sql), {"u": "w"}, Facts(facts.tables)).safe
    assert not prove(parse(sql.replace("sum(l)", "sum(w * w)")), {"u": "w"}, facts).safe


def test_what_is_not_known_is_not_proven() -> None:
    assert not prove(parse("SELECT x FROM nowhere"), {}, FACTS).safe
    assert not prove(parse("SELECT id FROM t"), {"t": "nothing"}, FACTS).safe
    assert not prove(parse("SELECT g FROM t GROUP BY ROLLUP (g)"), {"t": "g"}, FACTS).safe


def test_a_subquery_in_a_select_list_that_is_asked_for() -> None:
    inner = "SELECT id, v IN (SELECT w FROM u WHERE u.g = t.g) AS there, g FROM t"
    assert prove(parse(f"SELECT id FROM ({inner}) WHERE there OR g > 3"), {"t": "v"}, FACTS).safe
    assert not prove(parse(f"SELECT id FROM ({inner}) WHERE NOT there OR g > 3"), {"u": "w"}, FACTS).safe
