"""UPDATE, DELETE and MERGE as read and as edited; what they do to tables is tested with engines, in tests/lakes."""

from __future__ import annotations

import pytest

from forward_lineage.frontend.row_changes import (
    changes_rows,
    check_called_apart,
    edited,
    read_row_change,
    with_named_source,
)
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
        ("k = s.k, v = cat.one.two.t.v", False),
        ("k = s.k, v = cat.one.two.t.v.field", False),
        ("k = s.k, v = cat.one.two.s.v", True),
        ("*", True),
    ],
)
def test_a_row_is_replaced_if_all_its_columns_are_and_none_is_read(assigned: str, replaces: bool) -> None:
    change = read_row_change(f"MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET {assigned}")
    assert change is not None
    assert change.replaces_row(change.actions[0], ["k", "v"]) is replaces


_BEGIN = "MERGE INTO one.t USING two.s ON "
_OF_S = ("cat", "two", "s")


@pytest.mark.parametrize(
    ("text", "of_source", "expected"),
    [
        ("one.t.k = two.s.k WHEN MATCHED THEN DELETE", _OF_S, "one.t.k = s.k WHEN MATCHED THEN DELETE"),
        ("t.k = cat.two.s.k WHEN MATCHED THEN DELETE", _OF_S, "t.k = s.k WHEN MATCHED THEN DELETE"),
        ("t.k = `Two` . S . k.field WHEN MATCHED THEN DELETE", _OF_S, "t.k = s . k.field WHEN MATCHED THEN DELETE"),
        ("t.k = two.s.k[two.s.v] WHEN MATCHED THEN DELETE", _OF_S, "t.k = s.k[s.v] WHEN MATCHED THEN DELETE"),
        (
            "one.t.k = two.t.k WHEN MATCHED THEN UPDATE SET one.t.v = cat.two.t.v",
            ("cat", "two", "t"),
            "one.t.k = __dl_source.k WHEN MATCHED THEN UPDATE SET one.t.v = __dl_source.v",
        ),
    ],
)
def test_columns_of_a_source_go_through_one_name(text: str, of_source: tuple[str, ...], expected: str) -> None:
    source = ".".join(of_source[1:])
    change = read_row_change(_BEGIN.replace("two.s", source) + text)
    assert change is not None
    called = "s" if of_source == _OF_S else "__dl_source"
    found = with_named_source(change, ("cat", "one", "t"), of_source)
    assert found.sql == f"MERGE INTO one.t USING {source} AS {called} ON {expected}"
    assert found.source_called == called


@pytest.mark.parametrize(
    "text",
    [
        "t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v",
        "t.k = x[0].two.s.k AND two.s(1) AND 'two.s.k' > /* two.s.k */ `two.s`.k WHEN MATCHED THEN DELETE",
        "one.t.k = other.s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_other_names_stay(text: str) -> None:
    for statement in (f"{_BEGIN}{text}", _BEGIN.replace("two.s", "(SELECT two.s.k FROM two.s) s") + text):
        change = read_row_change(statement)
        assert change is not None
        assert with_named_source(change, ("cat", "one", "t"), _OF_S) == change


@pytest.mark.parametrize("name", ["t.k", "T.k", "`t`.k"])
def test_a_name_that_may_be_of_either_table_is_refused(name: str) -> None:
    change = read_row_change(f"MERGE INTO one.t USING two.t ON one.t.k = {name} WHEN MATCHED THEN DELETE")
    assert change is not None
    with pytest.raises(NotTracedError, match=rf"{name} may be a column of one.t or of two.t \(line 1, column 43\)"):
        with_named_source(change, ("cat", "one", "t"), ("cat", "two", "t"))


@pytest.mark.parametrize(
    "tables", ["one.t USING (SELECT 1 AS k) AS t", "one.t USING two.s AS T", "t AS x USING s AS `X`"]
)
def test_a_source_that_is_called_like_the_target_is_refused(tables: str) -> None:
    change = read_row_change(f"MERGE INTO {tables} ON one.t.k = 1 WHEN MATCHED THEN DELETE")
    assert change is not None
    with pytest.raises(NotTracedError, match=r"both the target and the source .* Give the source another alias"):
        check_called_apart(change)


def test_dots_in_quoted_names() -> None:
    change = read_row_change("MERGE INTO `a.t` USING d.`b.s` ON `a.t`.k = d.`b.s`.k WHEN MATCHED THEN UPDATE SET v = 1")
    assert change is not None
    assert (change.target_called, change.source_called) == ("`a.t`", "`b.s`")


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
        "MERGE INTO t USING s AS q(k, v) ON t.k = q.k WHEN MATCHED THEN DELETE",
    ],
)
def test_other_forms_are_refused_where_they_begin(text: str) -> None:
    with pytest.raises(NotTracedError, match="line 1, column"):
        read_row_change(text)


def test_new_columns_come_by_alter_table() -> None:
    text = "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *"
    with pytest.raises(NotTracedError, match=r"EVOLUTION, .* \(line 1, column 1\)\. Add them with ALTER TABLE"):
        read_row_change(text)


def test_a_text_that_is_cut_off_is_refused() -> None:
    for end in range(12, len(MERGED), 7):
        try:
            read_row_change(MERGED[:end])
        except LineageError:
            continue
