"""A home in an object store, which executors on other hosts write: what is saved and asked is what one process says."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from forward_lineage.storage.object_store import ObjectStore
from tests.cluster import asking
from tests.cluster.driver import Driver
from tests.cluster.standalone import Cluster
from tests.cluster.trouble import Told
from tests.object_server import BUCKET, ObjectServer

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]


def rows_in(home: str, query: str) -> list[str]:
    """The rows of a result, read from the store; in an order of their own, as `asking.saved` has them."""
    store = ObjectStore(home)
    files = [each.key for each in store.tree(f"results/{query}") if "/rows/" in each.key]
    found = [row for key in files for row in pq.read_table(BytesIO(store.get(key))).to_pylist()]
    return sorted(repr(tuple(row.values())) for row in found)


def test_saved_by_executors_and_asked_by_another_driver(
    cluster: Cluster, data: Path, told: Told, wanted: Any, store_server: ObjectServer, tmp_path: Path
) -> None:
    told.do()
    home = f"s3://{BUCKET}/home"
    credentials = {f"spark.executorEnv.{name}": value for name, value in store_server.environment.items()}
    with Driver(cluster, tmp_path / "first.log", credentials) as driver:
        for query in asking.QUERIES:
            found = driver.call(asking.saved_far, data, home, told.folder, query)
            assert found == wanted(asking.saved_far, query) != {}
            assert rows_in(home, query) == wanted(asking.saved, query)["rows"] != []
    with Driver(cluster, tmp_path / "second.log", credentials) as driver:
        for query in asking.QUERIES:
            assert driver.call(asking.ids_of_rows, data, home, told.folder, query) == wanted(asking.saved_far, query)
