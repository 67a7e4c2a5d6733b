"""Tables by name: of Iceberg's Hadoop, Hive, JDBC and REST catalogs, and of Delta over Hive's metastore."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.catalog_servers import hive_metastore, rest_catalog
from tests.lakes.engines import NoEngineError, jars
from tests.lakes.named_tables import Catalog, check_merge, check_table_that_others_change
from tests.shared_state import drop_views
from tests.structure import REPOSITORY


@pytest.fixture(params=["hadoop", "hive", "jdbc", "rest"])
def catalog(request: pytest.FixtureRequest, lakes: SparkSession, tmp_path: Path) -> Iterator[Catalog]:
    try:
        jars("iceberg")
        with _settings(request.param, tmp_path / request.param) as settings:
            yield _catalog(lakes, request.param, settings)
    except NoEngineError as error:
        pytest.skip(str(error))


@contextmanager
def _settings(kind: str, folder: Path) -> Iterator[Mapping[str, str]]:
    folder.mkdir()
    warehouse = {"type": kind, "warehouse": str(folder / "warehouse")}
    match kind:
        case "hadoop":
            yield warehouse
        case "jdbc":
            yield {**warehouse, "uri": f"jdbc:sqlite:{folder / 'catalog.db'}"}
        case "hive":
            with hive_metastore(folder) as address:
                yield {**warehouse, "uri": address}
        case "rest":
            with rest_catalog(folder) as address:
                yield {"type": kind, "uri": address}


def _catalog(lakes: SparkSession, kind: str, settings: Mapping[str, str]) -> Catalog:
    name, sessions = f"of_{kind}", (lakes.newSession(), lakes.newSession())
    for spark in sessions:
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    sessions[0].sql(f"CREATE NAMESPACE {name}.db")
    return Catalog(name, "iceberg", *sessions)


@pytest.fixture
def lineage(catalog: Catalog, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(catalog.spark, home=tmp_path / "home")
    drop_views(catalog.spark)


def test_a_table_that_others_change(catalog: Catalog, lineage: ForwardLineage) -> None:
    check_table_that_others_change(catalog, lineage)


def test_merge_into_a_table_with_lineage(catalog: Catalog, lineage: ForwardLineage) -> None:
    check_merge(catalog, lineage)


@pytest.mark.usefixtures("lakes")
@pytest.mark.parametrize("kind", ["delta"])
def test_a_metastore_of_hive(kind: str, tmp_path: Path) -> None:
    """Which catalog Spark has of its own, a process says once: this has one of its own."""
    with hive_metastore(tmp_path / "hive") as address:
        command = [sys.executable, "-m", f"tests.lakes.{kind}_over_hive", address, str(tmp_path / "tables")]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
