"""`forward-lineage explore` in the session of a test: as somebody starts it, opens the page, and presses Ctrl-C."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
import time
from contextlib import suppress

from click.testing import Result
from pyspark.sql import SparkSession

from tests.forward_lineage.cli.in_this_process import invoke

TOKEN = "token-of-the-tests"
PATIENCE = 120.0


def explored(session: SparkSession, *words: object) -> tuple[Result, str]:
    """Run the command; returns how it ended, and what a browser got; nothing if there was no page to be had."""
    port, ended, pages = _free_port(), threading.Event(), [""]

    def look() -> None:
        end = time.monotonic() + PATIENCE
        while not pages[0] and not ended.wait(0.05) and time.monotonic() < end:
            with suppress(OSError):
                pages[0] = _page(port)
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        return invoke(session, "explore", *words, "--port", port, "--token", TOKEN), pages[0]
    finally:
        ended.set()
        watcher.join()


def _page(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", f"/{TOKEN}/")
        answer = connection.getresponse()
        return answer.read().decode() if answer.status == 200 else ""
    finally:
        connection.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
