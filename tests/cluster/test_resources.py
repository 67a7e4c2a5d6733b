"""Executors that have little memory, that come and go, or that are sent away: lineage is the same."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import asking
from tests.cluster.driver import PATIENCE, Driver
from tests.cluster.processes import wait_for
from tests.cluster.standalone import Cluster
from tests.cluster.trouble import Told

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

# Each spill takes Spark 2 MB of heap when it is read back, so that hundreds of a task would fill an executor.
SPILLS = {
    "spark.shuffle.spill.numElementsForceSpillThreshold": "500",
    "spark.sql.windowExec.buffer.spill.threshold": "2",
    "spark.sql.windowExec.buffer.in.memory.threshold": "2",
    "spark.sql.sortMergeJoinExec.buffer.spill.threshold": "2",
    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "2",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "2",
    "spark.sql.TungstenAggregate.testFallbackStartsAt": "100, 1000",  # a name of Spark's own tests
}
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
}
DECOMMISSION = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}


@pytest.mark.parametrize("function", [asking.traced, asking.saved], ids=["asked", "saved"])
@pytest.mark.parametrize("query", asking.QUERIES)
def test_everything_spills(
    cluster: Cluster, data: Path, told: Told, wanted: Any, tmp_path: Path, query: str, function: Any
) -> None:
    told.do()
    with Driver(cluster, tmp_path / "spark.log", SPILLS) as driver:
        assert driver.call(function, data, tmp_path / "home", told.folder, query) == wanted(function, query)
        assert driver.call(asking.spilled) > 0


def test_executors_come_and_go(cluster: Cluster, data: Path, told: Told, wanted: Any, tmp_path: Path) -> None:
    """None is there when a query begins, and none is left of the one before it."""
    told.do()
    home = tmp_path / "home"
    with Driver(cluster, tmp_path / "spark.log", DYNAMIC) as driver:
        for query in asking.QUERIES:
            wait_for("executors to be let go", lambda: not cluster.executors())
            assert driver.call(asking.traced, data, home, told.folder, query) == wanted(asking.traced, query)
            wait_for("executors to be let go", lambda: not cluster.executors())
            assert driver.call(asking.saved, data, home, told.folder, query) == wanted(asking.saved, query)


@pytest.mark.parametrize("query", asking.QUERIES)
def test_a_worker_is_decommissioned(data: Path, told: Told, wanted: Any, tmp_path: Path, query: str) -> None:
    """It is told to go in the middle of a stage: it takes no more tasks, and hands its shuffle files on."""
    options = [f"-D{name}={value}" for name, value in DECOMMISSION.items()]
    with (
        Cluster(tmp_path / "cluster", options=options) as cluster,
        Driver(cluster, tmp_path / "spark.log", DECOMMISSION) as driver,
    ):
        places = data, tmp_path / "home", told.folder, query
        told.do(reduce="wait")
        answer = driver.submit(asking.saved, *places)
        wait_for("both executors to be in the middle", lambda: len(told.notes("arrived-*")) >= 2)
        worker = cluster.worker_of(told.notes("arrived-*")[0]["executor"])
        worker.process.send_signal(signal.SIGPWR)
        wait_for("the worker to let go", lambda: "Decommission worker" in worker.said())
        wait_for("its executor to be told", lambda: "Decommission executor" in worker.said_by_executors())
        told.go_on()
        assert answer.result(PATIENCE) == wanted(asking.saved, query)
