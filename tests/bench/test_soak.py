"""The soak's arithmetic and its verdicts; one short soak over few queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.bench import soak
from tests.bench.leaks import MEASURES, Slope, leaking, slope


def test_the_slope_of_a_line_is_exact() -> None:
    found = slope([1.0, 3.0, 5.0, 7.0])
    assert (found.per_step, found.error) == (2.0, 0.0)
    assert found.grows
    assert not slope([4.0] * 5).grows


def test_a_file_more_among_hundreds_is_no_slope() -> None:
    assert not slope([346.0, 346, 346, 347, 347, 347]).grows
    assert slope([346.0, 348, 350, 352, 354, 356]).grows
    assert slope([6.0, 6, 6, 7, 7, 7]).grows
    assert Slope(1.0, 0.3).grows and not Slope(1.0, 0.4).grows


def test_the_error_of_a_slope_is_that_of_least_squares() -> None:
    found = slope([0.0, 1.0, 1.0, 3.0, 2.0])
    assert found.per_step == pytest.approx(0.6)
    assert found.error == pytest.approx((1.6 / 3 / 10) ** 0.5)


def test_two_values_have_no_slope() -> None:
    with pytest.raises(ValueError, match="three values"):
        slope([1.0, 2.0])


def test_what_grows_is_told_from_scatter_and_from_what_grows_anyway() -> None:
    flat = [dict.fromkeys(MEASURES, 5.0) for _ in range(6)]
    scattered = [{**each, "Java heap, KB": 5.0 + (-1) ** n} for n, each in enumerate(flat)]
    growing = [{**each, "views": 5.0 + n, "Java code cache, KB": 5.0 + n} for n, each in enumerate(flat)]
    assert leaking(flat, flat) == leaking(scattered, flat) == leaking(growing, growing) == []
    assert leaking(growing, flat) == ["views"]


def test_the_report_says_it() -> None:
    flat = [dict.fromkeys(MEASURES, 5.0) for _ in range(6)]
    growing = [{**each, "views": 5.0 + n, "functions": 5.0 + n} for n, each in enumerate(flat)]
    plain = [{**each, "functions": 5.0 + n} for n, each in enumerate(flat)]
    console = Console(record=True, width=160)
    console.print(soak.report({"with lineage": growing, "without": plain}, 100))
    lines = {line.split("│")[1].strip(): line for line in console.export_text().splitlines() if line.count("│") > 4}
    assert "GROWS" in lines["views"] and "1.00 ± 0.00" in lines["views"]
    assert "as without us" in lines["functions"]
    assert "0 within its scatter" in lines["Java heap, KB"]
    assert "not judged" in lines["Java threads"]


def test_too_few_measurements_are_refused() -> None:
    result = CliRunner().invoke(soak.main, ["--queries", "300"])
    assert result.exit_code == 2
    assert "at least four measurements" in result.output


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_is_left_behind_by_few_queries(tmp_path: Path) -> None:
    """What is counted exactly does not grow; memory needs more queries."""
    found = tmp_path / "found.json"
    CliRunner().invoke(soak.main, ["--queries", "40", "--every", "5", "--json", str(found)])
    points = json.loads(found.read_text())["with lineage"]
    assert len(points) == 8
    assert points[-1]["outcomes"]["asked"] > 30
    for what in ("views", "functions", "cached plans", "cached RDDs", "home files"):
        assert len({point["measured"][what] for point in points[2:]}) == 1, what
