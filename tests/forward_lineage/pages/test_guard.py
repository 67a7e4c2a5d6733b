"""Who gets at a page: the token, the names it goes by, other pages; and that it is gone when it is stopped."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import os
import re
import socket
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from bokeh.core.types import ID
from bokeh.util.token import generate_jwt_token
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from forward_lineage import LineageError
from forward_lineage.pages.server import Page, is_loopback
from tests.forward_lineage.pages.small import shown_of

TOKEN = "a-token-of-our-own"
SHOWN = shown_of(pa.table({"a": ["x", "y"]}), {"v": ("a",)})


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with Page(SHOWN, token=TOKEN) as page:
        yield page


def asked(page: Page, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port(page), timeout=30)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def port(page: Page) -> int:
    return int(page.url.split(":")[2].split("/")[0])


def upgrade(page: Page, path: str, **headers: str) -> int:
    key = base64.b64encode(os.urandom(16)).decode()
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
    return asked(page, path, **wanted, **headers)[0]


def test_with_the_token(page: Page) -> None:
    status, text, headers = asked(page, f"/{TOKEN}/")
    assert status == 200
    assert "<h1>base</h1>" in text
    assert "http" not in text.replace(page.url, ""), "something comes from elsewhere"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    for path in ("page/page.js", "page/page.css", "static/js/bokeh.min.js"):
        assert asked(page, f"/{TOKEN}/{path}")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/", "/ws", "/wrong/", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/", "//", f"//x/{TOKEN}/", f"/x/../{TOKEN}x/",
     "/page/page.js", "/static/js/bokeh.min.js", "/favicon.ico", f"/?{TOKEN}", "/autoload.js", "/metadata", "/%ff/"],
)  # fmt: skip
def test_without_the_token(page: Page, path: str) -> None:
    status, text, _ = asked(page, path)
    assert status == 403
    assert "token included" in text
    assert TOKEN not in text
    assert upgrade(page, path) == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "localhost.evil", "[x"]
)
def test_under_another_name(page: Page, host: str) -> None:
    """A stranger's name that means this machine all of a sudden (DNS rebinding)."""
    assert asked(page, f"/{TOKEN}/", Host=host)[0] == 403
    assert upgrade(page, f"/{TOKEN}/ws", Host=host) == 403


def test_under_its_own_names(page: Page) -> None:
    for host in ("localhost", "127.0.0.1", "[::1]", socket.gethostname()):
        assert asked(page, f"/{TOKEN}/", Host=f"{host}:{port(page)}")[0] == 200
    with Page(SHOWN, token=TOKEN, names=["data.example.org"]) as other:
        assert asked(other, f"/{TOKEN}/", Host="data.example.org")[0] == 200


def test_from_another_page(page: Page) -> None:
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{port(page) + 1}",
        f"http://localhost:{port(page)}",
    ):
        assert upgrade(page, f"/{TOKEN}/ws", Origin=origin) == 403
        assert asked(page, f"/{TOKEN}/", Origin=origin)[0] == 403


def test_the_socket_wants_a_page_that_was_opened(page: Page) -> None:
    """With the token of the address alone nobody gets at another one's session: Bokeh's own token is signed, too."""

    async def first_message(*protocols: str) -> object:
        address = f"ws://127.0.0.1:{port(page)}/{TOKEN}/ws"
        request = HTTPRequest(address, headers={"Origin": f"http://127.0.0.1:{port(page)}"})
        connection = await websocket_connect(request, subprotocols=list(protocols))
        first = message = await connection.read_message()
        connection.close()
        while message is not None:
            message = await connection.read_message()
        return first

    _, text, _ = asked(page, f"/{TOKEN}/")
    opened = json.loads(re.findall(r"render_items = (\[.*\]);", text)[0])[0]["token"]
    forged = generate_jwt_token(ID("another"), secret_key=b"guessed", signed=True)
    assert asyncio.run(first_message("bokeh", opened)) is not None
    for protocols in (("bokeh",), ("bokeh", "x"), ("bokeh", generate_jwt_token(ID("another"))), ("bokeh", forged)):
        assert asyncio.run(first_message(*protocols)) is None


def test_tokens() -> None:
    with Page(SHOWN) as one, Page(SHOWN) as other:
        tokens = {page.url.split("/")[3] for page in (one, other)}
        assert len(tokens) == 2
        assert all(len(token) >= 43 for token in tokens)
    for wrong in ("", "short", "with/slash-and-more", "with space and more"):
        with pytest.raises(LineageError, match="a token has 16"):
            Page(SHOWN, token=wrong)


def test_refused() -> None:
    with Page(SHOWN) as page:
        with pytest.raises(LineageError, match=f"nothing can listen at 127.0.0.1, port {port(page)}"):
            Page(SHOWN, port=port(page))
        with pytest.raises(LineageError, match="nothing can listen at no-such-host"):
            Page(SHOWN, host="no-such-host.invalid")
        with pytest.raises(LineageError, match="is no name of a machine"):
            Page(SHOWN, names=["a:80"])


def test_stopped() -> None:
    before = set(threading.enumerate())
    page = Page(SHOWN)
    taken = port(page)
    assert asked(page, "/")[0] == 403
    page.stop()
    page.stop()
    page.wait()
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        asked(page, "/")
    Page(SHOWN, port=taken).stop()


def test_loopback() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "", "10.0.0.1", "example.org"))


def test_in_a_notebook(page: Page) -> None:
    assert f'<iframe src="{page.url}"' in page._repr_html_()
    assert page.url in repr(page)
    assert page.local
