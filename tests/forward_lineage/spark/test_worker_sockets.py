"""What is asked of the socket between Spark and a Python worker, in a real worker."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from forward_lineage.spark.python_workers import interpreter_of
from forward_lineage.spark.versions import map_in_arrow
from forward_lineage.spark.worker_sockets import acknowledge_at_once, tcp_sockets

pytestmark = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="only Linux can be asked for it")


def _sends_at_once(each: socket.socket) -> bool:
    return each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def _in_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    acknowledge_at_once()
    acknowledge_at_once()  # and once more is no other than once
    after = [_sends_at_once(each) for each in tcp_sockets()]
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_pydict({"open": [len(after)], "after": [sum(after)], "rows": [rows]})


def test_the_workers_socket_waits_for_nothing_and_stays_open(spark: SparkSession) -> None:
    if spark.conf.get("spark.python.unix.domain.socket.enabled", "false") == "true":
        pytest.skip("this session's workers have no TCP socket")
    with interpreter_of(spark.sparkContext):
        frame = spark.range(10_000, numPartitions=1)
        row = map_in_arrow(frame, _in_worker, "open long, after long, rows long").collect()[0]
    assert row.open >= 1
    assert (row.after, row.rows) == (row.open, 10_000)


def test_other_descriptors_are_left_alone(tmp_path: Path) -> None:
    left, right = socket.socketpair()
    with (tmp_path / "f").open("wb") as file, left, right:
        others = {os.fstat(each.fileno()).st_ino for each in (left, right, file)}
        assert not {os.fstat(each.fileno()).st_ino for each in tcp_sockets()} & others
        acknowledge_at_once()
        left.sendall(b"x")
        assert right.recv(1) == b"x"


def test_nothing_is_left_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        first = [each.getsockname() for each in tcp_sockets()]
        assert client.getsockname() in first
        assert [each.getsockname() for each in tcp_sockets()] == first
