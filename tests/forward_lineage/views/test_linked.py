"""Hands: whatever is brushed, in whatever order, every view shows what all base rows say, and to nobody else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from forward_lineage import LineageError
from forward_lineage.views.cubes import Limits
from forward_lineage.views.linked import Answer, Hand
from forward_lineage.views.measures import ROWS, MeasurePart
from tests.forward_lineage.views.random_views import LIMITS, Model, chosen_bars, models


def assert_shows(answer: Answer, model: Model, brushes: dict[int, set[int]]) -> None:
    for view, bars in enumerate(model.bars):
        others = {other: chosen_bars(chosen, model.bars[other]) for other, chosen in brushes.items() if other != view}
        expected = model.counted(others, view)
        assert answer[f"v{view}"].tolist() == expected[ROWS]
        shown: dict[str, list[Any]] = {"bar": list(range(bars)), "n": expected[ROWS]}
        for measure in model.measured[view]:
            valid = expected[MeasurePart("valid", measure)]
            sums = zip(expected[MeasurePart("sum", measure)], valid, strict=True)
            shown[f"m{measure}"] = [total if count else None for total, count in sums]
        assert answer.table(f"v{view}").to_pydict() == shown


class Brushing(RuleBasedStateMachine):
    """Two people brush the same views."""

    def __init__(self) -> None:
        super().__init__()
        self.hands: list[Hand] = []

    @initialize(model=models(), limits=LIMITS)
    def opens(self, model: Model, limits: Limits) -> None:
        self.model, linked = model, model.linked(limits)
        self.hands = [linked.hand(), linked.hand()]
        self.brushes: list[dict[int, set[int]]] = [{}, {}]

    @rule(data=st.data(), who=st.integers(0, 1))
    def brushes_some(self, data: st.DataObject, who: int) -> None:
        view = data.draw(st.integers(0, len(self.model.bars) - 1))
        bars = data.draw(st.sets(st.integers(0, self.model.bars[view] - 1)))
        self.brushes[who][view] = bars
        assert_shows(self.hands[who].brush(f"v{view}", bars), self.model, self.brushes[who])

    @rule(data=st.data(), who=st.integers(0, 1))
    def moves_by_one(self, data: st.DataObject, who: int) -> None:
        if self.brushes[who]:
            view = data.draw(st.sampled_from(sorted(self.brushes[who])))
            moved = {(bar + 1) % self.model.bars[view] for bar in self.brushes[who][view]}
            self.brushes[who][view] = moved
            assert_shows(self.hands[who].brush(f"v{view}", moved), self.model, self.brushes[who])

    @rule(data=st.data(), who=st.integers(0, 1))
    def lets_go(self, data: st.DataObject, who: int) -> None:
        view = data.draw(st.integers(0, len(self.model.bars) - 1))
        self.brushes[who].pop(view, None)
        assert_shows(self.hands[who].brush(f"v{view}", None), self.model, self.brushes[who])

    @rule(who=st.integers(0, 1))
    def clears(self, who: int) -> None:
        self.brushes[who] = {}
        assert_shows(self.hands[who].clear(), self.model, {})

    @invariant()
    def knows_what_is_chosen(self) -> None:
        for hand, brushes in zip(self.hands, self.brushes if self.hands else [], strict=True):
            assert hand.chosen == {f"v{view}": sorted(bars) for view, bars in brushes.items()}
            chosen = {view: chosen_bars(bars, self.model.bars[view]) for view, bars in brushes.items()}
            assert set(hand.ids()) == self.model.left(chosen)


TestBrushing = Brushing.TestCase
TestBrushing.settings = settings(max_examples=60, stateful_step_count=12)


MODEL = Model(
    6, (3, 2), (frozenset(zip([0, 0, 1, 1, 2, 2], range(6), strict=True)), frozenset({(0, 0), (1, 3)})), (), ((), ())
)


def test_many_threads_ask_at_once() -> None:
    random = np.random.default_rng(3)
    codes = [random.integers(0, count, 5000) for count in (40, 7)]
    pairs = tuple(frozenset(zip(each.tolist(), range(5000), strict=True)) for each in codes)
    linked = Model(5000, (40, 7), pairs, (), ((), ())).linked(Limits(cells=0))
    expected = [np.bincount(codes[1][codes[0] == bar], minlength=7).tolist() for bar in range(40)]
    hand = linked.hand()
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda bar: linked.brush("v0", [bar])["v1"].tolist(), list(range(40)) * 5))
        shared = list(pool.map(lambda bar: hand.brush("v0", [bar])["v1"].tolist(), list(range(40)) * 5))
    assert alone == shared == expected * 5


@pytest.mark.parametrize(
    ("view", "bars", "message"),
    [
        ("v3", [0], r"there is no view v3\. There are v0, v1\."),
        ("carriers", [0], r"there is no view carriers\. There are v0, v1\."),
        ("v0", [3], r"view v0 has no bar 3\. It has 3 bars, counted from 0\."),
        ("v0", [-1, 2], r"view v0 has no bar -1\."),
        ("v0", ["AA"], r'the bars of v0 are chosen by number\. Give numbers; linked\.find\("v0", …\) finds them\.'),
        ("v0", [1.0], r"the bars of v0 are chosen by number\."),
        ("v0", [[1]], r"the bars of v0 are chosen by number\."),
        ("v0", [True], r"the bars of v0 are chosen by number\."),
    ],
)
def test_what_cannot_be_chosen(view: str, bars: list[Any], message: str) -> None:
    hand = MODEL.linked(Limits()).hand()
    hand.brush("v1", [1])
    with pytest.raises(LineageError, match=message):
        hand.brush(view, bars)
    assert hand.chosen == {"v1": [1]}


def test_bars_are_chosen_as_lists_ranges_and_arrays() -> None:
    linked = MODEL.linked(Limits())
    for bars in ([1, 2], range(1, 3), np.array([2, 1], np.uint8), {1, 2}, iter([1, 2])):
        assert linked.brush("v0", bars)["v1"].tolist() == [0, 1]


def test_bars_are_found_by_their_values() -> None:
    linked = MODEL.linked(Limits())
    assert linked.find("v0", bar=2) == [2]
    assert linked.find("v0", bar=[0, 2, 9], n=0) == [0, 2]
    assert linked.find("v0", bar=None) == []
    with pytest.raises(LineageError, match=r"view v0 has no column city\. It has bar, n\."):
        linked.find("v0", city="Oslo")


def test_what_is_shown_cannot_be_written() -> None:
    linked = MODEL.linked(Limits())
    linked.hand().answer()["v0"][:] = 7
    assert linked.hand().answer()["v0"].tolist() == [2, 2, 2]


@given(models())
def test_an_answer_says_how_it_was_found(model: Model) -> None:
    answer = model.linked(Limits()).brush("v0", [0])
    assert set(answer.ways) == {f"v{view}" for view in range(len(model.bars))}
    assert isinstance(answer.table("v0"), pa.Table)
