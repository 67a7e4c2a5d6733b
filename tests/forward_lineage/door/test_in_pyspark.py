"""SQL that asks for lineage, in a PySpark session: what comes back is what `lineage.sql` gives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import wait_for
from tests.forward_lineage.door import asking
from tests.forward_lineage.door.extended import ExtendedSpark
from tests.forward_lineage.door.thrift_server import all_doors
from tpch_queries import names

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SOME = ["q12", "q4", "q15"]  # a group, a correlated subquery, a view


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExtendedSpark]:
    with ExtendedSpark(tmp_path_factory.mktemp("extended")) as running:
        yield running


def test_what_spark_reads_stays_sparks(extended: ExtendedSpark) -> None:
    """No process is started for it: this is the first test."""
    assert extended.call(asking.untouched) == [[1], [2], [1], [5]]


@pytest.mark.parametrize("semantics", ["data", pytest.param("control", marks=pytest.mark.long)])
def test_some_queries(extended: ExtendedSpark, tpch: Path, semantics: str) -> None:
    assert extended.call(asking.differing, tpch, SOME, semantics) == []


@pytest.mark.long
@pytest.mark.parametrize("semantics", ["data", "control"])
def test_all_queries(extended: ExtendedSpark, tpch: Path, semantics: str) -> None:
    assert extended.call(asking.differing, tpch, list(names()), semantics) == []


def test_forms(extended: ExtendedSpark, tpch: Path) -> None:
    assert extended.call(asking.forms, tpch) == []


def test_tables_with_lineage(extended: ExtendedSpark, tpch: Path) -> None:
    found = extended.call(asking.stored, tpch)
    assert all(found.values()), found


def test_errors_are_those_of_python(extended: ExtendedSpark, tpch: Path) -> None:
    texts = [
        "SELECT *\nFROM nowhere WITH LINEAGE",
        "SELECT n_name, rand() FROM nation TABLESAMPLE (10 PERCENT) WITH LINEAGE",
        "SELECT n_name FROM nation LINEAGE ON",
        "SELECT n_name FROM nation LINEAGE ON rand()",
        "SELECT no_column FROM nation WITH LINEAGE",
        "DELETE FROM nation WITH LINEAGE",
        "SELECT n_name FORM nation WITH LINEAGE",
    ]
    for asked, traced in extended.call(asking.complaints, tpch, texts):
        assert asked == traced
        assert asked


def test_parameters_are_refused(extended: ExtendedSpark, tpch: Path) -> None:
    assert "lineage.sql(…, args=…)" in extended.call(asking.parameters, tpch)


def test_ids_and_values(extended: ExtendedSpark, tpch: Path) -> None:
    assert extended.call(asking.to_be_read, tpch) == [[1, 2, 3, 17, 24], [1]]


def test_what_is_registered_meanwhile_counts(extended: ExtendedSpark, tmp_path: Path) -> None:
    unknown, three, changed, five = extended.call(asking.registered_meanwhile, tmp_path)
    assert unknown.startswith("numbers") or "numbers" in unknown
    assert three == "3"
    assert "refresh" in changed
    assert five == "5"


def test_a_client_cannot_say_which_interpreter(extended: ExtendedSpark, tpch: Path, tmp_path: Path) -> None:
    assert extended.call(asking.told_which_interpreter, tpch, tmp_path) == ("AMERICA", False, False)


def test_another_process_is_started_for_one_that_died(extended: ExtendedSpark, tpch: Path) -> None:
    assert extended.call(asking.killed, tpch) == (1, 1, True)


def test_it_leaves_nobody_behind(extended: ExtendedSpark) -> None:
    """The last test: Spark is killed."""
    java, door = extended.call(asking.asked_and_left)
    os.kill(java, signal.SIGKILL)
    wait_for("its end", lambda: door not in all_doors(), 30)
