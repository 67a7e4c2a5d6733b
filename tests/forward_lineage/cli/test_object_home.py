"""Commands with a home in an object store: questions start no Spark there, either, on this machine and on another."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.forward_lineage.cli.in_this_process import good, invoke, without_spark
from tests.object_server import BUCKET, ObjectServer, new_cache
from udafs.build import CACHE_VARIABLE


@pytest.fixture
def home(spark: SparkSession, store_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A home in which two results are saved, one made of the other."""
    for name, value in store_server.environment.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    address = f"s3://{BUCKET}/{uuid.uuid4().hex}"
    pq.write_table(pa.table({"id": range(100), "k": [i % 7 for i in range(100)]}), tmp_path / "sales.parquet")
    session = spark.newSession()
    good(invoke(session, "register", "sales", "--path", tmp_path / "sales.parquet", "--home", address))
    query = "SELECT k, count(*) AS n FROM sales GROUP BY k ORDER BY k"
    good(invoke(session, "save", "-", "counts", "--home", address, stdin=query))
    good(invoke(session, "save", "-", "total", "--home", address, stdin="SELECT sum(n) AS n FROM counts WHERE k > 1"))
    return address


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this machine", "another"])
def test_questions_start_no_spark(home: str, elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if elsewhere:
        monkeypatch.setenv(CACHE_VARIABLE, str(new_cache(tmp_path / "another")))
    at = ("--home", home)
    assert [line.split()[0] for line in good(without_spark("ls", *at)).splitlines()] == ["result", "counts", "total"]
    assert "sales.parquet" in good(without_spark("ls", "--tables", "--json", *at))
    assert "100" in good(without_spark("describe", "sales", *at))
    assert json.loads(good(without_spark("describe", "total", "--json", *at)))["tables"].keys() == {"counts"}
    impact = good(without_spark("impact", "sales", "--where", "id = 5", *at, "--json"))
    assert [json.loads(line) for line in impact.splitlines()] == [
        {"result": "counts", "rows_touched": 1, "rows": 7, "path": "sales → counts"},
        {"result": "total", "rows_touched": 1, "rows": 1, "path": "sales → counts → total"},
    ]
    ids = good(without_spark("backward", "counts", "--where", "k = 6", "--table", "sales", *at, "--json"))
    assert [json.loads(line)["id"] for line in ids.splitlines()] == list(range(6, 100, 7))
    rows = good(without_spark("forward", "sales", "--where", "id = 5", "--result", "counts", *at, "--json"))
    assert json.loads(rows)["k"] == 5
    assert not good(without_spark("stale", *at, "--json"))
    good(without_spark("graph", "-o", tmp_path / "x.html", "--impact", "sales WHERE id = 5", *at))
    assert "counts" in (tmp_path / "x.html").read_text()
