"""Windows by reference: which blocks, and how a frame is written."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed

pytestmark = pytest.mark.usefixtures("newest_spelling")
PLACE = "count(1) OVER ({spec} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"


@pytest.mark.parametrize(
    ("spec", "last"),
    [
        ("PARTITION BY k ORDER BY v", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (
            "PARTITION BY k ORDER BY v ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
        ),
        ("PARTITION BY k ORDER BY v ROWS 2 PRECEDING", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (
            "PARTITION BY k ORDER BY v RANGE BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        ),
    ],
)
def test_a_frame_is_where_it_ends_and_how_long_it_is(spec: str, last: str) -> None:
    sql = printed(f"SELECT id, sum(v) OVER ({spec}) AS s FROM t")
    order = "PARTITION BY k ORDER BY v"
    assert f"dl_frame(min(xxhash64(k)) OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)" in sql
    assert PLACE.format(spec=order) in sql
    assert f"count(1) OVER ({order} {last}), count(1) OVER ({spec}), sum(xxhash64(t.__dl_t) & 4294967295) OVER" in sql


def test_without_order_the_frame_is_the_partition() -> None:
    sql = printed("SELECT sum(v) OVER (PARTITION BY k) AS s FROM t")
    whole = "count(1) OVER (PARTITION BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    assert f"{whole}, count(1) OVER (PARTITION BY k)" in sql
    assert "dl_frame(0, " in printed("SELECT sum(v) OVER () AS s FROM t")


def test_a_window_by_name_is_written_out() -> None:
    sql = printed("SELECT sum(v) OVER w AS s FROM t WINDOW w AS (PARTITION BY k ORDER BY v), x AS (w)")
    assert "sum(v) OVER w AS s" in sql
    assert "count(1) OVER (PARTITION BY k ORDER BY v)" in sql


def test_equal_frames_are_one() -> None:
    sql = printed("SELECT sum(v) OVER (ORDER BY v) AS s, avg(v) OVER (ORDER BY v) AS a, max(v) OVER () AS m FROM t")
    assert sql.count("dl_frame(") == 2


def test_groups_have_frames_too() -> None:
    sql = printed("SELECT k, sum(sum(v)) OVER (ORDER BY k) AS s FROM t GROUP BY k")
    assert "dl_quick(dlunion(t.__dl_t)) AS __dl_t, dl_frame(" in sql
    assert "sum(xxhash64(dl_quick(dlunion(t.__dl_t))) & 4294967295) OVER (ORDER BY k)" in sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(v) OVER (ORDER BY v) AS s, lag(v) OVER (ORDER BY v) AS l FROM t",
        "SELECT sum(v) OVER (ORDER BY v) AS s FROM t QUALIFY s > 2",
        "SELECT sum(v) OVER (ORDER BY v) AS s, (SELECT max(w) FROM u) AS m FROM t",
        "SELECT (SELECT max(s) FROM (SELECT sum(w) OVER (ORDER BY w) AS s FROM u WHERE u.k = t.k)) AS m FROM t",
        "SELECT sum(v) OVER (ORDER BY v) AS s FROM t LIMIT 3",
        "SELECT rank() OVER (ORDER BY v) AS r FROM t",
        "SELECT k, sum(sum(v)) OVER (PARTITION BY k) AS s FROM t GROUP BY ROLLUP (k)",
        "SELECT sum(x) OVER (ORDER BY x) AS s FROM VALUES (1), (2) AS v(x)",
    ],
)
def test_by_value(sql: str) -> None:
    assert "dl_frame(" not in printed(sql)


def test_ranking_counts_under_control() -> None:
    sql = "SELECT rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t"
    assert "count(1) OVER (PARTITION BY k), sum" in printed(sql, Semantics.CONTROL)


def test_what_is_outermost_stays_so() -> None:
    """Rows that LIMIT cuts off are in the frames of those that are returned."""
    sql = printed("SELECT sum(v) OVER (ORDER BY v) AS s FROM t ORDER BY s, max(v) OVER (), id LIMIT 3")
    _, _, outside = sql.partition("FROM __stage")
    assert "AS __h1, id AS __h2" in sql
    assert "ORDER BY s, __h1, __h2 LIMIT 3" in sql
    assert "EXCEPT (__dl_t, __dl___frame3, __dl___stage4, __h1, __h2), __dl___stage4 AS __dl___stage4" in sql
    assert outside


def test_the_number_keeps_its_name_where_others_look_for_it() -> None:
    """Under control the right side of EXCEPT counts as a whole: its hidden columns are found by their names."""
    sql = printed("SELECT v FROM t EXCEPT SELECT max(w) OVER (ORDER BY w) FROM u", Semantics.CONTROL)
    assert "named_struct('t', " in sql
    assert "''" not in sql
