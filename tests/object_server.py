"""A server that speaks S3, on this machine: moto, in a process of its own, and what it was asked.

Of a conditional write S3 promises that condition and write are one. moto looks first and writes then, in a thread for
each request, and two writers may both have looked: seen in one of 200 races of eight. So here it answers one request at
a time, which makes it keep the promise; that S3 does is S3's to say.
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cluster.processes import die_with_parent
from udafs.build import cache_folder

BUCKET = "lineage-tests"
#: Answers other than 200 and 304 are written in colours.
_ASKED = re.compile(r'"(?:\x1b\[\d+m)*([A-Z]+) (\S+) HTTP/1\.1(?:\x1b\[\d+m)*" (\d+)')
_SERVER = """
import logging, sys, threading
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.INFO)
logging.basicConfig(stream=sys.stderr, level=logging.INFO)
app, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

def one_at_a_time(environ, start_response):
    with lock:
        return list(app(environ, start_response))

server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass
class Request:
    """What the server was asked: the method, the path with what follows `?`, and the status it answered."""

    method: str
    path: str
    status: int


class ObjectServer:
    """A server, from when this is made until it is closed.

    Args:
        log: a new file for what it was asked.
        bucket: what it has, empty.

    """

    def __init__(self, log: Path, bucket: str = BUCKET) -> None:
        self._log, self._read = log, 0
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _SERVER],
                stdout=subprocess.PIPE,
                stderr=file,
                stdin=subprocess.DEVNULL,
                text=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it does one call of the C library
            )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.environment = {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "of this machine",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_METADATA_ENDPOINT": "http://127.0.0.1:9",  # nobody asks the machine that runs the tests who it is
        }
        self._make_bucket(bucket)

    def requests(self) -> list[Request]:
        """Return what was asked since the last time, in the order of the answers."""
        time.sleep(0.05)  # an answer is written down after it was given
        with self._log.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return [Request(m[1], m[2], int(m[3])) for m in _ASKED.finditer(whole.decode())]

    def close(self) -> None:
        """Stop it; all that it had is gone."""
        self.process.kill()
        self.process.communicate()

    def _make_bucket(self, bucket: str) -> None:
        url = f"{self.environment['AWS_ENDPOINT']}/{bucket}"
        with urllib.request.urlopen(urllib.request.Request(url, method="PUT")) as answer:
            assert answer.status == 200


def new_cache(folder: Path) -> Path:
    """Make a cache in which nothing is but the kernel, if it was compiled."""
    folder.mkdir()
    for jar in cache_folder().glob("kernel-*.jar"):
        (folder / jar.name).symlink_to(jar)
    return folder


class LossyProxy:
    """Hands requests on to a server, and loses some answers.

    Args:
        server: the server.
        lost: methods of the next requests whose answers are to be lost, one request for each.

    Attributes:
        lost: those that were.

    """

    def __init__(self, server: ObjectServer, lost: tuple[str, ...]) -> None:
        self._due, self.lost = list(lost), list[str]()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def _hand_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                there = http.client.HTTPConnection("127.0.0.1", server.port)
                there.request(self.command, self.path, body, dict(self.headers))
                answer = there.getresponse()
                data = answer.read()
                there.close()
                if self.command in proxy._due and answer.status < 300:
                    proxy._due.remove(self.command)
                    proxy.lost.append(self.command)
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(data))
                self.send_header("Content-Length", length)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _hand_on  # noqa: N815 - the names that are looked for

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        """Stop it."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@contextmanager
def answers_lost(server: ObjectServer, lost: tuple[str, ...]) -> Iterator[LossyProxy]:
    """Run a `LossyProxy`."""
    proxy = LossyProxy(server, lost)
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def object_server(folder: Path) -> Iterator[ObjectServer]:
    """Run a server, with the environment of this process and its children saying where it is."""
    server = ObjectServer(folder / "requests.log")
    before = {name: os.environ.get(name) for name in server.environment}
    os.environ.update(server.environment)
    try:
        yield server
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        server.close()
