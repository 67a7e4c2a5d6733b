"""A page that is served: in a thread of its own, until it is stopped."""

from __future__ import annotations

import asyncio
import html
import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import BaseServer
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.web import StaticFileHandler

from forward_lineage.pages.captions import Words
from forward_lineage.pages.charts import Chart
from forward_lineage.pages.choices import has_range
from forward_lineage.pages.guard import Guarded
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.page_model import TABLE_ROWS, Shown
from forward_lineage.pages.spans import BARS_SEEN
from forward_lineage.pages.visitor import Person, Pools
from udafs.errors import BadArgumentError, SetupError

LOOPBACK = "127.0.0.1"
_STATIC = Path(__file__).with_name("static")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
_FRAME = 900  # pixels
_STEP = 0.5  # seconds
_FEW = 8  # bars, among which nobody has to search


class Page:
    """A page of linked views that browsers can open.

    Several people may look at it at once; each has brushes of their own. As the last value of a notebook's cell it is
    shown as a frame with the page in it.

    Args:
        shown: its content.
        host: the address to listen at; one that is not of the loopback interface lets other machines in.
        port: the port; 0: any that is free.
        token: what the address must have in it; None: a random one.
        names: further names by which browsers reach this machine.

    Raises:
        LineageError: one of these cannot be, or the port is taken.

    """

    def __init__(
        self, shown: Shown, host: str = LOOPBACK, port: int = 0, token: str | None = None, names: Iterable[str] = ()
    ) -> None:
        self._shown = shown
        self._token = _checked_token(token)
        names = [_checked_name(name) for name in names]
        self._socket = _listening(host, port)
        self._host, self._port = host, int(self._socket.getsockname()[1])
        self._names = [host, "localhost", socket.gethostname(), *names]
        self._pools = Pools(ThreadPoolExecutor(2, "brushes"), ThreadPoolExecutor(2, "base rows"))
        self._stopped, ready = Event(), Event()
        self._thread = Thread(target=self._serve, args=(ready,), name="page", daemon=True)
        self._thread.start()
        ready.wait()

    @property
    def url(self) -> str:
        """The page's address, token included."""
        host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname(), "": socket.gethostname()}.get(
            self._host, self._host
        )
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}/{self._token}/"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """How its views are drawn."""
        return self._shown.charts

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self._host)

    def wait(self) -> None:
        """Wait until somebody stops it, or presses Ctrl-C.

        In steps: Python only notes a signal. One that comes between its look at the notes and the wait for a lock would
        be seen when the lock is free, which is never.
        """
        while not self._stopped.wait(_STEP):
            pass

    def stop(self) -> None:
        """End it; open browsers say that they have lost it."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._loop.add_callback(self._loop.stop)
            self._thread.join()
            for pool in (self._pools.brushes, self._pools.rows):
                pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<page of {', '.join(self._shown.linked.names)} at {self.url}>"

    def _repr_html_(self) -> str:
        """The look of a page in a notebook."""
        url, title = html.escape(self.url), html.escape(self._shown.title)
        return (
            f'<iframe src="{url}" title="{title}" width="100%" height="{_FRAME}" style="border: 0"></iframe>'
            f'<p><a href="{url}" target="_blank">Open the page in a window of its own</a></p>'
        )

    # ------------------------------------------------------------ the thread

    def _serve(self, ready: Event) -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        self._loop = IOLoop.current()
        application = Application(FunctionHandler(partial(_open, self._shown, self._token, self._pools)))
        files = [("/page/(.*)", StaticFileHandler, {"path": str(_STATIC)})]
        tornado = Guarded({"/": application}, self._token, self._names, files)
        http = HTTPServer(tornado, max_header_size=1 << 16)
        http.add_socket(self._socket)
        server = BaseServer(self._loop, tornado, http)
        server.start()
        self._loop.add_callback(ready.set)
        try:
            self._loop.start()
        finally:
            server.stop()
            self._loop.run_sync(http.close_all_connections)
            self._loop.close(all_fds=True)


def _open(shown: Shown, token: str, pools: Pools, document: Document) -> None:
    """Make the document of somebody who opens the page."""
    person = Person(shown, document, pools)
    document.title = shown.title
    document.config.reconnect_session = False  # the page says what to do; its address keeps what was chosen
    document.config.notify_connection_status = False
    document.template = _template()
    document.template_variables["page"] = _page(shown, token, person)


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(_STATIC))
    return environment.get_template("page.html")


def _page(shown: Shown, token: str, person: Person) -> dict[str, Any]:
    """The values of the template."""
    linked, words = shown.linked, Words(shown, shown.whole)
    views = []
    roots = 0
    for number, (chart, drawing) in enumerate(zip(shown.charts, person.drawings, strict=True)):
        view: dict[str, Any] = {
            "name": chart.name,
            "kind": chart.kind.value,
            "drawn": "" if chart.kind is Kind.TABLE else chart.drawn,
            "bars": f"{chart.bars:,}",
            "count": chart.bars,
            "root": None,
            "counted": chart.counted,
            "adds_up": chart.adds_up,
            "search": chart.bars > _FEW and not has_range(chart),
            "range": ("date" if chart.axes[0].time else "text") if has_range(chart) else "",
            "hidden": max(0, chart.bars - BARS_SEEN) if chart.kind is Kind.BARS else 0,
        }
        if drawing is not None:
            view["root"] = roots
            roots += 1
        else:
            view["key_names"] = [chart.columns[key] for key in chart.keys]
            view["columns"] = [name for place, name in enumerate(chart.columns) if place not in chart.keys]
            bars = [int(bar) for bar in chart.order[:TABLE_ROWS]]
            view["body"] = [
                {"bar": bar, "key_texts": chart.texts[bar], "cells": words.cells(number, bar)} for bar in bars
            ]
            view["more"] = chart.bars > TABLE_ROWS
        views.append(view)
    return {
        "title": shown.title,
        "rows": f"{linked.rows:,}",
        "table": linked.table_name,
        "version": linked.version,
        "trusted": linked.trusted,
        "files": f"/{token}/page",
        "views": views,
        "talk": roots,
    }


def is_loopback(host: str) -> bool:
    """Whether an address is one that only this machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    """Open a port.

    Raises:
        SetupError: the host is not one of this machine, or the port is taken.

    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        found = socket.create_server(address[:2], family=family)
    except (OSError, OverflowError) as error:
        raise SetupError(f"nothing can listen at {host}, port {port}: {error}", instead="Try another.") from None
    found.setblocking(False)
    return found


def _checked_token(token: str | None) -> str:
    if token is None:
        return secrets.token_urlsafe(32)
    if not _TOKEN.fullmatch(token):
        raise BadArgumentError(
            "a token has 16 to 200 letters, digits, - and _", instead="Leave it out: a random one is made."
        )
    return token


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadArgumentError(
            f"{name!r} is no name of a machine", instead="Give it without port, e.g. data.example.org."
        )
    return name
