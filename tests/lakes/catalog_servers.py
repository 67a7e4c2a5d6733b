"""Catalogs that are servers, on the loopback interface alone: Iceberg's own REST catalog, and Hive's metastore.

Iceberg's project publishes the first for tests. The second is in Spark's own jars.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from forward_lineage.spark.java import find_java
from tests.lakes.engines import fetched

SERVER = "org.apache.iceberg:iceberg-open-api:1.10.0"
_STARTS_WITHIN = 120  # seconds


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Give the address of a server of its own, as long as the block runs.

    Args:
        folder: of its tables, its database and what it says.

    Raises:
        NoEngineError: the server cannot be fetched.
        RuntimeError: it does not start; the message has what it says.

    """
    settings = f"jdbc:sqlite:{folder / 'catalog.db'}", str(folder / "warehouse")
    with _served("RestCatalog", str(fetched(SERVER)), folder, settings) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def hive_metastore(folder: Path) -> Iterator[str]:
    """Give the address of a metastore of its own, as long as the block runs; see `rest_catalog`."""
    jars = Path(pyspark.__file__).with_name("jars")
    with _served("HiveMetastore", f"{jars}/*", folder, (str(folder / "db"), str(folder / "warehouse"))) as port:
        yield f"thrift://127.0.0.1:{port}"


@contextmanager
def _served(program: str, jars: str, folder: Path, settings: Sequence[str]) -> Iterator[int]:
    """Run a program of this folder, which is told its port and some settings; give the port."""
    folder.mkdir(parents=True, exist_ok=True)
    port, source = _free_port(), Path(__file__).with_name(f"{program}.java")
    command = [str(find_java()), "-Xmx256m", "-cp", jars, str(source), str(port), *settings]
    said = folder / "server.log"
    with said.open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            if not _answers(server, port):
                raise RuntimeError(f"{program} does not start: {said.read_text()[-2000:]}")
            yield port
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _answers(server: subprocess.Popen[bytes], port: int) -> bool:
    end = time.monotonic() + _STARTS_WITHIN
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.2)
    return False
