"""How lineage travels, in words."""

from __future__ import annotations

from rewrites.explanation import Step
from tests.rewrites.plain_tables import rewritten
from udafs.errors import Position


def lines(sql: str) -> list[str]:
    return [str(step) for step in rewritten(sql).steps]


def test_nothing_to_refer_to() -> None:
    assert lines("SELECT id FROM t") == ["result: each row carries one id of t"]
    assert lines("SELECT a.id FROM t AS a, t AS b") == ["result: each row carries a few ids of t"]
    assert lines("SELECT k, max(v) FROM t GROUP BY k") == ["result: each row carries a set of ids of t"]
    assert lines("SELECT 1") == ["result: each row carries nothing: no table is traced"]


def test_stages_and_frames() -> None:
    sql = (
        "WITH a AS (SELECT k, max(v) AS m FROM t GROUP BY k)\n"
        "SELECT uid, sum(m) OVER (ORDER BY uid) AS s FROM u JOIN a USING (k)"
    )
    assert lines(sql) == [
        "__stage1 (line 1, column 19): computed once, read 2 times; each row carries a set of ids of t",
        "__stage3 (line 2, column 8): computed once, read 3 times; each row carries one id of u; one row of __stage1;"
        " the frame of a window, as a stretch of its own rows",
        "result: each row carries one row of __stage3",
    ]


def test_sets_that_are_copied() -> None:
    """A subquery of an expression refers to no stage, so its set goes into each row that asks it."""
    told = (
        "; by value, as a subquery of an expression refers to no stage: its set is copied into each row"
        " (line 1, column {})"
    )
    set_of_t = "result: each row carries one id of u; a set of ids of t"
    asked = "SELECT uid, (SELECT max(v) FROM t{}) AS m FROM u"
    assert lines(asked.format("")) == [set_of_t + told.format(21)]
    assert lines(asked.format(" WHERE t.k = u.k")) == [set_of_t + told.format(21)]
    assert lines("SELECT uid FROM u WHERE uid IN (SELECT k FROM t)") == ["result: each row carries one id of u"]


def test_places_that_nobody_knows_are_left_out() -> None:
    """Trees that a rule has made stand nowhere."""
    assert str(Step(None, None, ("a set of ids of t",), by_value=(None,))).endswith("copied into each row")
    assert str(Step(None, None, (), by_value=(None, Position(2, 7)))).endswith("each row (line 2, column 7)")
