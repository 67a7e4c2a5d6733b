"""One server with the kernel, and a client of it, for all tests of the folder that do not kill it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connect.client import Client
from tests.connect.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="session")
def client(server: Server) -> Iterator[Client]:
    with Client(server.url()) as running:
        yield running
