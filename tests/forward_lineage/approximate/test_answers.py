"""Answers from scrambles, without Spark: what is certain holds, what is read gives the estimate, what stops stops."""

from __future__ import annotations

import math
import os
import signal
import statistics
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.approximate import drawing, rounds
from forward_lineage.approximate.aggregate_query import Order, Threshold
from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.approximate.approximator import Asked
from forward_lineage.approximate.bounds.interval import Interval
from forward_lineage.approximate.drawing import DrawnOrder
from forward_lineage.approximate.estimates import BOTH, BOUNDERS, Ends
from forward_lineage.approximate.stopping import Goals, GroupState
from tests.forward_lineage.approximate.scrambled import ask, scramble
from tests.tiers import every_day
from udafs.errors import LineageError

ROWS = 30_000


def _flights(rows: int = ROWS, seed: int = 52) -> pa.Table:
    generator = np.random.default_rng(seed)
    origin = generator.choice(6, rows, p=[0.5, 0.3, 0.1, 0.08, 0.019, 0.001])
    delay = np.round(generator.lognormal(2.2, 1.0, rows) - 8 + 4 * origin)
    empty = generator.random(rows) < 0.05
    return pa.table(
        {
            "origin": pa.array(["ORD", "ATL", "LAX", "SFO", "BOI", None]).take(pa.array(origin)),
            "dow": pa.array(generator.integers(1, 8, rows)),
            "dep_time": pa.array(generator.integers(0, 2_400, rows)),
            "delay": pa.array(delay.astype(np.int64), mask=empty),
            "back": pa.array(-np.abs(generator.normal(5, 1, rows))),
        }
    )


FLIGHTS = _flights()
LIST = FLIGHTS.to_pylist()


def _exact(rows: list[dict[str, Any]], function: str, column: str | None) -> float | None:
    values = [row[column] for row in rows if row[column] is not None] if column else [1] * len(rows)
    if function == "count":
        return len(values)
    return None if not values else statistics.fmean(values) if function == "avg" else float(sum(values))


def _holds(answer: ApproximateAnswer, row: dict[str, Any], name: str, truth: float | None) -> bool:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if truth is None or low is None:
        return truth is None and low is None
    near = 1e-9 * (1 + abs(truth))
    assert low - near <= row[name] <= high + near
    return bool(low - near <= truth <= high + near)


@pytest.mark.parametrize("bounder", every_day(BOUNDERS, ["betting", "bernstein+rt"]))
@pytest.mark.parametrize("where", [None, "dep_time > 1350", "origin = 'ATL'", "origin IN ('ATL', 'BOI') AND dow <> 3"])
@pytest.mark.parametrize("keys", [(), ("origin",)])
def test_intervals_hold(bounder: str, where: str | None, keys: tuple[str, ...]) -> None:
    aggregates = [("avg", "delay"), ("sum", "back"), ("count", "delay"), ("count", None)]
    named = {f"{function}_{column}": (function, column) for function, column in aggregates}
    items = [*keys, *(f"{function}({column or '*'}) AS {name}" for name, (function, column) in named.items())]
    sql = f"SELECT {', '.join(items)} FROM flights" + (f" WHERE {where}" if where else "")
    sql += f" GROUP BY {', '.join(keys)}" if keys else ""
    answer = ask(scramble(FLIGHTS, ["origin", "dow"]), sql, 0.2, bounder=bounder)
    kept = {
        None: LIST,
        "dep_time > 1350": [row for row in LIST if row["dep_time"] > 1_350],
        "origin = 'ATL'": [row for row in LIST if row["origin"] == "ATL"],
    }.get(where, [row for row in LIST if row["origin"] in ("ATL", "BOI") and row["dow"] != 3])
    groups: dict[tuple[object, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in kept:
        groups[tuple(row[key] for key in keys)].append(row)
    assert answer.certified
    assert {tuple(row[key] for key in keys) for row in answer.rows} == set(groups)
    for row in answer.rows:
        mine = groups[tuple(row[key] for key in keys)]
        for name, (function, column) in named.items():
            truth = _exact(mine, function, column)
            assert _holds(answer, row, name, truth), (row, name, truth)
            if truth:
                assert abs(row[name] - truth) <= 0.2 * abs(truth) + 1e-9


def test_the_rows_read_give_the_estimates_again() -> None:
    answer = ask(
        scramble(FLIGHTS, ["origin"]),
        "SELECT origin, avg(delay), sum(back), count(delay) FROM flights WHERE dep_time > 600 GROUP BY origin",
        0.3,
    )
    sizes = defaultdict(int)
    for row in LIST:
        sizes[row["origin"]] += 1
    some = 0
    for place, row in enumerate(answer.rows):
        read = [LIST[number] for number in answer.backward(place)]
        assert {each["origin"] for each in read} == {row["origin"]}
        assert len(read) == row["rows_read"]
        kept = [each for each in read if each["dep_time"] > 600]
        weight = sizes[row["origin"]] / len(read)
        assert row["avg(delay)"] == _exact(kept, "avg", "delay")
        assert row["count(delay)"] == pytest.approx(_exact(kept, "count", "delay") * weight, rel=1e-15)
        assert row["sum(back)"] == pytest.approx(_exact(kept, "sum", "back") * weight, rel=1e-14)
        some += len(read) < sizes[row["origin"]]
    assert some


def _means() -> dict[object, float]:
    groups = defaultdict(list)
    for row in LIST:
        if row["delay"] is not None:
            groups[row["origin"]].append(row["delay"])
    return {name: statistics.fmean(values) for name, values in groups.items()}


@pytest.mark.parametrize("bounder", ["betting", "bernstein+rt"])
def test_having_says_on_which_side_each_group_is(bounder: str) -> None:
    middle = statistics.median(_means().values())
    sql = f"SELECT origin FROM flights GROUP BY origin HAVING avg(delay) > {middle:.4f}"
    answer = ask(scramble(FLIGHTS, ["origin"]), sql, bounder=bounder)
    assert {row["origin"] for row in answer.rows} == {name for name, mean in _means().items() if mean > middle}
    assert answer.certified
    turned = ask(scramble(FLIGHTS, ["origin"]), sql.replace("avg(delay) >", "avg(delay) <="))
    assert {row["origin"] for row in turned.rows} == {name for name, mean in _means().items() if mean <= middle}


@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("down", ["DESC", "ASC"])
def test_the_first_groups_are_apart_from_the_others(limit: int, down: str) -> None:
    sql = f"SELECT origin FROM flights GROUP BY origin ORDER BY avg(delay) {down} LIMIT {limit}"
    answer = ask(scramble(FLIGHTS, ["origin"]), sql)
    ranked = sorted(_means(), key=lambda name: _means()[name], reverse=down == "DESC")
    assert {row["origin"] for row in answer.rows} == set(ranked[:limit])
    assert answer.certified


@pytest.mark.parametrize("where", ["", "WHERE x <> 3 AND o <> 'c' "])
def test_what_takes_long_is_added_up(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large table the rest is added up once rounds take longer; all is as if rows had been read one by one."""
    monkeypatch.setattr(rounds, "ADD_UP_FROM", 1_000)
    chance, rows = np.random.default_rng(3), 9_000
    numbers = pa.array(chance.integers(-9, 10, rows), mask=chance.random(rows) < 0.1)
    origin = pa.array(["a", "b", "c", None]).take(pa.array(chance.integers(0, 4, rows)))
    table = pa.table({"o": origin, "x": numbers, "y": pa.array(chance.random(rows))})
    sql = f"SELECT o, AVG(x) AS m, SUM(x) AS s, COUNT(x) AS c, COUNT(*) AS n FROM flights {where}GROUP BY o"
    kept = [
        row for row in table.to_pylist() if not where or (row["x"] not in (3, None) and row["o"] not in ("c", None))
    ]
    for _ in range(2):  # in the order of the scramble, and drawn
        of = scramble(table, ["o"])
        of.begin_answer()
        answer = ask(of, sql, 1e-9)
        assert answer.certified
        assert answer.rounds == 1
        for place, row in enumerate(answer.rows):
            mine = [each["x"] for each in kept if each["o"] == row["o"]]
            there = [each for each in mine if each is not None]
            assert (row["s"], row["c"], row["n"]) == (sum(there), len(there), len(mine))
            assert row["m"] == row["m_low"] == row["m_high"] == statistics.fmean(there)
            assert {table["o"][each].as_py() for each in answer.backward(place)} == {row["o"]}
        assert {row["o"] for row in answer.rows} == {row["o"] for row in kept}
    doubles = ask(scramble(table, ["o"]), "SELECT AVG(y) AS y FROM flights", 1e-9)
    assert doubles.rows[0]["y"] == statistics.fmean(table["y"].to_pylist())  # added up without rounding errors


def test_only_ends_that_decide_are_looked_at() -> None:
    """Of a group over its threshold the lower end decides; a goal that needs both, or shows the value, gets both."""
    known = (Interval(0.0, 9.0), Interval(0.0, 9.0))
    groups = [GroupState(9, False, True, estimates, known) for estimates in ((5.0, 5.0), (1.0, 1.0), (None, 3.0))]
    over, under = Threshold(0, ">", 3.0), Threshold(0, "<", 6.0)
    lower, upper, none = (True, False), (False, True), (False, False)

    def ends(
        shown: tuple[int, ...] = (),
        having: tuple[Threshold, ...] = (),
        order: Order | None = None,
        error: float | None = None,
    ) -> list[Ends]:
        return [each[0] for each in Goals(shown, error, True, None, having, order).ends(groups)]

    assert ends(having=(over,)) == [lower, upper, BOTH]
    assert ends(having=(over, under)) == [BOTH, upper, BOTH]
    assert ends(shown=(0,), having=(over,), error=0.1) == [BOTH] * 3
    first = Goals((), None, True, None, (), Order(1, (), True, 1)).ends(groups)
    assert [each[1] for each in first] == [lower, upper, upper]
    last = Goals((), None, True, None, (), Order(1, (), False, 1)).ends(groups)
    assert [each[1] for each in last] == [lower, upper, lower]
    assert ends(order=Order(0, (), False, None)) == [BOTH] * 3
    assert ends(order=Order(1, (), False, 1)) == [none, none, BOTH]
    assert Goals((), None, True, None, (), None).ends([]) == []


def test_groups_are_in_order() -> None:
    answer = ask(scramble(FLIGHTS, ["origin"]), "SELECT origin FROM flights GROUP BY origin ORDER BY avg(delay)")
    assert [row["origin"] for row in answer.rows] == sorted(_means(), key=lambda name: _means()[name])
    by_key = ask(scramble(FLIGHTS, ["origin"]), "SELECT origin, count(*) FROM flights GROUP BY origin ORDER BY origin")
    assert [row["origin"] for row in by_key.rows] == [None, "ATL", "BOI", "LAX", "ORD", "SFO"]
    assert by_key.rows_read == 0  # the index knows


def test_a_number_of_rows_or_a_width_may_be_asked_for() -> None:
    flights = scramble(FLIGHTS, ["origin"])
    answer = ask(flights, "SELECT avg(delay) FROM flights", rows=500, bounder="hoeffding")
    assert (answer.rows_read, answer.rounds) == (500, 1)
    width = ask(scramble(FLIGHTS), "SELECT avg(delay) FROM flights", 3.0, relative=False)
    assert 0 < width.rows[0]["avg(delay)_high"] - width.rows[0]["avg(delay)_low"] <= 3.0
    assert width.rows_read < ROWS


def test_a_mean_near_zero_is_read_whole_and_then_exact() -> None:
    """③ divides by the ends of the interval; where their signs differ the thesis stops at once."""
    table = pa.table({"x": pa.array(np.tile([-1.0, 1.0], 3_000))})
    answer = ask(scramble(table), "SELECT avg(x) AS x FROM flights", 0.5)
    assert answer.rows == [
        {"x": 0.0, "x_low": 0.0, "x_high": 0.0, "certified": True, "rows_read": 6_000, "blocks_read": 94}
    ]


def test_groups_that_were_not_seen_are_not_left_out() -> None:
    """One row of 5,000 holds; a few rows read do not show whether its group has one."""
    rare = np.zeros(5_000, np.int64)
    rare[17] = 1
    table = pa.table({"g": pa.array(["a", "b"] * 2_500), "rare": pa.array(rare), "x": pa.array(np.arange(5_000.0))})
    sql = "SELECT g, avg(x) AS x FROM flights WHERE rare = 1 GROUP BY g"
    few = ask(scramble(table, ["g"], order=range(4_999, -1, -1)), sql, rows=100)
    assert (few.rows, few.certified) == ([], False)
    assert few.unseen == [(("a",), 2_400), (("b",), 2_400)]
    whole = ask(scramble(table, ["g"]), sql)
    assert [(row["g"], row["x"], row["certified"]) for row in whole.rows] == [("b", 17.0, True)]
    assert whole.certified
    assert not whole.unseen


def test_of_no_rows_a_sum_is_null_and_a_count_is_0() -> None:
    for where in ("dep_time > 9999", "origin = 'XXX'"):
        sql = f"SELECT avg(delay) AS a, sum(delay) AS s, count(*) AS c FROM flights WHERE {where}"
        row = ask(scramble(FLIGHTS, ["origin"]), sql).rows[0]
        assert (row["a"], row["s"], row["c"]) == (None, None, 0)
        assert ask(scramble(FLIGHTS, ["origin"]), f"{sql} GROUP BY origin").rows == []


def test_a_question_about_the_rows_of_an_answer_is_drawn_anew() -> None:
    """A second query may be about the very rows that the first one read.

    It keeps the high values among those, and the low ones among all others. From the start of the scramble again, the
    sample would be high values alone: the interval would miss for sure.
    """
    generator, missed, missed_by_prefix = np.random.default_rng(9), 0, 0
    for _ in range(8):
        values = generator.random(12_000)
        flights = scramble(pa.table({"x": pa.array(values), "chosen": pa.array(np.zeros(12_000, np.int64))}))
        first = ask(flights, "SELECT avg(x) FROM flights", rows=1_000)
        read = np.zeros(12_000, np.bool_)
        read[list(first.backward())] = True
        chosen = np.where(read, values > 0.5, values < 0.5).astype(np.int64)
        flights.columns["chosen"] = pa.array(chosen).take(pa.array(flights.base_ids))
        truth = float(values[chosen == 1].mean())
        sql = "SELECT avg(x) AS x FROM flights WHERE chosen = 1"
        second = ask(flights, sql, 0.1, confidence=0.999)
        missed += not _holds(second, second.rows[0], "x", truth)
        again = scramble(pa.table({"x": pa.array(values), "chosen": pa.array(chosen)}), order=flights.base_ids)
        prefix = ask(again, sql, 0.1, confidence=0.999)
        missed_by_prefix += not prefix.rows[0]["x_low"] <= truth <= prefix.rows[0]["x_high"]
    assert missed == 0
    assert missed_by_prefix >= 6


def test_a_group_that_was_read_before_is_not_missing_from_the_next_sample() -> None:
    """The first query reads far into one group. Rows of the start that it left are of the other groups alone."""
    group = np.repeat([0, 1], 20_000)
    table = pa.table({"g": pa.array(group), "x": pa.array(100.0 * group + np.arange(40_000) % 7)})
    flights = scramble(table, ["g"])
    ask(flights, "SELECT avg(x) FROM flights WHERE g = 1", rows=15_000)
    answer = ask(flights, "SELECT avg(x) AS x FROM flights", 0.1, confidence=0.999)
    assert answer.rows_read < 20_000
    assert answer.rows[0]["x_low"] <= 53 <= answer.rows[0]["x_high"]


@pytest.mark.parametrize("many", [1, 1 << 20])
@pytest.mark.parametrize("size", [1, 7, 400])
def test_a_drawn_order_has_each_row_once(size: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_MANY", many)  # of many rows those drawn are listed, not marked
    monkeypatch.setattr(drawing, "_FEW", 150)
    order, found = DrawnOrder(size), []
    while (some := order.take(max(size // 5, 1))).size:
        found.append(some)
    assert sorted(np.concatenate(found)) == list(range(size))


@pytest.mark.parametrize("many", [1, 1 << 20])
def test_drawn_orders_are_uniform(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_MANY", many)
    first = np.bincount([_pair(DrawnOrder(4)) for _ in range(3_000)], minlength=16).reshape(4, 4)
    assert not first.diagonal().any()
    assert np.all(np.abs(first[~np.eye(4, dtype=bool)] - 250) < 5 * 250**0.5)


def _pair(order: DrawnOrder) -> int:
    one, other = order.take(1)[0], order.take(1)[0]
    return int(4 * one + other)


def test_ctrl_c_gives_the_interval_so_far() -> None:
    told = []

    def interrupt(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    answer = ask(scramble(FLIGHTS), "SELECT avg(delay) AS a FROM flights", 0.0001, tell=interrupt)
    assert (answer.interrupted, answer.certified, answer.rounds) == (True, False, 2)
    assert told[0].startswith("round 1: 1,024 of 30,000 rows read, 1 of 1 groups active")
    truth = _exact(LIST, "avg", "delay")
    assert _holds(answer, answer.rows[0], "a", truth)
    assert answer.rows[0]["a_low"] < answer.rows[0]["a_high"]
    assert signal.getsignal(signal.SIGINT) is not None


def test_relations_of_a_scramble() -> None:
    flights = scramble(FLIGHTS, ["origin"])
    base, blocks = flights.base_rows(), flights.positions_of_blocks()
    assert len(base) == len(base.rows()) == len(base.ids()) == ROWS
    assert sorted(flights.base_ids) == list(range(ROWS))
    groups = flights.positions_of("origin")
    cell = next(place for place, values in enumerate(flights.index(("origin",)).values) if values == ("BOI",))
    mine = type(base).from_pairs([cell], [cell])
    rows_of_group = mine.join(groups).join(base).ids()
    assert set(rows_of_group) == {place for place, row in enumerate(LIST) if row["origin"] == "BOI"}
    assert blocks.ids() == base.rows()
    assert len(blocks.rows()) == flights.blocks == -(-ROWS // 64)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT avg(delay) FROM flights JOIN other USING (origin)", "a join in an approximate query"),
        ("SELECT DISTINCT origin FROM flights", "DISTINCT in an approximate query"),
        ("SELECT count(DISTINCT origin) FROM flights", r"count\(DISTINCT …\)"),
        ("SELECT avg(delay) FROM (SELECT * FROM flights)", "a subquery"),
        ("SELECT avg(delay) FROM flights WHERE delay > (SELECT 1)", "a subquery"),
        ("SELECT avg(delay + 1) FROM flights", r"delay \+ 1 in avg"),
        ("SELECT max(delay) FROM flights", "AVG, SUM and COUNT are bounded"),
        ("SELECT avg(delay) FROM flights WHERE delay + 1 > 2", "a condition with"),
        ("SELECT avg(delay) FROM flights WHERE nothing > 2", "has no column nothing"),
        ("SELECT avg(nothing) FROM flights", "the scramble of flights has no column nothing"),
        ("SELECT count(nothing) FROM flights", "has no column nothing"),
        ("SELECT dep_time, avg(delay) FROM flights GROUP BY dep_time", "dep_time is not among the groups"),
        ("SELECT avg(origin) FROM flights", "cannot be added up"),
        ("SELECT avg(delay) FROM flights LIMIT 3", "LIMIT without ORDER BY"),
        ("SELECT dow, avg(delay) FROM flights GROUP BY CUBE (dow)", "CUBE"),
        ("SELECT avg(delay) FROM flights HAVING avg(delay) = 3", "HAVING with something else"),
        ("SELECT avg(delay) OVER () FROM flights", "OVER"),
        ("WITH f AS (SELECT 1) SELECT avg(delay) FROM flights", "WITH in an approximate query"),
    ],
)
def test_what_is_refused_is_named(sql: str, said: str) -> None:
    with pytest.raises(LineageError, match=said):
        ask(scramble(FLIGHTS, ["origin", "dow"]), sql)


@pytest.mark.parametrize(
    "wrong",
    [{"error": each} for each in (0, -1, math.nan, math.inf, "x", True, np.nan)]
    + [{"confidence": each} for each in (0, 1, 2, "0.9", math.nan, None)]
    + [{"rows": each} for each in (0, 1.5, "1", True)]
    + [{"bounder": "normal"}],
)
def test_odd_arguments_are_refused(wrong: dict[str, Any]) -> None:
    said: dict[str, Any] = {"error": 0.1, "relative": True, "rows": None, "confidence": 0.9, "bounder": "betting"}
    Asked(**(said | {"error": np.float64(0.1), "rows": np.int64(3)})).check()
    with pytest.raises(LineageError, match=f"{next(iter(wrong))}="):
        Asked(**(said | wrong)).check()


@pytest.mark.parametrize(
    ("values", "said"),
    [([1.0, float("nan")], "NaN or infinity"), ([2**60, 1], "more than 15 digits")],
)
def test_values_that_doubles_do_not_add_are_refused(values: list[float], said: str) -> None:
    with pytest.raises(LineageError, match=said):
        ask(scramble(pa.table({"x": pa.array(values)})), "SELECT avg(x) FROM flights")


@pytest.mark.parametrize(
    ("bounder", "runs"), every_day([("betting", 15), ("betting", 200), ("hoeffding", 200)], [("betting", 15)])
)
def test_few_scrambles_mislead(bounder: str, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From end to end: groups are read on because of their own values, and of those of the others."""
    monkeypatch.setattr(rounds, "FIRST_LOOK", 16)
    generator, delta = np.random.default_rng(11), 0.2
    group = np.repeat(np.arange(3), 1_000)
    values = np.where(generator.random(3_000) < 0.5 + 0.1 * group, 1.0, 0.0)
    table = pa.table({"g": pa.array(group), "x": pa.array(values)})
    true = [float(values[group == each].mean()) for each in range(3)]
    sql, wrong, early = "SELECT g, avg(x) AS x FROM flights GROUP BY g ORDER BY avg(x) DESC LIMIT 1", 0, 0
    for _ in range(runs):
        answer = ask(scramble(table, ["g"]), sql, 0.2, confidence=1 - delta, bounder=bounder)
        (row,) = answer.rows
        holds = row["x_low"] <= true[int(row["g"])] <= row["x_high"]
        wrong += not (holds and row["g"] == 2)
        early += answer.rows_read < 2_500
    assert wrong <= delta * runs
    assert early > runs / 2
