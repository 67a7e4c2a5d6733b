"""The estimated cost of making a result again, as a whole or in part: what is read, and what is written of lineage."""

from __future__ import annotations

from dataclasses import dataclass

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import TracedTable
from forward_lineage.store.updating.growing_groups import Growing
from forward_lineage.store.updating.hidden_sums import are_kept
from forward_lineage.store.updating.replacement_rules import Keyed
from forward_lineage.store.updating.replacing import Touched

#: Seconds on one core of a laptop, by `tests.bench.updating_groups`. Only the ratio of two sums of them counts.
STATEMENT, READ_ROW, WRITTEN_PAIR, COPIED_ROW = 0.3, 2e-7, 1e-6, 5e-8
SMALL_SET, OF_LARGE_SET = 100, 0.2
"""Ids up to which each takes as long, and which part of that each further one takes."""
EQUAL = 0.05
"""Seconds that do not count: in part, numbers of rows stay, and less of what is made of them is behind."""


@dataclass(frozen=True)
class Costs:
    """Estimated seconds of the work that is left when it is known what is touched."""

    full: float
    partly: float

    @property
    def is_part_cheaper(self) -> bool:
        """Whether to make a part again."""
        return self.partly < self.full + EQUAL

    def told(self) -> str:
        """Say both."""
        return f"about {self.partly:.2g} s against {self.full:.2g} s for all of it"


def costs_of(touched: Touched, tables: RegisteredTables, library: Library) -> Costs:
    """Estimate both ways."""
    saved = touched.saved
    read = {edge.name.lower(): _rows(edge, tables, library) for edge in saved.inputs}
    writing = WRITTEN_PAIR * (saved.rows + _single(saved.rows, saved.pairs))
    full = STATEMENT + READ_ROW * sum(read.values()) + writing
    # What stays is copied; the rest is written, read and put together.
    partly = COPIED_ROW * (saved.rows + saved.pairs) + 2 * writing * touched.share
    if isinstance(touched.how, Keyed):
        # Two statements: keys, and the rows with these. Both read everything; only these are joined and grouped.
        return Costs(full, partly + 2 * (STATEMENT + READ_ROW * sum(read.values())))
    if isinstance(touched.how, Growing):
        partly += _sums_that_are_asked(touched, sum(read.values()))
    came = {each.edge.name.lower(): len(each.changes.after) for each in touched.others if each.changes}
    for each in touched.places:
        others = sum(read.values()) - read[each.probe.table] + came[each.probe.table]
        partly += STATEMENT + READ_ROW * others
    return Costs(full, partly)


def _single(rows: int, pairs: int) -> float:
    """As how many pairs of small sets the pairs of some rows count: large sets are written as stretches and bits."""
    small = min(pairs, SMALL_SET * rows)
    return small + OF_LARGE_SET * (pairs - small)


def _sums_that_are_asked(touched: Touched, read: float) -> float:
    """Hidden sums of all groups, if they are not kept; and what rows that went had added."""
    assert isinstance(touched.how, Growing), "asked before"
    seconds = STATEMENT + READ_ROW * read if touched.how.hidden and not are_kept(touched.saved) else 0
    return seconds + (STATEMENT if any(each.changes and each.changes.before for each in touched.others) else 0)


def _rows(edge: TracedTable, tables: RegisteredTables, library: Library) -> float:
    if edge.is_result:
        found = library.latest(edge.name)
        return 0 if found is None else found.rows
    known = tables.base_table(tables.registered(edge.name)).statistics
    return 0 if known is None else known.rows
