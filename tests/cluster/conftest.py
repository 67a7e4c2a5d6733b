"""A cluster for the tests of a file, and a driver on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.cluster import asking
from tests.cluster.driver import Driver
from tests.cluster.standalone import Cluster
from tests.cluster.trouble import Told

Asked = Callable[..., Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if sys.platform != "linux":
        pytest.skip("processes are found in /proc and end by prctl, which Linux has")
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def driver(cluster: Cluster) -> Iterator[Driver]:
    speculation = {
        "spark.speculation": "true",  # a copy of a task that takes longer than others
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.minTaskRuntime": "3s",
    }
    with Driver(cluster, cluster.folder / "driver.log", speculation) as running:
        yield running


@pytest.fixture(scope="module")
def data(tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asking.in_many_groups(tpch, tmp_path_factory.mktemp("data") / "tables")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("told") / "here")


@pytest.fixture(scope="module")
def places(data: Path, told: Told, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """What every function of `asking` is told: tables, home, and where faults are told."""
    return data, tmp_path_factory.mktemp("home"), told.folder


@pytest.fixture(scope="module")
def wanted(spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Asked, str], Any]:
    """What one process answers, where nothing dies."""
    home = tmp_path_factory.mktemp("here")
    quiet = Told(home / "quiet").folder
    known: dict[tuple[Asked, str], Any] = {}

    def ask(function: Asked, query: str) -> Any:
        if (function, query) not in known:
            known[function, query] = function(spark, data, home, quiet, query)
        return known[function, query]

    return ask
