"""Rows as text and HTML: bounded, and never more than text, whatever is in them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import forward_lineage
from forward_lineage import BadArgumentError, CorruptLineageError, LineageSet
from forward_lineage.showing.html import facts_html, rows_html
from forward_lineage.showing.model import Opened, Origin, ShownRow, ShownRows
from forward_lineage.showing.plain_text import counted, plain, shortened
from forward_lineage.showing.text import as_text

EVIL = "<script>alert('x')</script>"


def test_an_origin_in_words() -> None:
    shown = ShownRows((), (), traced=True)
    assert shown.said(Origin.of("orders", LineageSet(range(3, 10)), 2)) == "orders {3, 4, …} 7 rows"
    assert shown.said(Origin.of("orders", LineageSet([3]), 2)) == "orders {3} 1 row"
    assert shown.said(Origin.of("orders", LineageSet(), 2)) == "orders {} 0 rows"
    assert shown.said(Origin("orders", None, note="captured at the first question")).startswith("orders: captured")


def test_a_set_of_billions_is_not_listed() -> None:
    first, last = (LineageSet([each]).ids() for each in (5, 1 << 40))
    origin = Origin.of("t", LineageSet.from_intervals(first, last), 3)
    assert (origin.count, origin.first) == ((1 << 40) - 4, (5, 6, 7))


def test_values_in_place_of_ids() -> None:
    opened = {"nation": Opened(("n", "y"), {0: ("FRANCE", None), 1: ("PERU", "1996")}, are_values=True)}
    shown = ShownRows((), (), traced=True, opened=opened)
    assert shown.said(Origin("nation", 3, (0, 1))) == "nation {(FRANCE, NULL), (PERU, 1996), …} 3 values"


def test_rows_as_text_are_bounded_and_name_their_lineage() -> None:
    rows = (
        ShownRow(("日本", None), (Origin("t", 1, (7,)),)),
        ShownRow(("a\x1b[31m\n" + "b" * 30, "2"), (Origin("t", 0),)),
    )
    shown = ShownRows(("name", "n"), rows, traced=True, more=True, notes=("t: on trust.",))
    assert as_text(shown, 14).splitlines() == [
        "+--------------+----+-----------+",
        "|name          |n   |DL         |",
        "+--------------+----+-----------+",
        "|日本          |NULL|t {7} 1 row|",
        "|a\\x1b[31m\\nbb…|2   |t {} 0 rows|",
        "+--------------+----+-----------+",
        "the first 2 rows; there are more",
        "t: on trust.",
    ]


def test_html_is_text_whatever_the_data_is() -> None:
    opened = {EVIL: Opened((EVIL,), {1: (EVIL,)}, note=EVIL)}
    row = ShownRow((EVIL, None), (Origin(EVIL, 1, (1,)), Origin("u", None, note=EVIL)))
    shown = ShownRows((EVIL, "n"), (row,), traced=True, opened=opened, title=EVIL, notes=(EVIL,))
    for html in (rows_html(shown), facts_html(EVIL, [(EVIL, EVIL)])):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_html_is_bounded() -> None:
    columns = tuple(f"c{at}" for at in range(200))
    shown = ShownRows(columns, (ShownRow(tuple("x" * 5000 for _ in columns)),), traced=False)
    html = rows_html(shown)
    assert "and 170 more columns" in html
    assert len(html) < 10_000
    assert "<details" not in html


def test_a_row_without_base_rows_is_not_opened() -> None:
    shown = ShownRows((), (ShownRow((), (Origin("t", 2, (1, 2)),)),), traced=True)
    assert "<details" not in rows_html(shown)


def test_numbers_and_odd_characters_in_words() -> None:
    assert [counted(1, "row"), counted(0, "row"), counted(12_345, "row")] == ["1 row", "0 rows", "12,345 rows"]
    assert plain("a\u202eb\x00c\u200dd") == "a\\u202eb\\x00c\u200dd"
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"


# ------------------------------------------------------------ lists


def arrow() -> pa.Table:
    sets = [LineageSet([1, 3]).to_bytes(), None, LineageSet().to_bytes()]
    lineage = pa.array([{"t": each, "u": LineageSet(range(9)).to_bytes("bdd")} for each in sets[:2]] + [None])
    return pa.table({"k": [1, 2, 3], "DL": lineage})


def test_ids_of_an_arrow_table() -> None:
    listed = forward_lineage.ids(arrow())
    assert listed.schema.field("DL").type == pa.struct([("t", pa.list_(pa.int64())), ("u", pa.list_(pa.int64()))])
    assert listed.to_pylist() == [
        {"k": 1, "DL": {"t": [1, 3], "u": [*range(9)]}},
        {"k": 2, "DL": {"t": None, "u": [*range(9)]}},
        {"k": 3, "DL": None},
    ]


def test_ids_of_several_chunks_and_of_a_table_without_rows() -> None:
    twice = pa.concat_tables([arrow(), arrow()])
    assert forward_lineage.ids(twice).to_pylist() == forward_lineage.ids(arrow()).to_pylist() * 2
    assert forward_lineage.ids(arrow().slice(1)).to_pylist() == forward_lineage.ids(arrow()).to_pylist()[1:]
    assert forward_lineage.ids(arrow().slice(0, 0)).to_pylist() == []


def test_ids_of_a_pandas_frame() -> None:
    pandas = pytest.importorskip("pandas")
    values = [{"t": bytearray(LineageSet([2]).to_bytes())}, {"t": None}, None]
    listed = forward_lineage.ids(pandas.DataFrame({"DL": values, "k": [1, 2, 3]}))
    assert list(listed["DL"]) == [{"t": [2]}, {"t": None}, None]
    assert list(listed.columns) == ["DL", "k"]


def test_ids_of_something_else() -> None:
    with pytest.raises(BadArgumentError, match="list has no lineage to list"):
        forward_lineage.ids([1])
    with pytest.raises(BadArgumentError, match="no column DL of lineage values among k"):
        forward_lineage.ids(pa.table({"k": [1]}))
    with pytest.raises(BadArgumentError, match="no column DL of lineage values"):
        forward_lineage.ids(pa.table({"DL": [1]}))
    with pytest.raises(CorruptLineageError):
        forward_lineage.ids(pa.table({"DL": [{"t": b"\xff"}]}))
