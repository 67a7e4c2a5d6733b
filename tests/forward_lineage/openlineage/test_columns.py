"""Column lineage, read from trees: what is known is right, what is not certain is unknown, with a reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from forward_lineage.frontend.rewriting import query_of
from forward_lineage.frontend.statement import parse
from forward_lineage.openlineage.columns import column_lineage
from forward_lineage.openlineage.scopes import Unknown
from rewrites.tables import BaseTable, Source, View

TABLES: dict[str, Source] = {
    "s": BaseTable("s", ("id", "k", "x", "tags"), "s", "id"),
    "t": BaseTable("t", ("k", "name", "y"), "t", "k"),
    "v": View("v", ("a", "b"), "SELECT k, name || y FROM t"),
}


def find(parts: Sequence[str]) -> Source | None:
    return TABLES.get(parts[-1].lower())


def lineage(sql: str, *names: str) -> dict[str, str]:
    """Column → its fields as words, or why they are not known."""
    found = column_lineage(query_of(parse(sql).tree), find, names)
    return {
        name: f"? {made.why}" if isinstance(made, Unknown) else " ".join(sorted(".".join(each) for each in made))
        for name, made in found.items()
    }


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT x, x + id AS z, 1 AS one FROM s", {"x": "s.x", "z": "s.id s.x", "one": ""}),
        ("SELECT sum(x) AS a, count(*) AS n, max(x) FROM s GROUP BY k", {"a": "s.x", "n": "", "max(x)": "s.x"}),
        ("SELECT S.X AS up, s.x.f.g AS f FROM s", {"up": "s.x", "f": "s.x"}),
        ("SELECT cat.db.s.x AS x FROM cat.db.s", {"x": "s.x"}),
        ("SELECT a.k, b.k AS bk FROM t a JOIN s b ON a.k = b.id", {"k": "t.k", "bk": "s.k"}),
        ("SELECT * FROM t", {"k": "t.k", "name": "t.name", "y": "t.y"}),
        ("SELECT * EXCEPT (name) FROM t", {"k": "t.k", "y": "t.y"}),
        ("SELECT t.* FROM s, t", {"k": "t.k", "name": "t.name", "y": "t.y"}),
        ("SELECT x + 1 AS z, z * k AS w FROM s", {"z": "s.x", "w": "s.k s.x"}),
        ("SELECT k + 1 AS x, x AS again FROM s", {"x": "s.k", "again": "s.x"}),
        ("WITH c(m) AS (SELECT max(x) FROM s) SELECT m, name FROM c, t", {"m": "s.x", "name": "t.name"}),
        ("WITH t AS (SELECT x FROM s), u AS (SELECT * FROM t) SELECT * FROM u", {"x": "s.x"}),
        ("SELECT q.n FROM (SELECT name AS n FROM t) q", {"n": "t.name"}),
        ("SELECT a, b FROM v", {"a": "t.k", "b": "t.name t.y"}),
        ("SELECT x FROM s UNION ALL SELECT y FROM t", {"x": "s.x t.y"}),
        ("SELECT x FROM s EXCEPT SELECT y FROM t", {"x": "s.x"}),
        ("SELECT x FROM s INTERSECT SELECT y FROM t", {"x": "s.x"}),
        ("SELECT (SELECT max(y) FROM t WHERE t.k = s.k) AS best FROM s", {"best": "t.y"}),
        ("SELECT (SELECT max(y + s.x) FROM t) AS best FROM s", {"best": "s.x t.y"}),
        ("SELECT n FROM s, LATERAL (SELECT s.x + y AS n FROM t)", {"n": "s.x t.y"}),
        ("SELECT g FROM s LATERAL VIEW explode(tags) e AS g", {"g": "s.tags"}),
        ("SELECT explode(map(x, k)) AS (a, b) FROM s", {"a": "s.k s.x", "b": "s.k s.x"}),
        ("SELECT transform(tags, e -> e + x) AS z FROM s", {"z": "s.tags s.x"}),
        ("SELECT struct(*) AS all FROM t", {"all": "t.k t.name t.y"}),
        ("SELECT sum(x) OVER (PARTITION BY k ORDER BY id) AS r FROM s", {"r": "s.id s.k s.x"}),
        ("SELECT sum(x) OVER w AS r FROM s WINDOW w AS (PARTITION BY k)", {"r": "s.k s.x"}),
        ("SELECT a, b FROM VALUES (1, 2) AS q(a, b)", {"a": "", "b": ""}),
        ("SELECT id FROM range(3)", {"id": ""}),
        ("SELECT x FROM s LEFT SEMI JOIN t ON s.k = t.k", {"x": "s.x"}),
        ("SELECT cast(x AS string), CASE WHEN k = 1 THEN id END AS c FROM s", {"x": "s.x", "c": "s.id s.k"}),
    ],
)
def test_known(sql: str, expected: dict[str, str]) -> None:
    assert lineage(sql, *expected) == expected


MERGED = ("k", "id", "x", "tags", "name", "y")
REST = {"id": "s.id", "x": "s.x", "tags": "s.tags", "name": "t.name", "y": "t.y"}


@pytest.mark.parametrize(
    ("join", "key"),
    [("JOIN", "s.k"), ("LEFT JOIN", "s.k"), ("RIGHT JOIN", "t.k"), ("FULL JOIN", "s.k t.k")],
)
def test_columns_that_a_join_merges(join: str, key: str) -> None:
    assert lineage(f"SELECT * FROM s {join} t USING (k)", *MERGED) == {"k": key, **REST}
    assert lineage(f"SELECT * FROM s NATURAL {join} t", *MERGED) == {"k": key, **REST}
    assert lineage(f"SELECT k, s.k AS l, t.k AS r FROM s {join} t USING (k)", "k", "l", "r") == {
        "k": key,
        "l": "s.k",
        "r": "t.k",
    }


@pytest.mark.parametrize(
    ("sql", "column", "reason"),
    [
        ("SELECT k FROM s, t", "k", "one of several"),
        ("SELECT nothing FROM s", "nothing", "no column that is known here"),
        ("SELECT k IN (SELECT k FROM t) AS z FROM s", "z", "predicate with a subquery"),
        ("SELECT EXISTS (SELECT 1 FROM t) AS z FROM s", "z", "predicate with a subquery"),
        ("SELECT x FROM unregistered", "x", "not registered"),
        ("SELECT x FROM s PIVOT (sum(id) FOR k IN (1))", "x", "PIVOT"),
        ("SELECT x FROM s UNION BY NAME SELECT y AS x FROM t", "x", "BY NAME"),
        ("SELECT c FROM explode(array(1)) AS q(c)", "c", "table function"),
        ("SELECT s.* FROM s JOIN t USING (k)", "id", "in which order"),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", "n", "recursive"),
        ("SELECT x, k FROM s", "x", "in another way than Spark"),
        ("SELECT k AS z FROM s", "x", "in another way than Spark"),
        ("SELECT (SELECT y + z FROM t) AS w, x AS z FROM s", "w", "no column that is known here"),
    ],
)
def test_unknown(sql: str, column: str, reason: str) -> None:
    names = {"x": ("x",), "id": ("id", "x", "tags"), "w": ("w", "z")}.get(column, (column,))
    assert reason in lineage(sql, *names)[column]


def test_what_is_unknown_of_one_column_is_known_of_another() -> None:
    assert lineage("SELECT x, EXISTS (SELECT 1 FROM t) AS e FROM s", "x", "e")["x"] == "s.x"
    assert "several columns" in lineage("SELECT x, k AS X FROM s", "x", "X")["x"]
