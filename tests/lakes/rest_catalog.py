"""Iceberg's own REST catalog, as its project publishes it for tests, on the loopback interface alone."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forward_lineage.spark.java import find_java
from tests.lakes.engines import NoEngineError, fetched

SERVER = "org.apache.iceberg:iceberg-open-api:1.10.0"
_PROGRAM = Path(__file__).with_name("RestCatalog.java")
_STARTS_WITHIN = 120  # seconds


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Give the address of a server of its own, as long as the block runs.

    Args:
        folder: of its tables, its database and what it says.

    Raises:
        NoEngineError: the server cannot be fetched, or does not start.

    """
    jar, port = fetched(SERVER), _free_port()
    folder.mkdir(parents=True, exist_ok=True)
    program = [str(find_java()), "-Xmx256m", "-cp", str(jar), str(_PROGRAM)]
    settings = [str(port), f"jdbc:sqlite:{folder / 'catalog.db'}", str(folder / "warehouse")]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen([*program, *settings], cwd=folder, stdout=log, stderr=log)
        try:
            _wait_for(server, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + _STARTS_WITHIN
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise NoEngineError("the REST catalog does not start")
