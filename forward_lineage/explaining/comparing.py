"""Compares versions of saved results, and finds what their differences come from."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.explaining.attributing import Attribution, Part, exact
from forward_lineage.explaining.comparison import ColumnChange, Comparison, RowChange
from forward_lineage.explaining.comparison_page import ComparisonWalk
from forward_lineage.explaining.joined_rows import JoinedRows, Lineage, Side
from forward_lineage.explaining.past_tables import PastTables
from forward_lineage.explaining.ranking import Explanation, ranked
from forward_lineage.explaining.rerunning import Undone, until_undone
from forward_lineage.explaining.saved_rows import MatchedRow, comparable, key_places, matched_rows
from forward_lineage.explaining.step_rows import StepRows
from forward_lineage.explaining.summed_block import SummedBlock, keys_of, summed_block
from forward_lineage.explaining.undoing import MixedRow, Named, named_of, with_partners
from forward_lineage.relations.relation import united
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.store.asking.questions import Questions
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import BadArgumentError, LineageError, NotSavedError, NotTracedError, WrongSqlError
from udafs.lineage_set import LineageSet

_MOST_FEW = 50  # rows whose lineage alone is read
_MOST_IDS = 200_000
_MOST_CHANGES = 32
_MOST_RUNS, _MOST_RERUN = 20, 10  # runs of a query to find what has to be undone together, and rows that get them


@dataclass(frozen=True)
class _Joined:
    """The joined rows of both versions.

    Attributes:
        block: the query's groups.
        before: of the earlier version.
        after: of the later version.
        attribution: what splits differences.

    """

    block: SummedBlock
    before: Side
    after: Side
    attribution: Attribution


class Comparer:
    """Compares versions. See `ForwardLineage.compare`.

    Args:
        tables: the session's registered tables.
        library: the saved results.
        questions: what may be asked of them.
        past: tables as they were.

    """

    def __init__(self, tables: RegisteredTables, library: Library, questions: Questions, past: PastTables) -> None:
        self.spark: SparkSession = tables.spark
        self._tables, self._library, self._questions, self._past = tables, library, questions, past
        self._changes: OrderedDict[tuple[str, str, str], RowChanges] = OrderedDict()
        self.joined = JoinedRows(tables, past)

    def compare(
        self,
        name: str,
        versions: tuple[int | None, int | None],
        key: Sequence[str] | None,
        by: Sequence[str],
        *,
        where: str | None,
    ) -> Comparison:
        """See `ForwardLineage.compare`."""
        then, now = self._versions(name, *versions)
        places = key_places(now, self._key(now, key))
        asked = None
        if where is not None:
            asked = self._questions.result_rows.of(then).where(where), self._questions.result_rows.of(now).where(where)
        rows = matched_rows(then, now, places, asked)
        return (
            _Comparing(self, then, now, places, tuple(by)).answer(rows) if rows else self._same(then, now, places, by)
        )

    def _same(self, then: SavedResult, now: SavedResult, places: Sequence[int], by: Sequence[str]) -> Comparison:
        names = tuple(now.columns[at][0] for at in places)
        return Comparison(self.spark, now.name, then.version, now.version, names, tuple(by), ())

    def _versions(self, name: str, before: int | None, after: int | None) -> tuple[SavedResult, SavedResult]:
        now = self._library.get(name, after)
        if before is None:
            all_versions = (each for each in self._library.versions(name) if isinstance(each, SavedResult))
            older = [each for each in all_versions if each.version < now.version]
            if not older:
                raise NotSavedError(
                    f"{name} has no version before {now.version}",
                    instead="Earlier ones stay with lineage.save(…, keep_versions=True).",
                )
            return older[-1], now
        then = self._library.get(name, before)
        if then.version > now.version:
            raise BadArgumentError(
                f"version {then.version} of {name} is later than version {now.version}",
                instead="Give before= the earlier version, and after= the later one.",
            )
        return then, now

    def _key(self, now: SavedResult, key: Sequence[str] | None) -> Sequence[str]:
        if key is not None:
            return [key] if isinstance(key, str) else key
        found = keys_of(now.sql, [name for name, _ in now.columns])
        if found is None:
            raise BadArgumentError(
                f"the query of {now.name} does not say which columns tell its rows apart", instead="Give key=[…]."
            )
        return found

    # ------------------------------------------------------------ what both versions were made of

    def changes(self, then: TracedTable, now: TracedTable) -> RowChanges:
        """Return the rows of a base table that differ between the versions that two results read.

        Raises:
            LineageError: that is not known.

        """
        if then.version == now.version:
            return RowChanges(LineageSet(), LineageSet(), LineageSet())
        registrations = self._tables.registrations
        old, new = (registrations.version(each.name, each.version) for each in (then, now))
        self._past.table_then(now)
        key = now.name.lower(), old.digest(), new.digest()
        found = self._changes.pop(key, None)
        self._changes[key] = self._tables.changes(old, new) if found is None else found
        if len(self._changes) > _MOST_CHANGES:
            self._changes.popitem(last=False)
        return self._changes[key]

    def step_rows(
        self, edges: Mapping[str, tuple[TracedTable, TracedTable]], changes: Mapping[str, RowChanges | None]
    ) -> StepRows:
        """Return what tells the rows that rows of two versions were made of."""
        return StepRows(self.spark, self._library, self._past, self.joined.few, edges, changes)

    def base_edges(self, saved: SavedResult) -> dict[str, TracedTable]:
        """See `PastTables`."""
        return self._past.base_edges(saved)


class _Comparing:
    """One comparison.

    Args:
        comparer: asks the store and Spark.
        then: the earlier version.
        now: the later version.
        key: places of the columns by which rows are matched.
        by: what differences are added up by.

    """

    def __init__(
        self, comparer: Comparer, then: SavedResult, now: SavedResult, key: Sequence[int], by: tuple[str, ...]
    ) -> None:
        self._comparer, self._then, self._now, self._key, self._by = comparer, then, now, key, by
        self._names = [name for name, _ in now.columns]
        self._notes: list[str] = []
        self._edges: dict[str, tuple[TracedTable, TracedTable]] = {}
        self._changes: dict[str, RowChanges | None] = {}
        self._mixed: Mapping[Any, Sequence[MixedRow]] = {}
        self._runs = self._rows = 0
        self._steps = comparer.step_rows(self._edges, self._changes)

    def answer(self, rows: Sequence[MatchedRow]) -> Comparison:
        self._find_changes()
        self._rows = len(rows)
        joined = self._joined(rows)
        test: dict[str, dict[tuple[Any, ...], tuple[int, Fraction]]] = defaultdict(dict)
        changes = [self._row(row, joined, test) for row in rows]
        return Comparison(
            self._comparer.spark,
            self._now.name,
            self._then.version,
            self._now.version,
            tuple(self._names[at] for at in self._key),
            self._by,
            tuple(changes),
            self._explanations(rows, joined, test),
            tuple(dict.fromkeys(self._notes)),
            lambda found: ComparisonWalk(self._steps, self._then, self._now).start(found),
        )

    def _find_changes(self) -> None:
        try:
            before, after = (self._comparer.base_edges(each) for each in (self._then, self._now))
        except LineageError as error:
            self._notes.append(f"base rows are not told: {error.what}")
            return
        for name in before.keys() & after.keys():
            then, now = self._edges[name] = before[name], after[name]
            try:
                self._changes[now.name] = self._comparer.changes(then, now)
            except LineageError as error:
                self._changes[now.name] = None
                self._notes.append(f"{now.name}: which rows stayed and have other values is not known: {error.what}")

    # ------------------------------------------------------------ sums

    def _joined(self, rows: Sequence[MatchedRow]) -> _Joined | str:
        """The joined rows of all groups that differ; or why there are none."""
        try:
            blocks = [summed_block(each.sql, self._names) for each in (self._then, self._now)]
            if blocks[0] is None or blocks[1] is None:
                return "a row is made of its own lineage, there are no groups"
            if blocks[0].select.sql() != blocks[1].select.sql():
                return "the two versions are those of different queries"
            block = blocks[1]
            only = [
                tuple(side[1][at] for at in block.keys)
                for row in rows
                for side in (row.before, row.after)
                if side is not None
            ]
            asked = self._comparer.joined.of_versions
            tables, before, after = asked((self._then, self._now), block, self._by, only, self._lineage_of(rows))
        except LineageError as error:
            if isinstance(error, BadArgumentError) or (self._by and isinstance(error, WrongSqlError)):
                raise
            self._notes.append(f"differences are not attributed: {error.what}")
            return error.what
        self._find_mixed(block, only)
        everywhere = (before.all_rows(), after.all_rows())
        attribution = Attribution(block.forms, tables, self._changes, everywhere if block.pads else ((), ()))
        return _Joined(block, before, after, attribution)

    def _find_mixed(self, block: SummedBlock, only: Sequence[Sequence[Any]]) -> None:
        try:
            self._mixed = self._comparer.joined.mixed((self._then, self._now), block, self._changes, only)
        except LineageError as error:
            self._notes.append(f"which base rows have to be undone together is not known: {error.what}")

    def _lineage_of(self, rows: Sequence[MatchedRow]) -> Lineage | None:
        """The ids that some rows were made of, before and after; None: they are many, or not known."""
        if len(rows) > _MOST_FEW or any(not edge.is_whole or edge.granules for edge in self._own_edges()):
            return None
        try:
            found = [self._ids_of(rows, at) for at in (0, 1)]
        except LineageError:
            return None
        total = sum(len(ids) for side in found for ids in side.values())
        return (found[0], found[1]) if total <= _MOST_IDS else None

    def _ids_of(self, rows: Sequence[MatchedRow], at: int) -> dict[str, LineageSet]:
        sides = [row.after if at else row.before for row in rows]
        numbers = [None if side is None else side[0] for side in sides]
        lineage, saved = self._steps.lineage, (self._then, self._now)[at]
        return {
            name: united(lineage(saved, number, edges[at].name) for number in numbers)
            for name, edges in self._edges.items()
        }

    def _own_edges(self) -> Iterator[TracedTable]:
        return chain(self._then.tables, self._now.tables)

    def _row(self, row: MatchedRow, joined: _Joined | str, test: Mapping[str, Any]) -> RowChange:
        old = None if row.before is None else row.before[1]
        new = None if row.after is None else row.after[1]
        parts, reason = self._parts(row, joined)
        columns = []
        for at, name in enumerate(self._names):
            before, after = (None if values is None else values[at] for values in (old, new))
            if at in self._key or (old is not None and new is not None and repr(before) == repr(after)):
                continue
            columns.append(self._column(at, name, before, after, joined, parts, reason))
        for each in columns:
            _collect(test[each.column], each.parts)
        if row.change == "changed" and not isinstance(joined, str):
            columns = _with_silent_parts(columns, parts, joined, _keys_of(row, joined.block)[1])
        key = dict(zip((self._names[at] for at in self._key), row.key, strict=True))
        numbers = row.numbers
        moves = tuple(self._steps.moves(self._then, self._now, numbers))
        return RowChange(key, row.change, tuple(columns), moves, numbers)

    def _parts(self, row: MatchedRow, joined: _Joined | str) -> tuple[Sequence[Part], str]:
        if isinstance(joined, str):
            return [], joined
        first, second = _keys_of(row, joined.block)
        before, after = joined.before, joined.after
        sums = before.sums.get(first, ()), after.sums.get(second, ())
        try:
            parts = joined.attribution.parts(before.rows.get(first, ()), after.rows.get(second, ()), sums)
        except ValueError as error:
            return [], str(error)
        if joined.block.is_plain:
            return with_partners(parts, self._mixed.get(first, ()), joined.attribution.change_of), ""
        return (self._until_undone(parts, joined, first) if first == second else parts), ""

    def _until_undone(self, parts: Sequence[Part], joined: _Joined, key: Any) -> Sequence[Part]:
        """Parts whose base rows can be undone together with nothing else, by running the query."""
        versions = self._then, self._now
        moved = {name.lower(): found for name, found in self._changes.items() if found}
        if not parts or not self._comparer.joined.meet(versions, joined.block, moved):
            return parts
        changed = frozenset(
            (name, int(each))
            for name in joined.attribution.tables
            if (found := self._changes.get(name))
            for each in found.before | found.after
        )

        def rerun(named: Named) -> Undone:
            self._runs += 1
            if self._runs > _MOST_RUNS or self._rows > _MOST_RERUN:
                raise NotTracedError("that takes too many runs of the query", instead="Ask about fewer rows: where=.")
            tables, before, after = self._comparer.joined.undone(versions, joined.block, self._changes, named)
            others = [row for at, rows in after.rows.items() if at != key for row in rows]
            return Undone(
                *(
                    [named_of(row, tables) for row in rows]
                    for rows in (after.rows.get(key, ()), before.rows.get(key, ()), others)
                )
            )

        try:
            return until_undone(parts, rerun, changed, joined.attribution.change_of)
        except LineageError as error:
            self._notes.append(f"which base rows have to be undone together is not known of all rows: {error.what}")
            return parts

    def _column(  # noqa: PLR0917
        self, at: int, name: str, before: Any, after: Any, joined: _Joined | str, parts: Sequence[Part], reason: str
    ) -> ColumnChange:
        try:
            difference = exact(after) - exact(before)
        except ValueError:
            return ColumnChange(name, before, after, None, reason="" if not isinstance(joined, str) else reason)
        if isinstance(joined, str):
            return ColumnChange(name, before, after, difference, (), difference, reason)
        if at in joined.block.reasons or at not in joined.block.forms or reason:
            why = reason or joined.block.reasons.get(at, "it is a key of the group")
            return ColumnChange(name, before, after, difference, (), difference, why)
        amounts = tuple((part, part.amounts[at]) for part in parts if part.amounts.get(at))
        remainder = difference - sum((amount for _, amount in amounts), Fraction(0))
        why = ""
        if remainder and not isinstance(after if after is not None else before, float):
            quotient = joined.block.forms[at].under is not None
            why = "" if quotient else "the query does not give the saved value again"
            why = why or ("there was no value before, or is none now" if before is None or after is None else "")
        return ColumnChange(name, before, after, difference, amounts, remainder, why)

    # ------------------------------------------------------------ explanations

    def _explanations(
        self, rows: Sequence[MatchedRow], joined: _Joined | str, test: Mapping[str, Mapping[tuple[Any, ...], Any]]
    ) -> dict[str, Sequence[Explanation]]:
        if isinstance(joined, str) or not self._by:
            return {}
        control: dict[tuple[Any, ...], int] = defaultdict(int)
        for row in rows:
            for by, times in joined.before.kept(_keys_of(row, joined.block)[0]).items():
                control[by] += times
        found = {column: ranked(self._by, tested, control) for column, tested in test.items() if tested}
        return {column: each for column, each in found.items() if each}


def _with_silent_parts(
    columns: Sequence[ColumnChange], parts: Sequence[Part], joined: _Joined, key: Any
) -> list[ColumnChange]:
    """Name parts that explain nothing of what differs, without which the old row would not be there again.

    Their amounts cancel in a column, as two rows of one count; or HAVING asks for them; or they are all of the group.
    """
    named = {id(part): part for each in columns for part, _ in each.parts}
    silent = [part for part in parts if id(part) not in named]
    counts = joined.after.counts.get(key)
    left = sum(counts.values()) if counts else 0
    left += sum(part.joined[0] - part.joined[1] for part in named.values())
    may_vanish = bool(joined.block.keys) and left <= 0
    if not (may_vanish or joined.block.select.args.get("having")):
        silent = [part for part in silent if any(part.amounts.values())]
    added = tuple((part, Fraction(0)) for part in silent)
    return [replace(each, parts=(*each.parts, *added)) if each.parts else each for each in columns]


def _keys_of(row: MatchedRow, block: SummedBlock) -> tuple[Any, Any]:
    """The keys of a row's group before and after: of one that was added, that group before, and so on."""
    old, new = (None if side is None else _key_of(side[1], block.keys) for side in (row.before, row.after))
    return (new if old is None else old), (old if new is None else new)


def _key_of(values: Sequence[Any], keys: Sequence[int]) -> tuple[Any, ...]:
    return tuple(comparable(values[at]) for at in keys)


def _collect(into: dict[tuple[Any, ...], tuple[int, Fraction]], parts: Sequence[tuple[Part, Fraction]]) -> None:
    for part, amount in parts:
        rows, total = into.get(part.by, (0, Fraction(0)))
        into[part.by] = rows + max(part.joined), total + amount
