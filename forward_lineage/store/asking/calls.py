"""`BACKWARD(…)` and `FORWARD(…)` in a statement, answered from saved results.   [Smoke §2.1, L_b(O', R), L_f(R', O)]

The result of a function is a set of ids in one table, and each step of a nested one starts from the set of the step
within: nothing is read in between but where there is a condition. The meaning of ids goes with them, as the steps over
which they came. Where rows are read in the end, or another result is entered, it must still be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from forward_lineage.frontend.consuming import BACKWARD, LineageCall
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import joined
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.asking.ancestors import Edge, all_rows, mean_the_same
from forward_lineage.store.asking.base_rows import may_differ, rows_read
from forward_lineage.store.asking.pipeline import Seeds, ends_in_values
from forward_lineage.store.asking.questions import Questions
from forward_lineage.store.asking.rows import Asked, IdentifiedRows
from forward_lineage.store.asking.suspected_ids import Suspects
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import place_as_read
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.tracing.chosen_rows import Chosen
from udafs.errors import BadArgumentError, ChangedError, LineageError, Position
from udafs.lineage_set import LineageSet
from udafs.user_warnings import warn_user

Around = Callable[[], frozenset[str]]
"""Gives the conditions that a statement demands of the rows that a function gives."""


@dataclass(frozen=True)
class _Found:
    """Rows of a table.

    Attributes:
        ids: which.
        edges: the steps over which the ids came, at least one; each leads to the table.
        on_trust: tables on the way that are taken on trust.

    """

    ids: LineageSet
    edges: tuple[Edge, ...]
    on_trust: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The table's."""
        return self.edges[0][1].name

    @property
    def is_result(self) -> bool:
        """Whether the table is a saved result."""
        return self.edges[0][1].is_result

    @property
    def oldest(self) -> Edge:
        """The step that read the oldest version of the table."""
        return min(self.edges, key=lambda edge: edge[1].version)

    @property
    def newest(self) -> int:
        """The newest version that a step read: of a result, one that has the rows of the others."""
        return max(edge.version for _, edge in self.edges)


class LineageCalls:
    """Answers the functions; see `tracing.chosen_rows.Chooser`.

    Args:
        tables: the session's registered tables.
        library: the saved results.
        questions: what may be asked of them.
        bring_up_to_date: lets the tables know what other sessions saved meanwhile.

    """

    def __init__(
        self, tables: RegisteredTables, library: Library, questions: Questions, bring_up_to_date: Callable[[], None]
    ) -> None:
        self._tables, self._library, self._questions = tables, library, questions
        self._bring_up_to_date = bring_up_to_date

    def __call__(self, call: LineageCall, args: Arguments, around: Around = frozenset) -> Chosen:
        """Return the rows that a function gives, of a table that queries of this session can read."""
        self._bring_up_to_date()
        found = self._found(call, args, around)
        with _placed(call.at):
            manifest = self._present(found)
            by_value = manifest.provider is Provider.KEY
            return Chosen(
                self._tables.base_table(manifest), manifest.version, found.ids, by_value, on_trust=found.on_trust
            )

    def _found(self, call: LineageCall, args: Arguments, around: Around = frozenset) -> _Found:
        within = self._found(call.source, args) if isinstance(call.source, LineageCall) else None
        with _placed(call.at):
            if call.function == BACKWARD:
                return self._backward(call, within, args, around)
            return self._forward(call, within, args)

    # ------------------------------------------------------------ the two functions

    def _backward(self, call: LineageCall, within: _Found | None, args: Arguments, around: Around) -> _Found:
        if within is None:
            saved = self._library.get(".".join(call.name))
            asked = _asked(call, saved.name, args)
            rows = all_rows(saved) if asked is None else self._questions.result_rows.of(saved).where(asked)
        else:
            saved = self._result_within(within)
            rows = self._restricted(call, within, args)
        reached = self._questions.traced_back(saved, rows, joined(call.target), around)
        owner, edge, _ = reached.edges[0]
        if edge.granules:
            raise ends_in_values(owner, edge, edge.name)
        steps = tuple((owner, edge) for owner, edge, _ in reached.edges)
        return _Found(reached.ids, steps, self._on_trust(within, steps))

    def _on_trust(self, within: _Found | None, steps: Iterable[Edge]) -> frozenset[str]:
        before = within.on_trust if within is not None else frozenset()
        return before | self._questions.taken_on_trust(steps)

    def _result_within(self, within: _Found) -> SavedResult:
        if not within.is_result:
            raise BadArgumentError(
                f"{within.name} is a table, whose rows were made of nothing",
                instead="BACKWARD(…) begins with rows of a saved result; FORWARD(…) with those of a table.",
            )
        return self._library.get(within.name, within.newest)

    def _forward(self, call: LineageCall, within: _Found | None, args: Arguments) -> _Found:
        saved = self._library.get(".".join(call.target))
        if within is None:
            name, asked = joined(call.name), _asked(call, call.name[-1], args)
            seeds: Seeds = Suspects(self._tables.spark, self._library, self._questions.tables_now, asked, None)
        else:
            given = _Found(self._restricted(call, within, args), within.edges)
            name, seeds = within.name, partial(self._seeds, given)
        rows = self._questions.traced_forward(name, seeds, saved)
        on_trust = self._on_trust(within, self._questions.steps_to(saved, name))
        return _Found(rows, ((saved, TracedTable(saved.name, saved.version, Provider.RESULT)),), on_trust)

    def _restricted(self, call: LineageCall, within: _Found, args: Arguments) -> LineageSet:
        """Those of the rows of a nested function for which a condition behind it holds."""
        asked = _asked(call, within.name, args)
        if asked is None:
            return within.ids
        return self._rows(within).among(within.ids).where(asked)

    # ------------------------------------------------------------ rows, as they are now

    def _rows(self, found: _Found) -> IdentifiedRows:
        if found.is_result:
            return self._questions.result_rows.of(self._library.get(found.name, found.newest))
        owner, edge = found.oldest
        return rows_read(self._questions.tables_now, owner.name, edge, found.ids).rows

    def _present(self, found: _Found) -> Manifest:
        """The registration of a table that has these rows, under these ids, now.

        Raises:
            ChangedError: it does not.

        """
        if not found.is_result:
            owner, edge = found.oldest
            table = self._questions.tables_now.registration(owner.name, edge, found.ids)
            if note := may_differ(owner.name, edge, table):
                warn_user(note)
            return table
        then, now = self._library.get(found.name, found.newest), self._library.get(found.name)
        manifest = self._tables.registered(found.name)
        if then.keeps_numbers_of != now.keeps_numbers_of:
            owner = found.edges[0][0]
            raise ChangedError(
                f"{owner.name} was made of version {then.version} of {found.name}, whose rows queries read no more: "
                f"now it is version {now.version}",
                instead=f"Save {owner.name} again.",
            )
        if manifest.source.get("path") != place_as_read(self._tables.spark, now):
            raise ChangedError(f"{found.name} was saved again at the same time", instead="Ask again.")
        return manifest

    def _seeds(self, found: _Found, saved: SavedResult, edge: TracedTable) -> LineageSet:
        """The ids that stand for rows in the lineage of a result: see `store.asking.pipeline.Seeds`.

        Raises:
            ChangedError: they mean other rows there.

        """
        tables_now = self._questions.tables_now
        for owner, mine in found.edges:
            if not mean_the_same((owner, mine), (saved, _of_rows(edge)), self._library, tables_now):
                raise ChangedError(
                    f"ids in {found.name} are those of version {mine.version} in {owner.name}, and mean other rows in "
                    f"{saved.name}, which was made of version {edge.version}",
                    instead=f"Save {(owner if mine.version < edge.version else saved).name} again.",
                )
        if not edge.granules:
            return found.ids
        self._present(found)  # their values are looked up
        return Suspects(self._tables.spark, self._library, tables_now, None, found.ids)(saved, edge)


def _of_rows(edge: TracedTable) -> TracedTable:
    return TracedTable(edge.name, edge.version, edge.provider, manifest=edge.manifest)


def _asked(call: LineageCall, table: str, args: Arguments) -> Asked | None:
    condition = call.condition
    if condition is None:
        return None
    if isinstance(args, list):
        args = [args[mark] for mark in condition.marks if mark < len(args)]
    return Asked(condition.text, condition.at, table, args)


@contextmanager
def _placed(at: Position) -> Iterator[None]:
    """Say where the function stands in what is refused."""
    try:
        yield
    except LineageError as error:
        if error.at is not None:
            raise
        raise error.said_at(at) from None
