"""What ORDER BY and LIMIT leave open, and what not; Spark is played by a table of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from forward_lineage.checking import ordering
from forward_lineage.checking.ordering import Expected
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.results import Result
from forward_lineage.checking.values import Value

Answers = Mapping[str, Sequence[tuple[str, str]] | None]  # SQL → rows (key, value), None: Spark fails


@pytest.fixture
def asked() -> list[tuple[str, list[int]]]:
    """The texts whose sort keys were asked for, and which columns hold them."""
    return []


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, list[int]]]) -> Any:
    """Make what plain Spark gives for a query out of the answers."""
    monkeypatch.setattr(ordering, "failure_of", lambda error: None)

    def make(sql: str, answers: Answers) -> Expected:
        def rows_of(text: str) -> Result:
            found = answers[text]
            if found is None:
                raise ValueError("too many rows")
            return Result([("k", "int"), ("v", "int")], [Value(f"{key}{value}") for key, value in found])

        def keys_of(text: str, places: Sequence[int]) -> list[str]:
            asked.append((text, list(places)))
            return [key for key, _ in answers[text] or ()]

        monkeypatch.setattr(ordering, "collect", rows_of)
        monkeypatch.setattr(ordering, "json_of", keys_of)
        return Expected(sql, rows_of(sql), lambda text: text)  # type: ignore[arg-type,return-value]

    return make


def rows(*texts: str) -> list[Value]:
    return [Value(text) for text in texts]


ORDERED = "SELECT k, v FROM t ORDER BY k"
TOP = f"{ORDERED} LIMIT 3"
ALL = [("1", "a"), ("2", "b"), ("2", "c"), ("2", "d"), ("3", "e")]


def test_ties_may_come_in_any_order(expected: Any) -> None:
    plain = expected(ORDERED, {ORDERED: ALL})
    assert plain.compare(rows("1a", "2d", "2b", "2c", "3e")) is Rows.EQUAL
    assert plain.compare(rows("2b", "1a", "2c", "2d", "3e")) is Rows.DIFFERENT
    assert plain.compare(rows("1a", "2b", "2c", "2d", "3x")) is Rows.DIFFERENT


def test_without_order_by_any_order_will_do(expected: Any) -> None:
    sql = "SELECT k, v FROM t"
    assert expected(sql, {sql: ALL}).compare(rows("3e", "1a", "2b", "2d", "2c")) is Rows.EQUAL


def test_limit_cuts_ties_as_it_likes(expected: Any) -> None:
    plain = expected(TOP, {TOP: ALL[:3], ORDERED: ALL})
    assert plain.compare(rows("1a", "2d", "2c")) is Rows.UNDETERMINED
    assert plain.compare(rows("1a", "2d", "2d")) is Rows.DIFFERENT, "one row twice"
    assert plain.compare(rows("1a", "2d", "3e")) is Rows.DIFFERENT, "not a tie"
    assert plain.compare(rows("2c", "2d", "2b")) is Rows.DIFFERENT, "the first row ties with nothing"
    assert plain.compare(rows("1a", "2d")) is Rows.DIFFERENT


def test_what_was_cut_off_may_be_too_much(expected: Any) -> None:
    plain = expected(TOP, {TOP: ALL[:3], ORDERED: None})
    assert plain.compare(rows("1a", "2d", "2c")) is Rows.UNDETERMINED
    assert plain.compare(rows("1x", "2d", "2c")) is Rows.DIFFERENT


def test_limit_alone_takes_any_rows(expected: Any) -> None:
    plain = expected("SELECT k, v FROM t LIMIT 2", {"SELECT k, v FROM t LIMIT 2": ALL[:2], "SELECT k, v FROM t": ALL})
    assert plain.compare(rows("3e", "2d")) is Rows.UNDETERMINED
    assert plain.compare(rows("3e", "3e")) is Rows.DIFFERENT


@pytest.mark.parametrize(
    ("sql", "text", "places"),
    [
        ("SELECT k, v FROM t ORDER BY v, 1", "SELECT k, v FROM t ORDER BY v, 1", [1, 0]),
        ("SELECT * FROM t ORDER BY K", "SELECT * FROM t ORDER BY K", [0]),
        ("SELECT k, v FROM t ORDER BY x + 1", "SELECT k, v, x + 1 AS __check_key_2 FROM t ORDER BY x + 1", [2]),
        (
            "SELECT * FROM t ORDER BY x, k, y DESC",
            "SELECT *, x AS __check_key_1, y AS __check_key_2 FROM t ORDER BY x, k, y DESC",
            [2, 0, 3],
        ),
        ("SELECT k, v FROM t UNION SELECT k, v FROM u ORDER BY x", None, []),
        ("SELECT k, count(*) AS v FROM t GROUP BY ALL ORDER BY max(x)", None, []),
    ],
)
def test_where_sort_keys_stand(
    sql: str, text: str | None, places: list[int], expected: Any, asked: list[tuple[str, list[int]]]
) -> None:
    plain = expected(sql, {sql: ALL, str(text): ALL})
    assert plain.compare([*plain.plain.rows[1:], plain.plain.rows[0]]) is (
        Rows.EQUAL if text is None else Rows.DIFFERENT
    )
    assert asked == ([] if text is None else [(text, places)])
