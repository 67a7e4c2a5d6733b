"""What dies on a cluster while a query runs with lineage, or is saved: the lineage is the same, or one error tells."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster import asking
from tests.cluster.driver import PATIENCE, Driver
from tests.cluster.processes import wait_for
from tests.cluster.standalone import Cluster
from tests.cluster.trouble import Told, files_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

PLACES = ("map", "reduce")


@pytest.fixture(autouse=True)
def all_executors(cluster: Cluster) -> Iterator[None]:
    """After a test, wait until those that died have been replaced: the next one counts on two."""
    yield
    cluster.replace_workers()
    wait_for("two executors", lambda: len(cluster.executors()) == 2)


def is_where_it_should_be(driver: Driver, note: dict[str, int], place: str) -> bool:
    """A map task reads files and no shuffle, a reduce task the other way round."""
    found = driver.call(asking.stage, note["stage"])
    return (found["read"] > 0, found["shuffled"] > 0) == ((True, False) if place == "map" else (False, True))


def first_of_both(told: Told) -> dict[str, int]:
    """Wait until both executors are in the middle of a task; what the first of them noted."""
    wait_for("both executors to be in the middle", lambda: len(told.notes("arrived-*")) >= 2)
    return told.notes("arrived-*")[0]


@pytest.mark.parametrize("function", [asking.traced, asking.saved], ids=["asked", "saved"])
@pytest.mark.parametrize("query", asking.QUERIES)
@pytest.mark.parametrize("place", PLACES)
def test_an_executor_dies(
    driver: Driver, places: Any, told: Told, wanted: Any, place: str, query: str, function: Any
) -> None:
    told.do(**{place: "kill"})
    assert driver.call(function, *places, query) == wanted(function, query)
    [fired] = told.notes("fired")
    assert is_where_it_should_be(driver, fired, place)


@pytest.mark.parametrize("query", asking.QUERIES)
@pytest.mark.parametrize("place", PLACES)
def test_a_task_fails_once(driver: Driver, places: Any, told: Told, wanted: Any, place: str, query: str) -> None:
    told.do(**{place: "fail"})
    assert driver.call(asking.saved, *places, query) == wanted(asking.saved, query)
    assert len(told.notes("fired")) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_task_that_always_fails_leaves_what_was_saved_before(
    driver: Driver, places: Any, told: Told, wanted: Any, place: str
) -> None:
    told.do()
    assert driver.call(asking.saved, *places, "grouped") == wanted(asking.saved, "grouped")
    before, answers = files_of(places[1]), driver.call(asking.asked_again, *places, "grouped")
    told.do(**{place: "always"})
    said = driver.call(asking.complaint, *places, "grouped")
    assert said.startswith("FailedQueryError: Spark's Python worker failed: "), said
    assert f"told to fail in {place}" in said
    assert "\n" not in said
    assert files_of(places[1]) == before
    assert driver.call(asking.asked_again, *places, "grouped") == answers


@pytest.mark.parametrize("query", asking.QUERIES)
@pytest.mark.parametrize("place", PLACES)
def test_a_worker_is_lost(
    cluster: Cluster, driver: Driver, places: Any, told: Told, wanted: Any, place: str, query: str
) -> None:
    told.do(**{place: "wait"})
    answer = driver.submit(asking.saved, *places, query)
    note = first_of_both(told)
    cluster.lose(cluster.worker_of(note["executor"]))
    told.go_on()
    assert answer.result(PATIENCE) == wanted(asking.saved, query)
    assert is_where_it_should_be(driver, note, place)


def test_shuffle_files_are_lost(cluster: Cluster, driver: Driver, places: Any, told: Told, wanted: Any) -> None:
    """Two reduce tasks are running; those that come after them miss what the map tasks of one executor wrote."""
    told.do(reduce="wait")
    answer = driver.submit(asking.saved, *places, "grouped")
    scratch = cluster.worker_of(first_of_both(told)["executor"]).scratch
    lost = list(scratch.rglob("shuffle_*.data"))
    assert lost
    for each in lost:
        each.unlink()
    told.go_on()
    assert answer.result(PATIENCE) == wanted(asking.saved, "grouped")


@pytest.mark.parametrize("query", asking.QUERIES)
def test_cached_rows_are_lost(
    cluster: Cluster, driver: Driver, places: Any, told: Told, wanted: Any, query: str
) -> None:
    told.do()
    lost = driver.call(asking.cached, *places, query)
    assert lost == wanted(asking.traced, query)
    victim = cluster.executors()[0]
    os.kill(victim, signal.SIGKILL)
    wait_for("the executor's end", lambda: victim not in cluster.executors())
    assert driver.call(asking.cached, *places, query) == wanted(asking.traced, query)


@pytest.mark.parametrize("place", PLACES)
def test_a_copy_of_a_slow_task(
    cluster: Cluster, driver: Driver, places: Any, told: Told, wanted: Any, place: str
) -> None:
    """Both attempts of a task end at about the same time: one counts, whatever the other has written."""
    told.do(**{place: "copied"})
    assert driver.call(asking.saved, *places, "grouped") == wanted(asking.saved, "grouped")
    assert len(told.notes("copied")) == 1
    assert told.notes("copied")[0]["stage"] == told.notes("arrived")[0]["stage"]
