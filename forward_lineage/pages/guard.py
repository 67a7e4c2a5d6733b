"""The people who may talk to a page: anybody who has its address, from a page of its own.

The token is the first part of every path: of the page, of the web socket and of scripts. So nothing has to be kept in
the browser, and the page works in a frame of a notebook, too. The `Host` must be a name that the page goes by: else a
stranger's page could let its own name mean this machine, and read ours as its own. `Origin` must be the same.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from bokeh.resources import Resources
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.static_handler import StaticHandler
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform, RequestHandler

from forward_lineage.pages.batched_updates import Together

_REFUSED = (
    "This is not the whole address of the page. Open the one that was printed when it was started, token included."
)
#: Nothing is loaded from elsewhere, and nothing is said to others. Bokeh makes functions from texts of ours.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guarded(BokehTornado):  # type: ignore[misc]
    """Bokeh's server, with a guard before it.

    Args:
        application: what is served, at the address with the token.
        token: the token.
        names: names and addresses, without port, that browsers may know this server by, besides numeric ones.
        patterns: further paths below the token.

    """

    def __init__(self, application: Any, token: str, names: Iterable[str], patterns: list[Any]) -> None:
        self._token, self._names = token.encode(), {name.lower() for name in names}
        super().__init__(
            application,
            prefix=token,
            extra_patterns=patterns,
            extra_websocket_origins=["*"],  # `find_handler` knows better
            use_index=False,
            secret_key=secrets.token_bytes(32),
            sign_sessions=True,
            session_token_expiration=24 * 3600,
            log_function=_log_nothing,
        )
        self.add_transform(_Headers)

    def find_handler(self, request: HTTPServerRequest, **others: Any) -> Any:
        """Hand a request on, or refuse it."""
        why = self._refused(request)
        if why is not None:
            return self.get_handler_delegate(request, _Refusing, {"why": why})
        return super().find_handler(request, **others)

    def new_connection(self, *parts: Any) -> Together:
        """Connect a browser."""
        found = Together(*parts)
        self._clients.add(found)
        return found

    def _refused(self, request: HTTPServerRequest) -> str | None:
        host = request.headers.get("Host", "")
        if not self._is_ours(host):
            return f"This server does not go by the name {host[:80]!r}."
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "This request comes from another page."
        first = request.path.lstrip("/").partition("/")[0]
        return None if hmac.compare_digest(first.encode(), self._token) else _REFUSED

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # a number, which nobody can let mean something else

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        """Return where scripts come from: from here, whatever the environment says."""
        return Resources(mode="server", root_url=f"{self.prefix}/", path_versioner=StaticHandler.append_version)


class _Refusing(RequestHandler):
    def initialize(self, why: str) -> None:
        self._why = why

    def prepare(self) -> None:
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self._why + "\n")


class _Headers(OutputTransform):
    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


def _log_nothing(_: RequestHandler) -> None:
    """Requests are not logged: their paths have the token in them."""
