"""UPDATE, DELETE and MERGE … WITH LINEAGE, in a session that knows nothing of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lakes.engines import FORMATS
from tests.lakes.other_engine import run_program


@pytest.mark.usefixtures("engines_asked")
@pytest.mark.parametrize("kind", FORMATS)
def test_tables_with_lineage_are_changed(kind: str, tmp_path: Path) -> None:
    said = run_program("tests.lakes.sql_client", kind, str(tmp_path))
    expected = [(1, 11, [0]), (2, 40, [1]), (11, 10, [0]), (13, 30, [2])]
    assert said.splitlines()[-1] == str(expected)
