"""A real Thrift server and a real beeline: each connection is a session, and none needs Python of its own.

In the long tier: every day the server of docs/sql-clients.md is asked by beeline, and `test_in_pyspark.py` asks of the
same extension what is asked here of a server.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cluster.processes import wait_for
from tests.forward_lineage.door.thrift_server import ThriftServer, all_doors, kernel_settings, rows_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tpch: Path) -> Iterator[ThriftServer]:
    folder = tmp_path_factory.mktemp("server")
    catalog = folder / "tables.toml"
    catalog.write_text(
        f'[nation]\npath = "{tpch}/nation.parquet"\n\n[region]\npath = "{tpch}/region.parquet"\nkey = "r_regionkey"\n'
    )
    settings = kernel_settings(folder / "home") | {"spark.forward_lineage.catalog": str(catalog)}
    with ThriftServer(folder, settings) as running:
        yield running


def test_a_pipeline(server: ThriftServer, tpch: Path) -> None:
    """Made, filled, read through, asked backward, all in SQL; compared with the files."""
    assert server.doors() == []
    printed = server.beeline(
        "CREATE TABLE named USING parquet AS "
        "SELECT n_nationkey, r_name FROM nation JOIN region ON n_regionkey = r_regionkey WITH LINEAGE",
        "CREATE TABLE counted USING parquet AS "
        "SELECT r_name, count(*) AS nations FROM named GROUP BY r_name WITH LINEAGE",
        "SELECT r_name, dl_ids(DL.nation), dl_ids(DL.region) FROM counted",
    )
    nations = pq.read_table(tpch / "nation.parquet").to_pylist()
    regions = pq.read_table(tpch / "region.parquet").to_pylist()
    expected = {
        region["r_name"]: (
            [place for place, nation in enumerate(nations) if nation["n_regionkey"] == region["r_regionkey"]],
            [region["r_regionkey"]],
        )
        for region in regions
    }
    found = {row[0]: (_list(row[1]), _list(row[2])) for row in rows_of(printed)}
    assert found == expected
    assert len(server.doors()) == 1


def test_ids_to_be_read(server: ThriftServer) -> None:
    printed = server.beeline(
        "SET spark.forward_lineage.ids = true", "SELECT r_name FROM region WHERE r_regionkey = 3 WITH LINEAGE"
    )
    assert '{"region":[3]}' in printed


def test_an_error_says_what_where_and_what_to_do(server: ThriftServer) -> None:
    done = server.tried("SELECT r_name\nFROM region TABLESAMPLE (10 PERCENT) WITH LINEAGE")
    assert done.returncode != 0
    assert "TABLESAMPLE" in done.stderr
    assert "(line 2, column" in done.stderr
    assert "REPEATABLE" in done.stderr


def test_a_client_cannot_say_which_interpreter(server: ThriftServer, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    os.kill(server.doors()[0], signal.SIGKILL) if server.doors() else None
    wait_for("its end", lambda: server.doors() == [])
    printed = server.beeline(
        f"SET spark.forward_lineage.python = {script}",
        f"SET spark.forward_lineage.home = {tmp_path}/home",
        "SELECT r_name FROM region WHERE r_regionkey = 1 WITH LINEAGE",
    )
    assert "AMERICA" in printed
    assert not mark.exists()
    assert not (tmp_path / "home").exists()


def test_many_sessions_at_once(server: ThriftServer) -> None:
    """Each sees its own views, and one process answers all."""

    def asked(number: int) -> list[int]:
        printed = server.beeline(
            "SELECT 1 WITH LINEAGE",  # from here on the session has the names of the files
            f"CREATE TEMPORARY VIEW mine AS SELECT * FROM nation WHERE n_nationkey = {number}",
            "CREATE TEMPORARY VIEW traced AS SELECT n_name FROM mine WITH LINEAGE",
            "SELECT dl_ids(DL.nation) FROM traced",
        )
        return _list(rows_of(printed)[-1][0])

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(asked, range(3))) == [[0], [1], [2]]
    assert len(server.doors()) == 1


def test_it_leaves_nobody_behind(server: ThriftServer) -> None:
    """The last test: the server is killed."""
    server.beeline("SELECT 1 WITH LINEAGE")
    [door] = server.doors()
    server.kill()
    wait_for("its end", lambda: door not in all_doors(), 30)


def _list(text: str) -> list[int]:
    return [int(each) for each in text.strip("[]").split(",") if each]
