"""UPDATE, DELETE and MERGE over both formats beside an interpreter: `python -m tests.lakes --changes` has more."""

from __future__ import annotations

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.changed_tables import run_changes
from tests.lakes.engines import FORMATS


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_rows_and_lineage_are_those_of_the_interpreter(lineage: ForwardLineage, kind: str, seed: int) -> None:
    run_changes(lineage, kind, seed, 10)
