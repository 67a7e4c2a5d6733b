"""`forward-lineage check` over the golden fixtures: every law holds, and nothing is refused that they do not expect."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage.checking.child import Settings
from forward_lineage.checking.corpus import Run
from forward_lineage.checking.outcomes import Outcome
from forward_lineage.checking.scoreboard import Scoreboard
from forward_lineage.checking.statements import read_files
from tests.golden import corpus

_FINE = (Outcome.REWRITTEN, Outcome.NOT_DETERMINISTIC, Outcome.SET_UP)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_law_holds_on_the_fixtures(tmp_path: Path) -> None:
    cases, board = corpus.write(tmp_path), Scoreboard()
    refused: set[tuple[str, str]] = set()
    for entry in Run(read_files(tmp_path), Settings("local[2]", "2g")).entries():
        board.add(entry)
        for semantics, verdict in entry.verdicts.items():
            if verdict.outcome not in _FINE:
                refused.add((entry.place, semantics))
    expected = {(place, each) for place, case in cases.items() for each in case.refused}
    assert board.bad == []
    assert refused <= expected
