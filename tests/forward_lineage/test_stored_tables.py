"""What a table says of the lineage in it: written, read back, compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forward_lineage import Catalog, rewrite_sql
from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.lineage_properties import FilledTable
from forward_lineage.stored_tables import PROPERTY, Kept, Meaning, RowIds, check_insert, check_of, row_ids_of
from rewrites.tables import BaseTable, StoredTable
from udafs.errors import BadArgumentError, NameTakenError, NotRegisteredError, NotTracedError

KEY = RowIds("t", row_id="CAST(id AS BIGINT)", relation="t")
REGISTERED = replace(KEY, home="/home", version=2, provider="key", digest="d", relation="`spark_catalog`.`default`.`t`")
NUMBERED = RowIds("t", "/home", 1, "position", numbered=True, digest="e")


def test_what_is_written_is_read_back() -> None:
    for ids in (KEY, REGISTERED, NUMBERED, replace(REGISTERED, trusted=True, identified="(SELECT 1)")):
        for meaning in (Meaning((ids,)), Meaning((ids,), "control", "granules", open=True, fleeting=None)):
            assert Meaning.of_text(meaning.text()) == meaning
    odd = Meaning((replace(KEY, name="größe ${x} 'y'"),))
    assert odd.text().isascii()
    assert "${" not in odd.text()
    assert Meaning.of_text(odd.text()) == odd


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "semantics": "both", "granularity": "rows", "tables": []}',
        '{"format": 1, "semantics": "data", "granularity": "days", "tables": []}',
        '{"format": 1, "semantics": "data", "granularity": "rows", "tables": [{"nom": "t"}]}',
        '{"format": 1, "semantics": "data", "granularity": "rows", "tables": [{"name": "t", "version": "1"}]}',
        '{"format": 1, "semantics": "data", "granularity": "rows", "tables": [{"name": null}]}',
        '{"format": 1, "semantics": "data", "granularity": "rows", "tables": 3}',
    ],
)
def test_what_nobody_wrote(text: str) -> None:
    with pytest.raises(ValueError):
        Meaning.of_text(text)
    with pytest.raises(NotTracedError, match=r"what this release cannot read"):
        Kept("x", ("a",), text).table()


SAME = [
    (KEY, REGISTERED, True),
    (KEY, replace(KEY, row_id="CAST(k AS BIGINT)"), False),
    (KEY, replace(KEY, relation="u"), False),
    (KEY, replace(KEY, relation="parquet.`/x`"), False),
    (KEY, replace(KEY, identified="(SELECT 1)"), False),
    (REGISTERED, replace(REGISTERED, version=3, digest="f"), True),
    (REGISTERED, replace(REGISTERED, home="/elsewhere"), False),
    (NUMBERED, replace(NUMBERED, version=5, provider="copy"), True),
    (NUMBERED, replace(NUMBERED, home="/elsewhere"), False),
    (NUMBERED, REGISTERED, False),
    (NUMBERED, KEY, False),
]


@pytest.mark.parametrize(("one", "other", "same"), SAME)
def test_whether_ids_mean_the_same_rows(one: RowIds, other: RowIds, same: bool) -> None:
    assert one.means_the_same_as(other) is same
    assert other.means_the_same_as(one) is same


def test_the_oldest_registration_counts() -> None:
    newer = replace(NUMBERED, version=4)
    base = BaseTable("t", ("id",), "t", "id", ids=newer.text())
    stored = Kept("s", ("a",), Meaning((NUMBERED,)).text()).table()
    assert row_ids_of("T", [base]) == newer
    assert row_ids_of("t", [base, stored]) == NUMBERED
    with pytest.raises(NotTracedError, match=r"^ids of t mean other rows in t than in s\. Make both of the same regis"):
        row_ids_of("t", [BaseTable("t", ("id",), "t", "id"), stored])


def test_a_field_that_was_added() -> None:
    added = replace(KEY, name="u", added=True)
    meaning = Meaning((NUMBERED, added))
    assert Meaning.of_text(meaning.text()) == meaning
    table = Kept("s", ("a",), meaning.text(), ("t", "u")).table()
    assert table.added == {"u"}
    assert row_ids_of("u", [table]) == replace(added, added=False)  # in a table that is made of it, no row is older
    before = Meaning((NUMBERED,)).text()
    with pytest.raises(NotTracedError, match=r"Run ALTER TABLE s ADD COLUMNS \(DL\.`u` BINARY, DL\.`v` BINARY\) with"):
        Kept("s", ("a",), before, ("t", "u", "v")).table()
    with pytest.raises(NotTracedError, match=r"Make s anew"):
        Kept("s", ("a",), before, ("u", "t")).table()


def test_inserts() -> None:
    target = Meaning((NUMBERED,), "control", fleeting=("n",))
    check_insert(target, target, "x")
    check_insert(replace(target, fleeting=()), target, "x")
    others = [
        (
            replace(target, tables=(NUMBERED, replace(KEY, name="u"))),
            r"^rows made of u go into x, whose column DL is lineage in t\.",
        ),
        (replace(target, semantics="data"), r'^x has control lineage, .* have data lineage\. Say semantics="control"'),
        (replace(target, granularity="granules"), r"^x has control lineage"),
        (
            replace(target, tables=(KEY,)),
            r"^ids of t mean other rows in x, which was made with ids by position \(versi",
        ),
        (replace(target, open=True), r"may change with base rows in ways that those of x may not"),
        (replace(target, fleeting=None), r"may change with base rows"),
        (replace(target, fleeting=("m",)), r"may change with base rows"),
    ]
    for rows, message in others:
        with pytest.raises(NotTracedError, match=message):
            check_insert(rows, target, "x")


def test_rows_of_some_of_the_tables() -> None:
    other = replace(NUMBERED, name="u", digest="f")
    target = Meaning((NUMBERED, other), "control")
    for some in ((other,), (other, NUMBERED), ()):
        check_insert(replace(target, tables=some), target, "x")
    with pytest.raises(NotTracedError, match=r"^ids of u mean other rows in x"):
        check_insert(replace(target, tables=(replace(other, home="/elsewhere"),)), target, "x")


def test_columns_that_may_change_are_those_of_the_target() -> None:
    """By position, another column than the one that says so might get the values that may change."""
    catalog = base_catalog()
    created = "CREATE TABLE s AS SELECT k, count(*) AS n FROM t GROUP BY k"
    meaning = rewrite_statement(parse(created), catalog, "control").meaning
    assert meaning is not None
    assert meaning.fleeting == ("n",)

    def insert(sql: str, *filled: str) -> None:
        rewrite_statement(parse(sql), catalog, "control", target=FilledTable(filled, meaning=meaning.text()))

    insert("INSERT INTO s SELECT k, count(*) AS n FROM t GROUP BY k", "k", "n")
    insert("INSERT INTO s (n, k) SELECT count(*) AS n, k FROM t GROUP BY k", "k", "n")
    insert("INSERT INTO s BY NAME SELECT count(*) AS n, k FROM t GROUP BY k", "k", "n")
    insert("INSERT INTO s SELECT k, id FROM t", "k", "n")
    for sql in (
        "INSERT INTO s SELECT count(*) AS n, k FROM t GROUP BY k",
        "INSERT INTO s SELECT k, count(*) AS m FROM t GROUP BY k",
        "INSERT INTO s (k, n) SELECT count(*) AS n, 1 FROM t",
        "INSERT INTO s BY NAME SELECT max(k) AS k, 1 AS n FROM t",
    ):
        with pytest.raises(NotTracedError, match=r"may change with base rows in ways that those of s may not"):
            insert(sql, "k", "n")


def base_catalog() -> Catalog:
    return Catalog({"t": {"columns": ["id", "k"], "key": "id"}})


def test_the_meaning_stands_in_the_rewritten_text() -> None:
    catalog = base_catalog()
    text = Meaning((KEY,)).text()
    created = rewrite_sql("CREATE TABLE x USING parquet TBLPROPERTIES ('a' = 'b') AS SELECT k FROM t", catalog)
    assert f"TBLPROPERTIES ('a'='b', '{PROPERTY}'='{text}') AS SELECT k, named_struct('t'" in created
    inserted = rewrite_sql("INSERT INTO d.x SELECT k FROM t", catalog)
    assert f"dl_into(named_struct('t', dl_of(t.__dl_t)), 'd.x', '{check_of(text)}') AS DL FROM" in inserted
    for untraced in (
        "CREATE TABLE x AS SELECT 1 AS a",
        "INSERT INTO x SELECT 1",
        "CREATE TEMP VIEW v AS SELECT k FROM t",
    ):
        rewritten = rewrite_sql(untraced, catalog)
        assert PROPERTY not in rewritten
        assert "dl_into" not in rewritten


def test_a_catalog_that_names_such_a_table() -> None:
    catalog = base_catalog()
    text = Meaning((KEY,)).text()
    catalog.add_stored("d.s", ["k", "n"], text)
    found = catalog.find(["D", "s"])
    assert isinstance(found, StoredTable)
    assert (found.lineage, found.check, found.columns) == (("t",), check_of(text), ("k", "n"))
    assert catalog.base_table(["d", "s"]) is None
    assert catalog.names() == ["t", "d.s"]
    assert ("d.s" in catalog, len(catalog), [table.name for table in catalog]) == (True, 2, ["t"])
    assert f"dl_stored(DL.t, 'd.s', '{check_of(text)}') AS __dl_t FROM d.s" in rewrite_sql("SELECT k FROM d.s", catalog)
    with pytest.raises(NameTakenError):
        catalog.add_stored("t", ["k"], text)
    with pytest.raises(NameTakenError):
        catalog.register("d.s", ["k"], key="k")
    with pytest.raises(NotTracedError, match=r"what this release cannot read"):
        catalog.add_stored("y", ["k"], "nonsense")
    with pytest.raises(BadArgumentError, match=r"the entry of table y says"):
        Catalog({"y": {"columns": ["k"], "meaning": text, "key": "k"}})
    with pytest.raises(NotRegisteredError):
        rewrite_sql("SELECT * FROM unknown", catalog)
    entry = {"columns": ["id"], "relation": "t", "row_id": "id"}
    assert RowIds.of(next(iter(Catalog({"t": {**entry, "ids": REGISTERED.text()}})))) == REGISTERED
    for odd in ("nonsense", "[]", '{"name": "u"}', '{"name": "t", "version": "1"}'):
        with pytest.raises(BadArgumentError, match=r"^the entry of table t says of its ids what no catalog wrote"):
            Catalog({"t": {**entry, "ids": odd}})


def test_inserts_by_a_catalog() -> None:
    catalog = base_catalog()
    catalog.add_stored("s", ["k"], Meaning((KEY,), "control").text())
    with pytest.raises(NotTracedError, match=r"^s has control lineage"):
        rewrite_sql("INSERT INTO s SELECT k FROM t", catalog)
    assert check_of(Meaning((KEY,), "control").text()) in rewrite_sql(
        "INSERT INTO s SELECT k FROM t", catalog, "control"
    )


def test_inserts_by_a_catalog_fill_the_fields_that_rows_are_not_made_of() -> None:
    table = {"columns": ["id", "k"], "key": "id"}
    catalog = Catalog({"t": table, "u": table, "v": table})
    catalog.add_stored("s", ["k"], Meaning((replace(KEY, name="u", relation="u"), KEY)).text())
    text = rewrite_sql("INSERT INTO s SELECT k FROM t", catalog)
    assert "named_struct('u', X'0000', 't', " in text
    text = rewrite_sql("INSERT INTO s SELECT t.k FROM t JOIN u USING (k)", catalog)
    assert text.index("'u'") < text.index("'t'")
    with pytest.raises(NotTracedError, match=r"^rows made of v go into s, whose column DL is lineage in u, t\."):
        rewrite_sql("INSERT INTO s SELECT k FROM v", catalog)
