"""The process that traces: that it goes with its Spark, and what is said where it does not come."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cluster.processes import wait_for
from tests.forward_lineage.door import asking
from tests.forward_lineage.door.extended import ExtendedSpark
from tests.forward_lineage.door.thrift_server import all_doors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.long  # every day at the end of test_in_pyspark.py
def test_it_goes_with_a_spark_that_is_killed(tmp_path: Path) -> None:
    with ExtendedSpark(tmp_path) as extended:
        java, *doors = extended.call(asking.asked_and_left)
        assert len(doors) == 1
        os.kill(java, signal.SIGKILL)
        wait_for("its end", lambda: doors[0] not in all_doors(), 30)


@pytest.mark.long
def test_it_goes_with_a_spark_that_is_stopped(tmp_path: Path) -> None:
    with ExtendedSpark(tmp_path) as extended:
        doors = extended.call(asking.asked_and_stopped)
        assert len(doors) == 1
        wait_for("its end", lambda: doors[0] not in all_doors(), 30)


@pytest.mark.long
def test_what_takes_too_long_is_given_up(tmp_path: Path, tpch: Path) -> None:
    with ExtendedSpark(tmp_path, spark__forward_lineage__timeout="20s") as extended:
        told, rows = extended.call(asking.stopped_while_it_works, tpch)
    assert told.startswith("tracing this statement took more than 20 s")
    assert "spark.forward_lineage.timeout" in told
    assert rows == 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("interpreter", "says"),
    [
        ("/nowhere/python", "/nowhere/python cannot be started"),
        ("/bin/false", "/bin/false has ended with code 1"),
    ],
)
def test_an_interpreter_that_cannot(tmp_path: Path, interpreter: str, says: str) -> None:
    with ExtendedSpark(tmp_path, spark__forward_lineage__python=interpreter) as extended:
        told = extended.call(asking.refusal)
    assert says in told
    assert "spark.forward_lineage.python" in told
