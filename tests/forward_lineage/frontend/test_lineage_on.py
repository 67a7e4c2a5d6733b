"""LINEAGE ON at the end of a statement: found, and told from an alias of that name."""

from __future__ import annotations

import pytest

from forward_lineage.frontend import parse
from forward_lineage.frontend.dialect import print_sql


@pytest.mark.parametrize(
    ("clause", "expressions"),
    [
        ("LINEAGE ON a", ["a"]),
        ("lineage on a, t.c", ["a", "t.c"]),
        ("LINEAGE ON a, f(b, 'x'), t.c", ["a", "f(b, 'x')", "t.c"]),
        ("LINEAGE ON (a, b)", ["a", "b"]),
        ("LINEAGE ON (a)", ["a"]),
        ("LINEAGE ON ( )", []),
        ("LINEAGE ON (a + b) * 2, c", ["(a + b) * 2", "c"]),
        ("LINEAGE ON (f(a), (b + 1))", ["f(a)", "(b + 1)"]),
        ("LINEAGE ON year(a), CAST(b AS INT)::STRING", ["year(a)", "CAST(CAST(b AS INT) AS STRING)"]),
        ("LINEAGE /* the granules */ ON -- of t\n a", ["a"]),
        ("LINEAGE\nON\na ;", ["a"]),
        (
            "LINEAGE ON `lineage on`, m['x'], CASE WHEN a THEN b END",
            ["`lineage on`", "m['x']", "CASE WHEN a THEN b END"],
        ),
        ("LINEAGE ON extract(YEAR FROM a), DATE '2000-01-01'", ["extract(YEAR FROM a)", "DATE '2000-01-01'"]),
    ],
)
def test_lineage_on(clause: str, expressions: list[str]) -> None:
    statement = parse(f"SELECT a FROM t {clause}")
    assert statement.text == "SELECT a FROM t"
    assert print_sql(statement.tree) == "SELECT a FROM t"
    assert statement.lineage_on is not None
    assert [print_sql(expression) for expression in statement.lineage_on] == expressions


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lineage on_x FROM t",
        "SELECT lineage FROM t",
        "SELECT 'x lineage on y' FROM t",
        "SELECT a FROM t -- lineage on a",
        "SELECT a /* lineage on a */ FROM t",
        "SELECT `lineage` FROM `lineage on`",
        "SELECT t.lineage FROM t JOIN u ON t.a = u.a",
        "SELECT * FROM a JOIN b lineage ON a.x = lineage.x",
        "SELECT * FROM a JOIN b AS lineage ON a.x = b.x",
        "SELECT * FROM (SELECT * FROM a JOIN b lineage ON a.x = lineage.x)",
        "SELECT * FROM a JOIN (SELECT 1 AS x) lineage ON a.x = lineage.x",
    ],
)
def test_no_lineage_clause(sql: str) -> None:
    statement = parse(sql)
    assert statement.lineage_on is None
    assert statement.text == sql.partition(" --")[0]  # a comment behind the last word is left out


@pytest.mark.parametrize(
    "before",
    [
        "SELECT * FROM a, b",
        "SELECT * FROM a CROSS JOIN b",
        "SELECT * FROM a NATURAL JOIN b",
        "SELECT * FROM a JOIN b x",
        "SELECT * FROM a JOIN b USING (c)",
        "SELECT * FROM a JOIN b ON a.x = b.x",
        "SELECT a FROM t WHERE b",
        "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1",
        "SELECT a FROM t UNION SELECT b FROM u",
        "CREATE TABLE x AS SELECT a FROM t",
        "INSERT INTO x SELECT a FROM t",
        "WITH c AS (SELECT 1) SELECT * FROM c",
    ],
)
def test_lineage_on_behind_every_kind_of_statement(before: str) -> None:
    statement = parse(f"{before} LINEAGE ON t.c")
    assert statement.text == before
    assert statement.lineage_on is not None
    assert [print_sql(expression) for expression in statement.lineage_on] == ["t.c"]
