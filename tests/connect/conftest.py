"""A server with the kernel and its client, for all tests of the folder; started again when a test has killed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.connect.client import Client
from tests.connect.server import Server


class Running:
    """A server and its client, started when they are asked for, and again when the server is dead."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._stack = ExitStack()
        self._server: Server | None = None
        self._client: Client | None = None

    def server(self) -> Server:
        if self._server is None or self._server.process.poll() is not None:
            self.close()
            self._server = self._stack.enter_context(Server(self._folders.mktemp("server")))
        return self._server

    def client(self) -> Client:
        url = self.server().url()
        if self._client is None:
            self._client = self._stack.enter_context(Client(url))
        return self._client

    def close(self) -> None:
        self._stack.close()
        self._client = None


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(tmp_path_factory)
    yield found
    found.close()


@pytest.fixture
def server(running: Running) -> Server:
    return running.server()


@pytest.fixture
def client(running: Running) -> Client:
    return running.client()
