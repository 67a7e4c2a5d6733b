"""BACKWARD(…) and FORWARD(…) in FROM: found where tables stand, nowhere else; the rest keeps its place."""

from __future__ import annotations

import pytest

from forward_lineage import Catalog, LineageError, rewrite_sql
from forward_lineage.frontend import explain_sql
from forward_lineage.frontend.consuming import LineageCall, find_calls, with_names
from udafs.errors import NotTracedError, Position, WrongSqlError


def only(sql: str) -> LineageCall:
    (found,) = find_calls(sql)
    return found.call


def masked(sql: str) -> str:
    calls = find_calls(sql)
    left = with_names(sql, calls, [f"__dl00{i}" for i in range(len(calls))])
    assert len(left) == len(sql)
    assert [i for i, c in enumerate(left) if c == "\n"] == [i for i, c in enumerate(sql) if c == "\n"]
    return " ".join(left.split())


def test_what_it_says() -> None:
    sql = "SELECT a\nFROM\n  backward (report where region = 'EU' AND f(a, b) /* , */, db.`line item`) AS l"
    call = only(sql)
    assert (call.function, call.source, call.target) == ("BACKWARD", ("report",), ("db", "line item"))
    assert call.at == Position(3, 3)
    assert call.condition is not None
    assert call.condition.text.rstrip() == "region = 'EU' AND f(a, b)"
    assert call.condition.at == Position(3, 26)


def test_a_function_within_a_function_is_its_source() -> None:
    sql = "SELECT * FROM FORWARD(BACKWARD(v1 WHERE a = ?, x) WHERE b = ?, v2) WHERE c = ?"
    call = only(sql)
    inner = call.source
    assert isinstance(inner, LineageCall)
    assert (call.function, call.target, inner.function, inner.source) == ("FORWARD", ("v2",), "BACKWARD", ("v1",))
    assert inner.condition and inner.condition.marks == (0,)
    assert call.condition and call.condition.marks == (1,)
    assert call.name == ("v1",)


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("SELECT * FROM BACKWARD(r, t)", "SELECT * FROM __dl000 t"),
        ("SELECT * FROM BACKWARD(r, t) b", "SELECT * FROM __dl000 b"),
        ("SELECT * FROM BACKWARD(r, t) AS b(x, y)", "SELECT * FROM __dl000 AS b(x, y)"),
        ("SELECT * FROM BACKWARD(r, t) `b`", "SELECT * FROM __dl000 `b`"),
        ("SELECT * FROM BACKWARD(r, c.`t u`) WHERE a", "SELECT * FROM __dl000 `t u` WHERE a"),
        ("SELECT * FROM a, BACKWARD(r, t), b", "SELECT * FROM a, __dl000 t , b"),
        ("SELECT * FROM a JOIN BACKWARD(r, t) USING (k)", "SELECT * FROM a JOIN __dl000 t USING (k)"),
        ("SELECT * FROM a JOIN b ON f(1, 2), FORWARD(t, r)", "SELECT * FROM a JOIN b ON f(1, 2), __dl000 r"),
        ("SELECT * FROM (BACKWARD(r, t) JOIN u)", "SELECT * FROM (__dl000 t JOIN u)"),
        ("SELECT (SELECT 1 FROM FORWARD(t, r)) FROM u", "SELECT (SELECT 1 FROM __dl000 r ) FROM u"),
        ("FROM BACKWARD(r, t) SELECT a", "FROM __dl000 t SELECT a"),
        (
            "WITH w AS (SELECT * FROM BACKWARD(r, t)) SELECT * FROM w",
            "WITH w AS (SELECT * FROM __dl000 t ) SELECT * FROM w",
        ),
        (
            "SELECT * FROM BACKWARD(r, t) UNION SELECT * FROM FORWARD(t WHERE a, r)",
            "SELECT * FROM __dl000 t UNION SELECT * FROM __dl001 r",
        ),
        ("INSERT INTO u SELECT * FROM BACKWARD(r\nWHERE a, t\n)", "INSERT INTO u SELECT * FROM __dl000 t"),
    ],
)
def test_where_tables_stand(sql: str, left: str) -> None:
    assert masked(sql) == left


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT backward(a, b), forward(a, b) FROM t",
        "SELECT a, backward(b, c) FROM t WHERE forward(a, b) GROUP BY backward(a, b), forward(a, b)",
        "SELECT extract(DAY FROM backward(a, b)) FROM t",
        "SELECT trim(BOTH 'x' FROM backward(a, b)) FROM t",
        "SELECT * FROM t WHERE a IS NOT DISTINCT FROM backward(a, b)",
        "SELECT * FROM t WHERE a IS DISTINCT FROM backward(a, b)",
        "SELECT * FROM range(1, backward(a, b))",
        "SELECT * FROM t JOIN u ON t.a = backward(u.a, u.b)",
        "SELECT backward FROM forward",
        "SELECT * FROM t AS backward, u AS forward(a, b)",
        "SELECT * FROM db.backward(a, b)",
        "SELECT * FROM backward(1, 2)",
        "SELECT * FROM backward(a)",
        "SELECT * FROM backward(a, b, c)",
        "SELECT * FROM `backward`(a, b)",
        "WITH x AS (SELECT 1), backward(a, b) AS (SELECT 1, 2 WHERE true) SELECT * FROM backward",
        "WITH backward (SELECT 1 WHERE true) SELECT * FROM backward",
        "INSERT INTO backward (a, b) SELECT 1, 2",
        "SELECT 'FROM BACKWARD(r, t)' -- FROM BACKWARD(r, t)",
        "SELECT a FROM t WINDOW w AS (ORDER BY a), backward AS (ORDER BY b)",
    ],
)
def test_other_things_of_these_names(sql: str) -> None:
    assert find_calls(sql) == []


@pytest.mark.parametrize(
    ("sql", "error", "place", "said"),
    [
        ("SELECT * FROM BACKWARD(r WHERE a)", WrongSqlError, 15, "malformed BACKWARD"),
        ("SELECT * FROM BACKWARD(r WHERE a, t, u)", WrongSqlError, 15, "malformed BACKWARD"),
        ("SELECT * FROM BACKWARD(1 WHERE a, t)", WrongSqlError, 15, "malformed BACKWARD"),
        ("SELECT * FROM BACKWARD(r WHERE , t)", WrongSqlError, 26, "WHERE without a condition"),
        ("SELECT * FROM t WHERE a IN FORWARD(r WHERE a, t)", WrongSqlError, 28, "where no table can stand"),
        ("SELECT * FROM BACKWARD(r WHERE a = (SELECT 1), t)", NotTracedError, 37, "a subquery in the condition"),
        ("SELECT * FROM BACKWARD(r, t) TABLESAMPLE (1 ROWS)", NotTracedError, 30, "a sample"),
        ("SELECT * FROM BACKWARD(r, t) LINEAGE ON a", NotTracedError, 30, "LINEAGE ON"),
    ],
)
def test_a_malformed_function_is_told_by_its_place(sql: str, error: type[LineageError], place: int, said: str) -> None:
    with pytest.raises(error, match=said) as refusal:
        find_calls(sql)
    assert refusal.value.at == Position(1, place)
    assert refusal.value.instead


@pytest.mark.parametrize("asked", [rewrite_sql, explain_sql])
def test_no_text_says_what_was_saved(asked: object) -> None:
    catalog = Catalog()
    catalog.register("t", ["a"], key="a")
    with pytest.raises(NotTracedError, match=r"asks saved results.*lineage\.sql") as refusal:
        asked("SELECT * FROM BACKWARD(r, t)", catalog)  # type: ignore[operator]
    assert refusal.value.at == Position(1, 15)
