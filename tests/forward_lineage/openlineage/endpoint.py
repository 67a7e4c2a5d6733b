"""An endpoint of OpenLineage on the loopback interface: a real server, which keeps what it is sent."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint:
    """A context manager; at its end the server is gone.

    Args:
        status: what it answers.
        delay: seconds before it does.

    Attributes:
        events: what it was sent, in order.
        paths: where to.

    """

    def __init__(self, status: int = 201, delay: float = 0.0) -> None:
        self.events: list[dict[str, Any]] = []
        self.paths: list[str] = []
        kept = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(delay)
                kept.events.append(json.loads(body))
                kept.paths.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
