"""Every test that takes a `place` is run for every implementation of `Storage`."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage.storage.interface import Storage
from tests.forward_lineage.storage.places import PLACES


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "object store":
        request.getfixturevalue("store_server")
    return PLACES[request.param](tmp_path)
