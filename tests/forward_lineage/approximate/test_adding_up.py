"""Sums of all rows of groups, in the order of the scramble and by an index, beside sums that Python makes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.approximate import rounds
from forward_lineage.approximate.adding_up import Adder, Sums
from forward_lineage.approximate.group_rows import groups_of, index_of
from forward_lineage.approximate.scramble import Scramble
from forward_lineage.approximate.selection import Range, selection
from tests.forward_lineage.approximate.scrambled import ask, scramble

Row = dict[str, int | str | None]
ROWS = 70_000  # more than one batch


def _made() -> tuple[Scramble, list[Row]]:
    generator = np.random.default_rng(3)
    void = generator.random(ROWS) < 0.1
    table = pa.table(
        {
            "who": pa.array(generator.choice(["A", "B", "C"], ROWS, p=[0.9, 0.09, 0.01])),
            "day": pa.array(generator.integers(1, 8, ROWS)),
            "late": pa.array(generator.integers(-500, 500, ROWS), mask=void),
            "hour": pa.array(generator.integers(0, 24, ROWS)),
        }
    )
    made = scramble(table, ["who", "day"])
    narrow = {
        name: each.cast(pa.int16()) if pa.types.is_integer(each.type) else each for name, each in made.columns.items()
    }
    return Scramble(made.manifest, narrow, made.groups, made.base_ids), table.to_pylist()


CASES: list[tuple[str | None, tuple[str, ...], Callable[[Row], bool]]] = [
    (None, (), lambda row: True),
    (None, ("day", "who"), lambda row: True),
    ("hour > 21", ("who",), lambda row: int(row["hour"] or 0) > 21),
    ("hour > 40", ("who",), lambda row: False),
    ("hour < 3 AND who = 'B'", ("day",), lambda row: int(row["hour"] or 0) < 3 and row["who"] == "B"),
    ("hour <> 7 AND hour >= 2", (), lambda row: row["hour"] != 7 and int(row["hour"] or 0) >= 2),
    ("hour < 20 AND late > 100", ("who",), lambda row: int(row["hour"] or 0) < 20 and int(row["late"] or 0) > 100),
]


@pytest.mark.parametrize(("condition", "keys", "holds"), CASES)
def test_either_way_gives_the_sums_of_all_rows(
    condition: str | None, keys: tuple[str, ...], holds: Callable[[Row], bool]
) -> None:
    of, rows = _made()
    chosen = selection(of, condition)
    groups = groups_of(of, keys, chosen, fresh=True)
    late = of.numbers("late")
    adder = Adder(of, chosen, index_of(of, keys, chosen), [None, "late"], {"late": late}, {"late": late.there}.get)
    ways: list[Sums] = [
        adder.scan([group.cells for group in groups]),
        adder.by_index([group.all_positions() for group in groups]),
    ]
    for place, group in enumerate(groups):
        mine = [row for row in rows if holds(row) and tuple(row[key] for key in keys) == group.key]
        there = [int(row["late"]) for row in mine if row["late"] is not None]
        for way in ways:
            assert (way.matches[place], way.counts[None][place]) == (len(mine), len(mine))
            assert (way.counts["late"][place], way.totals["late"][place]) == (len(there), sum(there))


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
