"""What `make test-spark` tells of tests, and which tests it leaves out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from tests import spark_versions
from tests.conftest import leave_out_what_is_newer
from tests.spark_versions import Outcome, read, table
from udafs.errors import SetupError

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_one"/>
<testcase classname="tests.a" name="test_two"><failure message="no">…</failure></testcase>
<testcase classname="tests.a" name="test_three"><skipped type="pytest.skip" message="since Spark 4.2: so"/></testcase>
<testcase classname="tests.a" name="test_four"><skipped type="pytest.xfail" message="a bug"/></testcase>
<testcase classname="tests.a" name="test_five"><error message="at setup">…</error></testcase>
</testsuite></testsuites>"""


def test_a_report_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(REPORT, encoding="utf-8")
    failed = ["tests.a::test_two", "tests.a::test_five"]
    assert read(file) == Outcome(0, 1, Counter({"since Spark 4.2: so": 1}), 1, failed)


def test_no_test_is_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text("<testsuites><testsuite/></testsuites>", encoding="utf-8")
    assert read(file).failed == ["no test ran"]


def test_what_is_left_out_and_what_failed_is_told() -> None:
    outcome = Outcome(12.4, 7, Counter({"since Spark 4.2: so": 2}), 1, ["tests.a::test_two"])
    assert table([("4.1.4", "golden", outcome)]) == [
        "Spark   tests                passed  left out  known bugs  failed  seconds",
        "4.1.4   golden                    7         2           1       1       12",
        "4.1.4 golden: 2 left out: since Spark 4.2: so",
        "4.1.4 golden: FAILED tests.a::test_two",
    ]


def test_a_version_outside_the_range_is_refused_before_anything_runs() -> None:
    with pytest.raises(SetupError, match=r"Spark 3\.4, .* 3\.5 to 4\.3"):
        spark_versions.main(["4.3", "3.4"])


def test_a_suite_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        spark_versions.main(["4.3", "--suite", "nightly"])
    names = ", ".join(f"'{name}'" for name in spark_versions.SUITES)
    assert f"'nightly' (choose from {names})" in capsys.readouterr().err


class Marked:
    """As much of a test as the marker `since` sees."""

    def __init__(self, version: str) -> None:
        self.marks = [pytest.mark.since(version, "so").mark]

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.marks.append(marker.mark)


@pytest.mark.parametrize(("since", "left_out"), [("4.0", False), ("4.1", False), ("4.2", True), ("4.3", True)])
def test_left_out_when_it_is_newer(since: str, left_out: bool) -> None:
    item = Marked(since)
    leave_out_what_is_newer(cast(pytest.Item, item), "4.1.4")
    reasons = [mark.kwargs["reason"] for mark in item.iter_markers("skip")]
    assert reasons == ([f"since Spark {since}: so"] if left_out else [])
