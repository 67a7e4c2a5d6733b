"""What a block asks of its sources, and what is expected of its rows then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from sqlglot import exp

from rewrites.row_estimates import Derived, Joined, RowEstimate, copied, unknown
from tests.rewrites.plain_tables import read
from udafs.errors import Position


@dataclass
class _Noted:
    """Facts of a column of ten values, which note the range that they are asked for: a quarter of the rows."""

    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    distinct: float = 10.0
    most_frequent: float = 0.1

    def share_between(self, low: str | None, high: str | None) -> float:
        self.asked.append((low, high))
        return 0.25


def _rows(condition: str, facts: _Noted) -> float | None:
    select = read(f"SELECT * FROM t WHERE {condition}")
    assert isinstance(select, exp.Select)
    source = RowEstimate(1_000.0, column=lambda _: facts)
    return Joined(("t",), (("d", "v"),), (lambda: source,), (False,), (1,)).read(select).rows


@pytest.mark.parametrize(
    ("condition", "between"),
    [
        ("v > 3", ("3", None)),
        ("v >= 3", ("3", None)),
        ("v < 3 + 4", (None, "7.0")),
        ("v <= -3", (None, "-3")),
        ("v BETWEEN 3 AND 5 - 1", ("3", "4.0")),
        ("d >= DATE '2000-02-27' + INTERVAL 3 DAYS", ("2000-03-01", None)),
        ("d < CAST('2000-03-01' AS DATE) - INTERVAL '3' DAY", (None, "2000-02-27")),
        ("d BETWEEN '2000-01-01' AND DATE '2000-01-01' + INTERVAL 30 DAYS", ("2000-01-01", "2000-01-31")),
    ],
)
def test_a_range_of_literals_takes_its_share(condition: str, between: tuple[str | None, str | None]) -> None:
    facts = _Noted()
    assert _rows(condition, facts) == 250
    assert set(facts.asked) == {between}


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("v = 3", 100),
        ("v = NULL", 1_000),
        ("v IN (1, 2)", 200),
        ("v IN (1, d)", 1_000),
        ("v = 1 OR v = 2", 200),
        ("v = 1 AND d = 2", 10),
        ("v < w", 1_000),
    ],
)
def test_other_conditions(condition: str, rows: float) -> None:
    assert _rows(condition, _Noted()) == pytest.approx(rows)


def _table(rows: float, **values: float) -> RowEstimate:
    def distinct(names: Sequence[str]) -> float | None:
        found = [values[each] for each in names if each in values]
        return min(found) if found else None

    return RowEstimate(rows, column=lambda each: Derived(values[each]) if each in values else None, distinct=distinct)


@pytest.mark.parametrize(
    ("joined", "rows"),
    [
        ("s JOIN d USING (day) JOIN c USING (who)", 6_000),  # a sale has one day and one customer
        ("s JOIN d ON s.day = d.day, c WHERE c.who = s.who", 6_000),
        ("s, d, c WHERE c.who = s.who", 6_000 * 30),  # every sale with every day
        ("s JOIN d USING (day) JOIN c USING (who) WHERE d.day = 3", 200),
    ],
)
def test_joins_in_whatever_order_they_are_written(joined: str, rows: float) -> None:
    select = read(f"SELECT * FROM {joined}")
    assert isinstance(select, exp.Select)
    tables = _table(6_000, day=30, who=100), _table(30, day=30), _table(100, who=100)
    columns = ("day", "who"), ("day",), ("who",)
    estimators = tuple(lambda each=each: each for each in tables)
    found = Joined(("s", "d", "c"), columns, estimators, (False,) * 3, (1,) * 3).read(select)
    assert found.rows == pytest.approx(rows)


def test_places_are_noted_where_sets_are_copied() -> None:
    place = Position(1, 8)
    known = RowEstimate(5.0, copied=frozenset([Position(2, 2)]))
    found = copied(lambda: known, place)()
    assert found is not None and found.copied == {place, Position(2, 2)}
    assert copied(unknown, place)() is None
    assert copied(lambda: known, None)() is known
