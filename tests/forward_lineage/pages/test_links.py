"""Links: every choice comes back from its link, by keys, whatever these are and wherever their bars stand."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.pages.links import MOST, Reader, link_of
from tests.forward_lineage.pages.small import shown_of

KEYS = (
    st.none()
    | st.text(st.characters(codec="utf-8"), max_size=4)
    | st.sampled_from(["!", ",", ":", "+", "&", "=", "%21", "#", "NULL"])
)
DAY = datetime.date(2001, 1, 1)


@settings(max_examples=50)
@given(st.lists(st.tuples(KEYS, KEYS, st.integers(0, 9)), min_size=1, max_size=30), st.data())
def test_round_trip(rows: Sequence[tuple[str | None, str | None, int]], data: st.DataObject) -> None:
    one, other, number = zip(*rows, strict=True)
    table = pa.table({"a": pa.array(one, pa.string()), "b": pa.array(other, pa.string()), "c": pa.array(number)})
    charts = shown_of(table, {"a": ("a",), "a&b=": ("a", "b"), "c": ("c",)}).charts
    bars = [st.sets(st.integers(0, chart.bars - 1), min_size=1) for chart in charts]
    choice = {view: sorted(data.draw(each)) for view, each in enumerate(bars) if data.draw(st.booleans())}
    link = link_of(charts, choice)
    assert link is not None
    assert urlsplit(f"http://a/#{link}").fragment == link
    read, missing = Reader(charts).read("#" + link)
    assert {view: sorted(found) for view, found in read.items()} == choice
    assert not missing


def test_as_people_read_it() -> None:
    days = [DAY + datetime.timedelta(each) for each in range(40)]
    table = pa.table({"day": days * 2, "who": ["AA", "UA", None, ""] * 20, "x": [1, 2] * 40, "y": [1, 1, 3, 4] * 20})
    shown = shown_of(table, {"days": ("day",), "who": ("who",), "map": ("x", "y")})
    days_, who, places = (chart.texts for chart in shown.charts)
    choice = {
        0: [
            bar
            for bar, (day,) in enumerate(days_)
            if (day and "2001-01-05" <= day <= "2001-01-20") or day == "2001-02-01"
        ],
        1: [who.index(("AA",)), who.index((None,)), who.index(("",))],
        2: [places.index(("2", "1"))],
    }
    assert link_of(shown.charts, choice) == "days=2001-01-05:2001-01-20,2001-02-01&who=,AA,!&map=2+1"


def test_keys_keep_their_meaning_when_the_table_changes() -> None:
    before = shown_of(pa.table({"who": ["UA", "AA", "DL"], "n": [5, 6, 7]}), {"who": ("who",), "n": ("n",)})
    after = shown_of(pa.table({"who": ["B6", "DL", "UA"], "n": [4, 5, 7]}), {"who": ("who",), "n": ("n",)})
    texts = [[chart.texts for chart in shown.charts] for shown in (before, after)]
    link = link_of(before.charts, {0: [texts[0][0].index(("UA",)), texts[0][0].index(("AA",))], 1: [0, 1, 2]})
    assert link == "who=AA,UA&n=5:7"
    choice, missing = after.links.read(link)
    assert [texts[1][0][bar] for bar in choice[0]] == [("UA",)]
    assert [texts[1][1][bar] for bar in choice[1]] == [("5",), ("7",)]
    assert missing == ["who AA"]


@given(st.text(max_size=60))
def test_anything_is_read(link: str) -> None:
    charts = shown_of(pa.table({"a": ["x", "y"]}), {"a": ("a",)}).charts
    choice, missing = Reader(charts).read(link)
    assert set(choice) <= {0}
    assert choice or missing or not link.strip("#&")


def test_escaped_otherwise() -> None:
    charts = shown_of(pa.table({"a": ["é x", "y"]}), {"ä": ("a",)}).charts
    bar = charts[0].texts.index(("é x",))
    assert Reader(charts).read("#ä=é%20x") == ({0: [bar]}, [])
    assert Reader(charts).read(f"#{quote('ä')}={quote('é x').lower()}") == ({0: [bar]}, [])


def test_too_long() -> None:
    charts = shown_of(pa.table({"a": [f"{each:0100}" for each in range(400)]}), {"a": ("a",)}).charts
    assert link_of(charts, {0: range(400)}) is None
    assert len(link_of(charts, {0: range(200)}) or "") < MOST
