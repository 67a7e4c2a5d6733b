"""The bounds, against their formulas in decimals of fifty digits, written a second time; and their examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import sys
from collections.abc import Callable
from decimal import Decimal, getcontext
from types import ModuleType

import numpy as np
import pytest

from forward_lineage.approximate.bounds import (
    bernstein,
    betting,
    counts,
    error_budget,
    hoeffding,
    means,
    range_trim,
    sums,
)
from forward_lineage.approximate.bounds.moments import LowerLimit, Moments

getcontext().prec = 50
MODULES = (
    *("interval", "error_budget", "moments", "hoeffding", "bernstein", "range_trim", "counts", "means", "sums"),
    "betting",
    "wager",
)
#: sample, low, high, size, delta
CASES = [
    ([0.25, 0.5, 1.0, 0.125], 0.0, 1.0, 9, 0.05),
    ([3.0, -7.5, 2.0, 2.0, 2.0, 11.0], -10.0, 40.0, 1_000, 0.001),
    ([float(value % 13) for value in range(200)], -3.0, 15.0, 350, 1e-15),
    ([5.0, 5.0, 5.0], 0.0, 6.0, 100_000, 0.1),
]


def _deviation(sample: list[Decimal]) -> Decimal:
    mean = sum(sample) / len(sample)
    return (sum((value - mean) ** 2 for value in sample) / len(sample)).sqrt()


def _hoeffding(sample: list[Decimal], low: Decimal, high: Decimal, size: int, delta: Decimal) -> Decimal:
    m = Decimal(len(sample))
    return sum(sample) / m - (high - low) * ((1 - (m - 1) / size) * (1 / delta).ln() / (2 * m)).sqrt()


def _bernstein(sample: list[Decimal], low: Decimal, high: Decimal, size: int, delta: Decimal) -> Decimal:
    m = Decimal(len(sample))
    rho = 1 - (m - 1) / size if 2 * m <= size else (1 - m / size) * (1 + 1 / m)
    kappa = Decimal(7) / 3 + 3 / Decimal(2).sqrt()
    log = (5 / delta).ln()
    return sum(sample) / m - _deviation(sample) * (2 * rho * log / m).sqrt() - kappa * (high - low) * log / m


def _trimmed(formula, sample, low, high, size, delta):  # type: ignore[no-untyped-def]
    rest = sorted(sample)[:-1]
    return formula(rest, low, max(sample), size - 1, delta)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("bounder", "formula"),
    [(hoeffding.hoeffding_serfling, _hoeffding), (bernstein.bernstein_serfling, _bernstein)],
)
def test_lower_limits_are_the_formulas(bounder: LowerLimit, formula, case) -> None:  # type: ignore[no-untyped-def]
    values, low, high, size, delta = case
    exact = [Decimal(value) for value in values]
    said = tuple(map(Decimal, (low, high)))
    sample = Moments.of(values)
    expected = formula(exact, *said, size, Decimal(delta))
    assert float(bounder(sample, low, high, size, delta)) == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
    trimmed = _trimmed(formula, exact, *said, size, Decimal(delta))
    found = float(range_trim.range_trim(bounder)(sample, low, high, size, delta))
    assert found == pytest.approx(float(trimmed), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_an_interval_gives_half_of_delta_to_either_end(case) -> None:  # type: ignore[no-untyped-def]
    values, low, high, size, delta = case
    exact = [Decimal(value) for value in values]
    ends = tuple(map(Decimal, (low, high)))
    lower = _hoeffding(exact, *ends, size, Decimal(delta) / 2)
    mirrored = [ends[0] + ends[1] - value for value in exact]
    upper = ends[0] + ends[1] - _hoeffding(mirrored, *ends, size, Decimal(delta) / 2)
    total, rest = sum(exact), size - len(exact)
    lower = max(lower, (total + rest * ends[0]) / size, ends[0])
    upper = min(upper, (total + rest * ends[1]) / size, ends[1])
    found = means.mean_interval(hoeffding.hoeffding_serfling, Moments.of(values), low, high, size, delta=delta)
    assert found.low == pytest.approx(float(lower), rel=1e-12, abs=1e-12)
    assert found.high == pytest.approx(float(upper), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("seen", "read", "rows", "delta"), [(3, 40, 1_000, 0.05), (700, 900, 50_000, 1e-6)])
def test_counts_are_the_formula(seen: int, read: int, rows: int, delta: float) -> None:
    left = 1 - (Decimal(read) - 1) / rows

    def error(share: Decimal) -> Decimal:
        return ((1 / share).ln() / (2 * read) * left).sqrt()

    part = Decimal(seen) / read
    half, whole = error(Decimal(delta) / 2), error(Decimal(delta))
    found = counts.count_interval(seen, read, rows, delta)
    assert found.low == max(math.ceil((part - half) * rows), seen)
    assert found.high == min(math.floor((part + half) * rows), rows - read + seen)
    assert counts.count_at_most(seen, read, rows, delta) == math.floor((part + whole) * rows)


def test_a_mean_of_a_part_divides_delta_as_theorem_6_3_does() -> None:
    values, low, high, read, rows, delta = [1.0, 4.0, 2.0, 2.5] * 30, 0.0, 5.0, 400, 10_000, 0.01
    left = 1 - (Decimal(read) - 1) / rows
    part = Decimal(len(values)) / read
    for share in (0.99, 0.5):
        error = ((1 / (Decimal(1 - share) * Decimal(delta))).ln() / (2 * read) * left).sqrt()
        size = math.floor((part + error) * rows)
        exact = [Decimal(value) for value in values]
        lower = _hoeffding(exact, Decimal(low), Decimal(high), size, Decimal(share) * Decimal(delta) / 2)
        found = means.mean_of_part(
            hoeffding.hoeffding_serfling, Moments.of(values), low, high, read=read, rows=rows, delta=delta, share=share
        )
        assert found.low == pytest.approx(float(lower), rel=1e-12)
        assert found.high == pytest.approx(2 * sum(values) / len(values) - float(lower), rel=1e-12)


def test_a_sum_is_the_product_at_half_of_delta_each() -> None:
    sample = Moments.of([1.0, 4.0, 2.0, 2.5] * 30)
    said = (hoeffding.hoeffding_serfling, sample, 0.0, 5.0)
    count = counts.count_interval(120, 400, 10_000, 0.005)
    mean = means.mean_of_part(*said, read=400, rows=10_000, delta=0.005)
    assert sums.sum_of_part(*said, read=400, rows=10_000, delta=0.01) == count.product(mean)


@pytest.mark.parametrize(
    ("above", "part", "size", "excess"),
    [
        ([0.5, 0.0, 2.0, 1.0], None, 9, 0.75),
        ([0.5, 0.0, 0.0, 3.0, 1.0], [1, 0, 1, 1, 1], 17, 0.6),
    ],
)
def test_wealth_is_the_formula(above: list[float], part: list[int] | None, size: int, excess: float) -> None:
    bets = [Decimal(15) / 16 / 2**place for place in range((size - 1).bit_length() + 1)]
    kept, u = part or [1] * len(above), Decimal(excess)
    wealth, spent, seen = dict.fromkeys(bets, Decimal(1)), Decimal(0), Decimal(0)
    for place, (y, p) in enumerate(zip(map(Decimal, above), kept, strict=True)):
        left = size - place
        worth = ((left + seen) * u - spent) / left
        for bet in bets:
            wealth[bet] *= 1 + bet * ((y + (1 - p) * u) / worth - 1)
        spent, seen = spent + y, seen + p
    draws = betting.Draws(np.array(above), None if part is None else np.array(part, float), size)
    found = betting.log_wealth_of_all(draws, excess)[-1]
    assert found == pytest.approx(float((sum(wealth.values()) / len(bets)).ln()), abs=1e-12)


@pytest.mark.parametrize("delta", [0.05, 1e-15])
def test_betting_gives_half_of_delta_to_either_end(delta: float) -> None:
    values = np.array([0.5, 3.0, 1.0, 1.0] * 200)
    draws = betting.Draws(values, None, 5_000)
    found = betting.mean_interval(draws, 0.0, 4.0, delta)
    assert found.low == betting.lower_limit(draws, delta / 2)
    assert found.high == 4.0 - betting.lower_limit(betting.Draws(4.0 - values, None, 5_000), delta / 2)
    assert betting.lower_limit(draws, delta) > found.low
    assert betting.log_wealth_of_all(draws, found.low)[-1] >= math.log(2 / delta)


def _mutant(module: str, old: str, new: str) -> ModuleType:
    """A module with something else in a place of its text."""
    found = importlib.import_module(f"forward_lineage.approximate.bounds.{module}")
    text = inspect.getsource(found)
    assert text.count(old) == 1
    mutant = ModuleType(found.__name__)
    mutant.__dict__["__name__"] = found.__name__
    sys_module, sys.modules[found.__name__] = sys.modules[found.__name__], mutant
    try:
        exec(compile(text.replace(old, new), found.__file__ or module, "exec"), mutant.__dict__)
    finally:
        sys.modules[found.__name__] = sys_module
    return mutant


@pytest.mark.parametrize(
    ("module", "old", "new", "caught"),
    [
        ("hoeffding", "(2 * count)", "(4 * count)", "bounder"),
        ("hoeffding", "(count - 1) / size", "count / size * 2", "bounder"),
        ("hoeffding", "np.log(1 /", "np.log(0.5 /", "bounder"),
        ("bernstein", "7 / 3 + 3", "7 / 3 + 2", "bounder"),
        ("bernstein", "np.log(5 /", "np.log(3 /", "bounder"),
        ("bernstein", "(1 + 1 / count)", "(1 - 1 / count)", "bounder"),
        ("bernstein", "sqrt(2 * rho", "sqrt(rho", "bounder"),
        ("range_trim", "rest = sample.without_greatest()", "rest = sample", "trim"),
        ("range_trim", "(size) - 1.0", "(size) - 2.0", "trim"),
        ("error_budget", "6 / math.pi**2 * ", "", "looks"),
        ("error_budget", "look**2", "look", "looks"),
        (
            "means",
            "_lower(bounder, sample, low, high, size, delta=delta / 2)",
            "_lower(bounder, sample, low, high, size, delta=delta)",
            "mean",
        ),
        (
            "means",
            "sample.mirrored(low + high), low, high, size, delta=delta / 2",
            "sample.mirrored(low + high), low, high, size, delta=delta",
            "mean",
        ),
        ("counts", "_error(read, rows, delta / 2)", "_error(read, rows, delta)", "count"),
        ("counts", "(2 * read)", "(3 * read)", "count"),
        ("wager", "math.log(self._bets.size / delta)", "math.log(1 / delta)", "betting"),
        ("betting", "above.shape, -np.inf", "above.shape, -1.0", "wealth"),
        (
            "betting",
            "lower_limit(draws, delta / 2, before.low - low)",
            "lower_limit(draws, delta, before.low - low)",
            "betting",
        ),
        ("betting", "self.size - np", "self.size - 1 - np", "wealth"),
    ],
)
def test_mutants_are_caught(module: str, old: str, new: str, caught: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = _mutant(module, old, new)
    original = importlib.import_module(mutant.__name__)
    for name, value in vars(mutant).items():
        if getattr(value, "__module__", None) == mutant.__name__:
            monkeypatch.setattr(original, name, value)
            if module == "wager" and hasattr(betting, name):
                monkeypatch.setattr(betting, name, value)
    tests: dict[str, Callable[[], None]] = {
        "bounder": lambda: _of_all(
            getattr(mutant, f"{module}_serfling"), {"hoeffding": _hoeffding}.get(module, _bernstein)
        ),
        "trim": lambda: _of_all(hoeffding.hoeffding_serfling, _hoeffding),
        "looks": test_looks_take_shares_that_add_up,
        "mean": lambda: [test_an_interval_gives_half_of_delta_to_either_end(case) for case in CASES] and None,
        "count": lambda: test_counts_are_the_formula(700, 900, 50_000, 1e-6),
        "betting": lambda: test_betting_gives_half_of_delta_to_either_end(1e-15),
        "wealth": lambda: test_wealth_is_the_formula([0.5, 0.0, 2.0, 1.0], None, 9, 0.75),
    }
    with pytest.raises(AssertionError):
        tests[caught]()


def _of_all(bounder: LowerLimit, formula) -> None:  # type: ignore[no-untyped-def]
    for case in CASES:
        test_lower_limits_are_the_formulas(bounder, formula, case)


def test_looks_take_shares_that_add_up() -> None:
    decayed, shared = error_budget.decayed, error_budget.shared
    total = sum(decayed(0.05, look) for look in range(1, 200_000))
    assert 0.04999 < total <= 0.05
    assert decayed(0.3, 1) == pytest.approx(0.3 * 6 / math.pi**2, rel=1e-12)
    assert shared(0.3, 3) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"forward_lineage.approximate.bounds.{module}"))
    assert found.attempted and not found.failed
