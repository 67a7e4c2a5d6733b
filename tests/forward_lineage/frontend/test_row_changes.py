"""UPDATE, DELETE and MERGE as read and as edited; what they do to tables is tested with engines, in tests/lakes."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.row_changes import changes_rows, edited, read_row_change
from udafs.errors import LineageError, NotTracedError

MERGED = """MERGE INTO cat.db.t AS d USING (SELECT k, v FROM s WHERE v > 1) AS s
ON d.k = s.k AND CASE WHEN d.v > 1 THEN true END
WHEN MATCHED AND s.v = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET v = s.v, w = concat(d.w, ',')
WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 0"""


def test_the_parts_of_a_merge() -> None:
    change = read_row_change(MERGED)
    assert change is not None
    assert change.verb, change.target.parts == ("MERGE", ("cat", "db", "t"))
    assert (change.target_called, change.source_called) == ("d", "s")
    assert change.source_query().strip() == "SELECT * FROM (SELECT k, v FROM s WHERE v > 1) AS s"
    assert [(each.verb, each.matched) for each in change.actions] == [
        ("UPDATE", True),
        ("INSERT", False),
        ("UPDATE", False),
    ]
    assert [value.column for value in change.actions[0].values] == [("v",), ("w",)]


def test_lineage_stands_beside_the_values_and_all_else_stays() -> None:
    change = read_row_change(MERGED)
    assert change is not None
    text = edited(change, "SELECT 1", ["of_both", "of_source", None], ["`k`", "`v`", "`w`"])
    expected = (
        MERGED.replace("(SELECT k, v FROM s WHERE v > 1) AS s", "(SELECT 1) AS s")
        .replace("concat(d.w, ',')", "concat(d.w, ','), DL = of_both")
        .replace("(k, v) VALUES (s.k, s.v)", "(k, v, DL) VALUES (s.k, s.v, of_source)")
    )
    assert text == expected


def test_stars_are_spelled_out() -> None:
    change = read_row_change(
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert change is not None
    text = edited(change, None, ["a", "b"], ["`k`", "`v`"])
    assert "WHEN MATCHED THEN UPDATE SET `k` = s.`k`, `v` = s.`v`, DL = a WHEN" in text
    assert text.endswith("THEN INSERT (`k`, `v`, DL) VALUES (s.`k`, s.`v`, b)")


@pytest.mark.parametrize(
    ("assigned", "replaces"),
    [
        ("k = s.k, v = s.v", True),
        ("k = s.k, t.v = 7", True),
        ("k = s.k", False),
        ("k = s.k, v = t.v", False),
        ("k = s.k, v = v + 1", False),
        ("k = s.k, v = upper(s.v)", True),
        ("k = s.k, v = CAST(s.x AS k)", True),  # a type, a unit, a variable and a function are no columns
        ("k = s.k, v = timestampadd(k, 1, s.x)", True),
        ("k = s.k, v = transform(s.x, v -> v + 1)", True),
        ("k = s.k, v = k(s.x)", True),
        ("k = s.k, v = transform(s.x, x -> x + v)", False),
        ("k = s.k, v = CASE WHEN s.x > 1 THEN t.v END", False),
        ("k = s.k, v = s.x /* v */", True),
        ("k = s.k, v.field = s.v", False),
        ("*", True),
    ],
)
def test_a_row_is_replaced_if_all_its_columns_are_and_none_is_read(assigned: str, replaces: bool) -> None:
    change = read_row_change(f"MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET {assigned}")
    assert change is not None
    assert change.replaces_row(change.actions[0], ["k", "v"]) is replaces


@pytest.mark.parametrize("text", ["SELECT 'MERGE'", "WITH a AS (SELECT 1) SELECT * FROM a", "INSERT INTO t SELECT 1"])
def test_other_statements(text: str) -> None:
    assert read_row_change(text) is None


def test_most_statements_are_not_read_at_all() -> None:
    assert not changes_rows("SELECT merged, updated FROM t")
    assert changes_rows("update t set v = 1")


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET v = (SELECT max(v) FROM s)",
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE ALL",
        "MERGE INTO t USING f(1) ON true WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k)",
        "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_other_forms_are_refused_where_they_begin(text: str) -> None:
    with pytest.raises(NotTracedError, match="line 1, column"):
        read_row_change(text)


def test_a_text_that_is_cut_off_is_refused() -> None:
    for end in range(12, len(MERGED), 7):
        try:
            read_row_change(MERGED[:end])
        except LineageError:
            continue
