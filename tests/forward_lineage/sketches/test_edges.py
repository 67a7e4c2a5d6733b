"""Ties at the edge of a top-k: seen, or nothing is captured."""

from __future__ import annotations

import pyarrow as pa
import pytest

from forward_lineage.frontend import parse
from forward_lineage.sketches.edges import Widened, widened
from forward_lineage.sketches.safety.verdicts import RunTimeCheck

EDGE = [RunTimeCheck("no tie", 2)]


@pytest.mark.parametrize(
    ("sql", "wide", "keys"),
    [
        ("SELECT a, b FROM t ORDER BY b DESC LIMIT 2", "SELECT a, b FROM t ORDER BY b DESC LIMIT 3", ("b",)),
        ("SELECT a FROM t ORDER BY 1 LIMIT 2", "SELECT a FROM t ORDER BY 1 LIMIT 3", ("a",)),
        ("SELECT a FROM t ORDER BY b LIMIT 2", "SELECT a, b AS __edge0 FROM t ORDER BY b LIMIT 3", ("__edge0",)),
        (
            "SELECT g, sum(v) AS s FROM t GROUP BY g ORDER BY s, count(*) LIMIT 2",
            "SELECT g, sum(v) AS s, count(*) AS __edge1 FROM t GROUP BY g ORDER BY s, count(*) LIMIT 3",
            ("s", "__edge1"),
        ),
        ("SELECT a FROM t LIMIT 1 OFFSET 1", "SELECT a FROM t LIMIT 3", ()),
    ],
)
def test_the_limit_is_one_higher_and_the_keys_are_there(sql: str, wide: str, keys: tuple[str, ...]) -> None:
    found = widened(parse(sql), EDGE)
    assert found is not None
    assert (found.sql, found.keys) == (wide, keys)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT a FROM t ORDER BY a + 1 LIMIT 2",
        "SELECT -a AS a FROM t ORDER BY a + 1 LIMIT 2",  # in the select list `a` is the column, in ORDER BY the item
        "SELECT a FROM t UNION SELECT b FROM t ORDER BY abs(a) LIMIT 2",
        "SELECT * FROM t ORDER BY 1 LIMIT 2",
    ],
)
def test_keys_that_are_not_to_be_had(sql: str) -> None:
    assert widened(parse(sql), EDGE) is None


@pytest.mark.parametrize(
    ("keys", "tied"),
    [([1, 2, 3], False), ([1, 2, 2], True), ([1, 1, 2], False), ([1, 2], False), ([1, None, None], True)],
)
def test_only_the_edge_counts(keys: list[int | None], tied: bool) -> None:
    rows = pa.table({"A": pa.array(keys, pa.int64())})
    assert Widened("", ("a",)).is_tied(rows, EDGE) is tied


def test_values_that_spark_takes_for_one_tie() -> None:
    nan = float("nan")
    assert Widened("", ("a",)).is_tied(pa.table({"a": [0.0, nan, nan]}), EDGE)
    assert Widened("", ("a",)).is_tied(pa.table({"a": [0.0, 0.0, -0.0]}), EDGE)


def test_what_cannot_be_compared_is_taken_for_a_tie() -> None:
    assert Widened("", ("a",)).is_tied(pa.table({"a": [[1], [2], [3]]}), EDGE)
    assert Widened("", ("b",)).is_tied(pa.table({"a": [1, 2, 3]}), EDGE)


def test_without_an_order_whatever_is_cut_off_ties() -> None:
    assert Widened("", ()).is_tied(pa.table({"a": [1, 2, 3]}), EDGE)
    assert not Widened("", ()).is_tied(pa.table({"a": [1, 2]}), EDGE)
