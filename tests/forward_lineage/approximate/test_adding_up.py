"""Sums of all rows of groups, in the order of the scramble and by an index, beside sums that Python makes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.approximate import rounds
from forward_lineage.approximate.adding_up import Adder, Sums
from forward_lineage.approximate.exact_sums import BATCH, ExactSums
from forward_lineage.approximate.group_rows import Group, groups_of, index_of
from forward_lineage.approximate.scramble import Scramble
from forward_lineage.approximate.selection import Range, selection
from tests.forward_lineage.approximate.scrambled import ask, scramble

Row = dict[str, Any]
ROWS = 70_000  # more than one batch


@cache
def _made() -> tuple[Scramble, list[Row]]:
    generator = np.random.default_rng(3)
    void = generator.random(ROWS) < 0.1
    table = pa.table(
        {
            "who": pa.array(generator.choice(["A", "B", "C"], ROWS, p=[0.9, 0.09, 0.01])),
            "day": pa.array(generator.integers(1, 8, ROWS)),
            "late": pa.array(generator.integers(-500, 500, ROWS), mask=void),
            "hour": pa.array(generator.integers(0, 24, ROWS)),
            "fare": pa.array(np.round(generator.lognormal(1, 1, ROWS), 2), mask=void),
            "large": pa.array(generator.integers(-(2**52), 2**52, ROWS)),
        }
    )
    made = scramble(table, ["who", "day"])
    narrow = {
        name: each.cast(pa.int16()) if pa.types.is_integer(each.type) and name != "large" else each
        for name, each in made.columns.items()
    }
    return Scramble(made.manifest, narrow, made.groups, made.base_ids), table.to_pylist()


def _is_picked(row: Row) -> bool:
    return row["who"] == "C" and row["day"] in (1, 3, 4) and row["hour"] > 7


CASES: list[tuple[str | None, tuple[str, ...], Callable[[Row], bool]]] = [
    (None, (), lambda row: True),
    (None, ("day", "who"), lambda row: True),
    ("hour > 21", ("who",), lambda row: int(row["hour"] or 0) > 21),
    ("hour > 40", ("who",), lambda row: False),
    ("hour < 3 AND who = 'B'", ("day",), lambda row: int(row["hour"] or 0) < 3 and row["who"] == "B"),
    ("hour <> 7 AND hour >= 2", (), lambda row: row["hour"] != 7 and int(row["hour"] or 0) >= 2),
    ("who = 'C'", ("day",), lambda row: row["who"] == "C"),
    ("who = 'C' AND day IN (1, 3, 4) AND hour > 7", (), _is_picked),
    ("hour < 20 AND late > 100", ("who",), lambda row: int(row["hour"] or 0) < 20 and int(row["late"] or 0) > 100),
]


@pytest.mark.parametrize("column", ["late", "fare", "large"])
@pytest.mark.parametrize(("condition", "keys", "holds"), CASES)
def test_either_way_gives_the_sums_of_all_rows(
    condition: str | None, keys: tuple[str, ...], holds: Callable[[Row], bool], column: str
) -> None:
    of, rows = _made()
    chosen = selection(of, condition)
    groups = groups_of(of, keys, chosen, fresh=True)
    numbers = of.numbers(column)
    adder = Adder(
        of, chosen, index_of(of, keys, chosen), [None, column], {column: numbers}, {column: numbers.there}.get
    )
    ways: list[Sums] = [
        adder.scan([group.cells for group in groups]),
        adder.by_index([group.all_positions() for group in groups]),
    ]
    for place, group in enumerate(groups):
        mine = [row for row in rows if holds(row) and tuple(row[key] for key in keys) == group.key]
        there = [Fraction(row[column]) for row in mine if row[column] is not None]
        for way in ways:
            assert (way.matches[place], way.counts[None][place]) == (len(mine), len(mine))
            assert (way.counts[column][place], way.totals[column][place]) == (len(there), sum(there))


def test_groups_that_are_few_of_all_are_picked_out() -> None:
    of, _ = _made()
    chosen = selection(of, "who = 'C' AND day IN (1, 3, 4)")
    late = of.numbers("late")
    adder = Adder(of, chosen, of.index(("day", "who")), ["late"], {"late": late}, {"late": late.there}.get)
    assert adder._picks(ROWS // 2)
    assert not adder._picks(ROWS // 2 + 1)
    assert adder._of_scan(ROWS // 100, 1) < adder._of_scan(ROWS, 1)


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_doubles_have_no_rounding_errors(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.choice(
        [
            np.round(generator.lognormal(1, 2, 5_000), 2),
            generator.normal(0, 1e-3, 5_000),
            -generator.random(5_000) * 2.0**seed,
            np.zeros(5_000),
        ]
    )
    values[:: seed + 2] *= -1
    least = float(np.abs(values[values != 0]).min(initial=1.0))
    sums = ExactSums.of(least, float(np.abs(values).max()), rows=values.size, whole=False)
    if sums is None:  # they differ by more than 2⁵⁵
        assert np.abs(values).max() / least > 2.0**50
        return
    found = [int(part.sum() * 2.0**-unit) for part, unit in zip(sums.parts(values), sums.units, strict=True)]
    assert sums.total(found) == sum(map(Fraction, values.tolist()))
    for part, unit in zip(sums.parts(values), sums.units, strict=True):
        assert np.all(part * 2.0**-unit == np.rint(part * 2.0**-unit))
        assert np.abs(part).max() * 2.0**-unit * BATCH < 2.0**53


def test_doubles_of_very_different_sizes_are_not_added_up() -> None:
    assert ExactSums.of(1e-200, 1.0, rows=10, whole=False) is None
    assert ExactSums.of(1e280, 1e300, rows=10, whole=False) is None
    assert ExactSums.of(1.0, 2.0**53, rows=1 << 27, whole=True) is not None
    table = pa.table({"x": pa.array([1e-200, 1.0, -1.0] * 4)})
    assert scramble(table).numbers("x").sums is None
    assert ask(scramble(table), "SELECT avg(x) AS x FROM flights").rows[0]["x"] == pytest.approx(1e-200 / 3)


def test_a_comparison_of_a_narrow_column_is_a_range() -> None:
    of, _ = _made()
    assert selection(of, "hour > 21").ranges == (Range("hour", 22, 32_767),)
    assert selection(of, "hour > 40000").ranges == (Range("hour", 1, 0),)
    assert selection(of, "NOT hour > 21 AND hour >= 2").ranges == (Range("hour", -32_768, 21), Range("hour", 2, 32_767))
    assert selection(of, "hour <> 7").rest is not None
    assert selection(of, "late > 3").rest is not None  # NULL is no number
    assert selection(of, "hour < day").rest is not None


def test_rounds_give_way_to_adding_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of the same mean are apart after all rows only."""
    monkeypatch.setattr(rounds, "ADD_UP_FROM", 1_000)
    table = pa.table({"g": pa.array(np.arange(ROWS) % 3), "x": pa.array([*([5, 5, 4] * (ROWS // 3)), 9])})
    answer = ask(scramble(table, ["g"]), "SELECT g, AVG(x) AS x FROM flights GROUP BY g ORDER BY AVG(x) DESC LIMIT 1")
    (row,) = answer.rows
    count = math.ceil(ROWS / 3)
    assert (row["g"], row["x"]) == (0, ((count - 1) * 5 + 9) / count)
    assert answer.certified
    assert sorted(answer.backward()) == list(range(0, ROWS, 3))


def test_the_rows_that_are_foreseen_are_about_those_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    late = np.round(generator.lognormal(3, 1, 400_000)).astype(np.int64)
    table = pa.table({"late": pa.array(late), "g": pa.array(generator.integers(0, 2, late.size))})
    monkeypatch.setattr(rounds, "ADD_UP_FROM", late.size + 1)
    for sql, error in (
        ("SELECT avg(late) AS x FROM flights", 0.1),
        ("SELECT sum(late) AS x FROM flights WHERE g = 1", 0.1),
        ("SELECT avg(late) AS x FROM flights WHERE late > 20", 0.1),
        ("SELECT count(*) AS n FROM flights HAVING avg(late) > 30", None),
    ):
        of = scramble(table, ["g"] if "g =" in sql else [])
        foreseen: list[float] = []
        needed = Group.rows_needed

        def heard(group: Group, gaps: Any, needed: Any = needed, foreseen: list[float] = foreseen) -> float:
            foreseen.append(needed(group, gaps))
            return foreseen[-1]

        with monkeypatch.context() as patch:
            patch.setattr(Group, "rows_needed", heard)
            read = ask(of, sql, error, confidence=1 - 1e-12).rows_read
        assert 0.4 * read < np.median(foreseen) < 1.6 * read, sql
