"""What may stand behind ``%lineage``."""

from __future__ import annotations

import pytest

from forward_lineage.notebooks.magic_line import Asked, understood
from udafs.errors import BadArgumentError


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("", Asked("", ())),
        ("  stale ", Asked("stale", ())),
        ("show report", Asked("show", ("report",))),
        ("backward report", Asked("backward", ("report",))),
        ("backward report 3", Asked("backward", ("report",), (3,))),
        ("backward report 3,7 sales", Asked("backward", ("report", "sales"), (3, 7))),
        ("backward report WHERE name = 'PERU'", Asked("backward", ("report",), None, "name = 'PERU'")),
        ("forward sales 3 report", Asked("forward", ("sales", "report"), (3,))),
        ("forward sales report where t_id = 3", Asked("forward", ("sales", "report"), None, "t_id = 3")),
        ("IMPACT sales WHERE x = ' WHERE y'", Asked("impact", ("sales",), None, "x = ' WHERE y'")),
        ("graph", Asked("graph", ())),
        ("graph sales WHERE t_id = 3", Asked("graph", ("sales",), None, "t_id = 3")),
    ],
)
def test_questions(line: str, asked: Asked) -> None:
    assert understood(line) == asked


@pytest.mark.parametrize(
    "line",
    [
        *("backwards report", "backward", "show", "show a b", "forward sales", "impact a b", "graph 3"),
        *("graph WHERE x = 1", "backward report 3 7", "stale now", "show report WHERE x = 1", "impact 3,", "tables"),
    ],
)
def test_what_is_no_question_says_what_is(line: str) -> None:
    with pytest.raises(BadArgumentError, match="%lineage"):
        understood(line)
