"""How two accounts of the same table differ, and which differences are explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.lakes.peers.statements import Told

NO_COLUMN = "count(*) has no column: the agent leaves it out, we list it without input fields"
CONDITION = "the condition of CASE: the agent says that it only decides; we name the field and not how it is used"

EXPLAINED: Mapping[str, str] = {
    "q1: count_order": NO_COLUMN,
    "q4: order_count": NO_COLUMN,
    "q12: high_line_count": CONDITION,
    "q12: low_line_count": CONDITION,
    "q13: custdist": NO_COLUMN,
    "q14: promo_revenue": CONDITION,
    "q21: numwait": NO_COLUMN,
    "q22: numcust": NO_COLUMN,
}
"""Query and column → why the accounts of it differ. Of datasets no difference is explained: there is none."""


def dataset_differences(agents: Told, ours: Told) -> Iterator[str]:
    """Yield which names of the output, of its columns or of the inputs are not the same, a line each."""
    for what in ("name", "table", "columns", "inputs"):
        theirs, mine = getattr(agents, what), getattr(ours, what)
        if theirs != mine:
            yield f"{what}: the agent says {theirs}, we {mine}"


def column_differences(agents: Told, ours: Told) -> Iterator[tuple[str, str]]:
    """Yield each column whose lineage is not the same, and how it differs."""
    for column in ours.columns:
        theirs, mine = agents.fields.get(column), ours.fields.get(column)
        if theirs != mine:
            yield column, f"the agent says {theirs and sorted(theirs)}, we {mine and sorted(mine)}"
        elif theirs and agents.conditions[column] != ours.conditions[column]:
            yield column, f"only in a condition: the agent says {sorted(agents.conditions[column])}"
