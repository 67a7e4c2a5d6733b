"""Histograms closest to a target: the repairs of HistSim, each with the case that needs it, and odd questions."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from forward_lineage import LineageError
from forward_lineage.approximate.drawing import ScrambleOrder
from forward_lineage.approximate.matching import block_reading, histsim, matcher
from forward_lineage.approximate.matching.block_reading import BlockReader, Candidates
from forward_lineage.approximate.matching.distance_tests import (
    Sample,
    all_rejected,
    distance,
    is_far,
    is_near,
    is_rare,
    rows_to_reconstruct,
)
from forward_lineage.approximate.matching.matcher import AskedMatch, counted, matched
from forward_lineage.approximate.matching.matches import Matches
from forward_lineage.approximate.scramble import Scramble
from tests.bench.approximate.matching import violations
from tests.forward_lineage.approximate.scrambled import scramble

_ASKED: dict[str, Any] = {
    "candidates": "origin",
    "histogram": "hour",
    "target": None,
    "like": None,
    "k": 2,
    "error": 0.1,
    "confidence": 0.99,
    "least": 0.0,
    "where": None,
}


def _flights(rows: int = 20_000, origins: int = 12, hours: int = 4) -> pa.Table:
    chance = np.random.default_rng(5)
    origin = chance.integers(0, origins, rows)
    shares = chance.dirichlet(np.ones(hours) * 2, origins).cumsum(axis=1)
    hour = (chance.random(rows)[:, None] > shares[origin]).sum(axis=1)
    names = pa.array([f"A{number:02}" for number in range(origins)])
    return pa.table({"origin": names.take(pa.array(origin)), "hour": hour, "late": chance.integers(0, 100, rows)})


def _ask(of: Scramble, **given: Any) -> Matches:
    return matched(of, AskedMatch(**(_ASKED | given)), lambda _: None, lambda: None)


def _truth(table: pa.Table, target: np.ndarray, k: int) -> list[str]:
    counts = {
        name: np.bincount([hour for each, hour in zip(*table.to_pydict().values(), strict=True) if each == name])
        for name in set(table["origin"].to_pylist())
    }
    return sorted(counts, key=lambda name: distance(counts[name], target))[:k]


@pytest.mark.parametrize("condition", [None, "late < 30", "origin <> 'A03'"])
@pytest.mark.parametrize("fresh", [True, False])
def test_the_closest_are_found_and_their_rows_give_them_again(condition: str | None, fresh: bool) -> None:
    table = _flights()
    of = scramble(table, ["origin", "hour"])
    if not fresh:
        of.begin_answer()
    found = _ask(of, target={0: 1, 1: 1, 2: 1, 3: 1}, where=condition)
    kept = {None: slice(None), "late < 30": table["late"].to_numpy() < 30}.get(
        condition, np.array(table["origin"].to_pylist()) != "A03"
    )
    mask = np.zeros(table.num_rows, np.bool_)
    mask[kept] = True
    assert found.certified
    assert [row["origin"] for row in found.rows] == _truth(
        table.filter(pa.array(mask)).select(["origin", "hour"]), np.full(4, 0.25), 2
    )
    for place, row in enumerate(found.rows):
        ids = np.array(list(found.backward(place)))
        assert ids.size == row["rows_read"]
        assert set(ids) <= set(found.backward())
        read = table.take(pa.array(ids))
        assert set(read["origin"].to_pylist()) == {row["origin"]}
        again = np.bincount(read["hour"].to_numpy(), minlength=4) / ids.size
        assert again.tolist() == list(row["histogram"].values())  # type: ignore[attr-defined]
    assert found.rows_read == len(found.backward())


def test_a_candidate_as_target_and_a_linked_count() -> None:
    table = _flights()
    found = _ask(scramble(table, ["origin", "hour"]), like="A07", k=1)
    assert (found.rows[0]["origin"], round(found.rows[0]["distance"], 1)) == ("A07", 0.0)  # type: ignore[call-overload]
    mine = table["origin"].to_pylist().count("A07")
    assert found.rows_read >= mine  # all of the target's rows are part of the answer's lineage

    class Views:
        def bars(self, view: str) -> pa.Table:
            return table.group_by(view).aggregate([]).sort_by(view)

        def keys(self, _: str) -> list[int]:
            return [0]

        def brush(self, view: str, bars: list[int]) -> dict[str, np.ndarray]:
            kept = table.filter(pa.compute.equal(table[view], self.bars(view)[view][bars[0]]))
            return {"hour": np.bincount(kept["hour"].to_numpy(), minlength=4)}

    exact = counted(Views(), AskedMatch(**(_ASKED | {"like": "A07", "k": 3})))
    assert exact.rows[0]["origin"] == "A07"
    assert (exact.how, exact.confidence, exact.rows[0]["distance"]) == ("counted by linked views", 1.0, 0.0)
    with pytest.raises(LineageError, match="where="):
        counted(Views(), AskedMatch(**(_ASKED | {"like": "A07", "where": "late < 3"})))


def test_nulls_are_a_candidate_and_a_bar() -> None:
    table = pa.table(
        {
            "origin": pa.array(["ORD", None, "ATL"] * 400, pa.string()),
            "hour": pa.array([1, None, 1, None, 2, 2] * 200, pa.int64()),
        }
    )
    found = _ask(scramble(table, ["origin", "hour"]), target={None: 1, 2: 1}, k=5)
    assert len(found.rows) == 3  # k is more than there are
    assert found.rows[0]["origin"] is None
    assert list(found.rows[0]["histogram"]) == [None, 1, 2]  # type: ignore[call-overload]
    assert found.to_arrow().num_rows == 3


def test_odd_questions() -> None:
    table = _flights(2_000)
    of = scramble(table, ["origin", "hour"])
    unseen = _ask(of, target={99: 1}, k=1)  # a bar that no row has
    assert unseen.rows[0]["distance"] == 2.0
    few = pa.concat_tables([table, pa.table({"origin": ["one"], "hour": [3], "late": [5]})])
    single = _ask(scramble(few, ["origin", "hour"]), target=[0, 0, 0, 7], k=1)
    assert (single.rows[0]["origin"], single.rows[0]["exact"], single.rows[0]["rows_read"]) == ("one", True, 1)
    rare = _ask(scramble(few, ["origin", "hour"]), target=[0, 0, 0, 7], k=1, least=0.001)
    assert rare.rows[0]["origin"] != "one"
    nothing = _ask(of, target=[1, 1, 1, 1], where="late < 0")
    assert (nothing.rows, nothing.certified) == ([], True)
    assert _ask(of, target=[1, 1, 1, 1], where="origin = 'XXX'").rows == []
    for wrong, said in (
        ({"target": [1, 1]}, "there are 4 bars: 0, 1, 2"),
        ({"target": {0: -1}}, "-1 as a weight"),
        ({"target": {0: math.nan}}, "as a weight"),
        ({"target": {0: 0}}, "no weight over 0"),
        ({"target": "uniform"}, "Give weights"),
        ({"target": [1] * 4, "like": "A01"}, "target and like"),
        ({}, "target and like"),
        ({"like": "ORD"}, "like='ORD' is no candidate"),
        ({"target": [1] * 4, "k": 0}, "k=0"),
        ({"target": [1] * 4, "error": 0.0}, "error=0.0"),
        ({"target": [1] * 4, "confidence": 1.0}, "confidence=1.0"),
        ({"target": [1] * 4, "least": 1.0}, "least=1.0"),
        ({"target": [1] * 4, "histogram": "late"}, "late is not among the groups"),
        ({"target": [1] * 4, "histogram": "origin"}, "the same column"),
        ({"target": [1] * 4, "where": "gate = 3"}, "no column gate"),
    ):
        with pytest.raises(LineageError, match=said):
            _ask(of, **wrong)


def test_ctrl_c_gives_the_guess_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def pressed() -> Iterator[threading.Event]:
        stop = threading.Event()
        stop.set()
        yield stop

    monkeypatch.setattr(matcher, "interruptible", pressed)
    found = _ask(scramble(_flights(), ["origin", "hour"]), target=[1, 1, 1, 1])
    assert (len(found.rows), found.certified, found.interrupted) == (2, False, True)
    assert 0 < found.rows[0]["rows_read"] <= found.rows_read < 2_000  # type: ignore[operator]
    assert len(found.backward(0)) == found.rows[0]["rows_read"]


# ------------------------------------------------------------ what the thesis gets wrong


def _rate(rows: list[int], seen: int, fresh: int, level: float, **tested: Any) -> float:
    """How often a test rejects at a level, of all ways to draw first `seen` and then `fresh` rows; bars are 0 and 1."""
    wrong = total = 0
    for first in combinations(range(len(rows)), seen):
        rest = [place for place in range(len(rows)) if place not in first]
        for then in combinations(rest, fresh):
            parts = [np.bincount([rows[place] for place in each], minlength=2) for each in (first, then)]
            sample = Sample(*parts, tested.get("least", len(rows)), tested.get("most", len(rows)))
            wrong += tested["test"](sample) <= math.log(level)
            total += 1
    return wrong / total


@pytest.mark.parametrize("level", [0.5, 0.2, 0.05])
@pytest.mark.parametrize("limits", [{}, {"least": 5, "most": 14}])
def test_each_test_is_wrong_at_most_so_often_over_all_draws(level: float, limits: dict[str, int]) -> None:
    rows, target = [0] * 3 + [1] * 6, np.array([0.5, 0.5])
    away = distance(np.array([3, 6]), target)
    signs = np.array([-1, 1])
    for seen, fresh in ((0, 4), (2, 3), (4, 3), (4, 5)):
        limit = limits if seen + fresh < len(rows) else {}
        near = _rate(rows, seen, fresh, level, test=lambda each: is_near(each, target, away), **limit)
        far = _rate(rows, seen, fresh, level, test=lambda each: is_far(each, target, away, signs), **limit)
        assert max(near, far) <= level


def test_a_margin_below_nothing_says_nothing() -> None:
    """Equation 5.18 squares it: a candidate that is much too far away then passes as near."""
    target = np.array([0.5, 0.5])
    far = Sample(np.array([0, 0]), np.array([1_000, 0]), 10_000, 10_000)
    assert is_near(far, target, 0.2) == 0.0
    assert 2 * math.exp(-((0.2 - 1.0) ** 2) * 1_000 / 2) < 1e-100  # what the thesis has
    assert is_far(far, target, -0.01, np.array([1, -1])) == -math.inf  # no distance is negative


def test_fresh_rows_are_a_sample_of_the_rest() -> None:
    """All rows of one bar were seen before. Fresh ones have none of it; tested as a sample of all they mislead."""
    target = np.array([0.5, 0.5])
    seen, fresh = np.array([500, 0]), np.array([0, 400])
    rest = Sample(seen, fresh, 1_000, 1_000)  # 500 and 500: its distance is 0
    assert is_far(rest, target, 0.1, np.array([-1, 1])) == 0.0
    as_if = Sample(np.array([0, 0]), fresh, 1_000_000, 1_000_000)
    assert is_far(as_if, target, 0.1, np.array([-1, 1])) < math.log(1e-30)


def test_stage_one_uses_up_a_third() -> None:
    tests = np.log(np.array([0.002, 0.004, 0.9]))
    assert all_rejected(tests, 0.01).tolist() == [True, True, False]
    assert all_rejected(tests, 0.01 / 3).tolist() == [False, False, False]
    assert is_rare(0, 1_000, 0.01) == pytest.approx(1_000 * math.log(0.99))
    assert is_rare(20, 1_000, 0.01) == 0.0


def test_signs_need_fewer_rows_than_all_of_them() -> None:
    """At 24 bars the thesis needs 2.6 times as many rows to tell what is far, at 351 bars 25 times."""
    ratios = []
    for bars in (24, 351):
        target = np.full(bars, 1 / bars)
        shares = np.where(np.arange(bars) % 2, 1.3, 0.7) / bars
        shares /= shares.sum()
        signs, level, none = np.where(shares > target, 1, -1), math.log(0.01 / 3), np.zeros(bars, np.int64)
        by_signs = next(
            rows
            for rows in range(10, 10**6, 10)
            if is_far(Sample(none, np.round(shares * rows * 1e6).astype(np.int64) // 10**6, 1 << 40, 1 << 40),
                      target, 0.1, signs) <= level
        )  # fmt: skip
        margin = np.abs(shares - target).sum() - 0.1
        ratios.append(2 * (bars * math.log(2) - level) / margin**2 / by_signs)
    assert ratios[0] > 2.5
    assert ratios[1] > 20


def test_a_histogram_of_so_many_rows_is_close() -> None:
    chance, error, level = np.random.default_rng(8), 0.3, 0.1
    rows = np.repeat([0, 1, 2], [100, 200, 300])
    count = rows_to_reconstruct(3, rows.size, error, level)
    exact = np.bincount(rows) / rows.size
    wrong = sum(
        np.abs(np.bincount(chance.permutation(rows)[:count], minlength=3) / count - exact).sum() >= error
        for _ in range(300)
    )
    assert wrong <= 300 * level
    assert count < rows.size / 3


@pytest.mark.parametrize("condition", [None, "late > 40"])
def test_what_would_be_read_anyway_is_read_at_once(condition: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histsim, "ADD_UP_FROM", 1_000)
    table = _flights(8_000)
    of = scramble(table, ["origin", "hour"])
    of.begin_answer()
    found = _ask(of, target={0: 1, 1: 1, 2: 1, 3: 1}, error=0.001, where=condition)
    kept = table if condition is None else table.filter(pc.greater(table["late"], 40))
    assert (found.certified, found.rounds, found.rows_read) == (True, 0, 8_000)
    assert [row["origin"] for row in found.rows] == _truth(kept.select(["origin", "hour"]), np.full(4, 0.25), 2)
    for place, row in enumerate(found.rows):
        mine = table.take(pa.array(list(found.backward(place))))
        assert row["exact"]
        assert mine.num_rows == row["rows_read"] == pc.sum(pc.equal(kept["origin"], row["origin"])).as_py()


def test_stage_three_pays_for_all_candidates_that_were_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which k were chosen depends on the rows that their histograms are made of; the thesis divides by k alone."""
    levels = []

    def noted(bars: int, rows: int, error: float, level: float) -> int:
        levels.append(level)
        return rows_to_reconstruct(bars, rows, error, level)

    monkeypatch.setattr(histsim, "rows_to_reconstruct", noted)
    of = scramble(_flights(), ["origin", "hour"])
    assert _ask(of, target={0: 1, 1: 1, 2: 1, 3: 1}, confidence=0.94).candidates == 12
    assert levels == pytest.approx([0.06 / 3 / 12] * 2)


@pytest.mark.slow
def test_few_scrambles_violate_what_is_promised() -> None:
    """The campaign in small: tests.bench.approximate.matching. A mutant that always stops at once is caught."""
    assert violations(60) <= 3


@pytest.mark.slow
def test_a_search_that_never_tests_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histsim, "is_near", lambda *_: -math.inf)
    monkeypatch.setattr(histsim, "is_far", lambda *_: -math.inf)
    monkeypatch.setattr(histsim, "rows_to_reconstruct", lambda *_: 16)
    monkeypatch.setattr(histsim.HistSim, "_needs", lambda self, places, *_: np.full(places.size, 32))
    assert violations(60) > 10


@pytest.mark.parametrize("left_out", [True, False])
@pytest.mark.parametrize("keeps", [None, 50])
def test_all_rows_are_counted_in_order(monkeypatch: pytest.MonkeyPatch, left_out: bool, keeps: int | None) -> None:
    monkeypatch.setattr(block_reading, "_AT_ONCE", 700)  # several batches
    chance = np.random.default_rng(3)
    candidate, bar = chance.integers(-1 if left_out else 0, 5, 5_000), chance.integers(0, 4, 5_000)
    late = chance.integers(0, 100, 5_000)
    rows = Candidates(candidate, bar, 5, 4, lambda at: None if keeps is None else late[at] < keeps, left_out=left_out)
    reader = BlockReader(rows, ScrambleOrder(5_000), lambda: False)
    first = reader.first(300)
    kept = (candidate >= 0) & (True if keeps is None else late < keeps)
    assert first.sum() == np.count_nonzero(kept[:300])
    found = reader.all()
    assert found.tolist() == [[int(np.sum(kept & (candidate == z) & (bar == x))) for x in range(4)] for z in range(5)]
    assert (reader.rows_read, reader.whole) == (5_000, True)
    assert reader.touched.tolist() == reader.size.tolist() == [int(np.sum(candidate == z)) for z in range(5)]
    for each in range(5):
        assert reader.first_of(each, 1).tolist() == np.flatnonzero(kept & (candidate == each)).tolist()
    assert not reader.fill(np.full(5, 9)).any()
