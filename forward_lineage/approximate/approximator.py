"""From a query's text to an approximate answer; the scrambles of a session."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from forward_lineage.approximate.aggregate_query import AggregateQuery, read_query
from forward_lineage.approximate.answer import ApproximateAnswer, blocks_of
from forward_lineage.approximate.asked_values import is_number
from forward_lineage.approximate.bounds.error_budget import shared
from forward_lineage.approximate.estimates import BOUNDERS
from forward_lineage.approximate.group_rows import Feeder, Group, groups_of, index_of
from forward_lineage.approximate.matching.matcher import AskedMatch, matched
from forward_lineage.approximate.matching.matches import Matches
from forward_lineage.approximate.rounds import Ended, Tell, run_rounds, states_of
from forward_lineage.approximate.scramble import Places, Scramble
from forward_lineage.approximate.scramble_reading import ScrambleReader
from forward_lineage.approximate.selection import selection
from forward_lineage.approximate.stopping import Goals, GroupState
from forward_lineage.approximate.with_error import RequestedError, columns_read, frame_of
from forward_lineage.frontend import refuse_other_readings
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.settings import setting_of
from udafs.errors import BadArgumentError, ChangedError, LineageError, NotRegisteredError


@dataclass(frozen=True)
class Asked:
    """How a query is to be answered; for the attributes see `lineage.approximate`."""

    error: float | None
    relative: bool
    rows: int | None
    confidence: float
    bounder: str
    tell: Tell = lambda _: None

    def check(self) -> None:
        """Raise a BadArgumentError if something cannot be."""
        known = ", ".join(BOUNDERS)
        if self.bounder not in BOUNDERS:
            raise BadArgumentError(f"bounder={self.bounder!r} is not known", instead=f"Use one of {known}.")
        if not (is_number(self.confidence) and 0 < self.confidence < 1):
            raise BadArgumentError(
                f"confidence={self.confidence!r}", instead="It is a probability below 1, such as 0.999."
            )
        if self.error is not None and not (is_number(self.error) and self.error > 0 and math.isfinite(self.error)):
            raise BadArgumentError(f"error={self.error!r}", instead="Say 0.05 for 5 %, or None for no limit.")
        if self.rows is not None and (not is_number(self.rows) or self.rows < 1 or self.rows != int(self.rows)):
            raise BadArgumentError(
                f"rows={self.rows!r}", instead="Say how many rows of each group are read, at least 1."
            )


class Approximator:
    """Answers queries from scrambles.

    Args:
        tables: what is registered.
        home: the folder where what can be made again is kept.
        bring_up_to_date: lets names of saved results mean their newest versions, whoever saved these.

    """

    def __init__(self, tables: RegisteredTables, home: Path, bring_up_to_date: Callable[[], None]) -> None:
        self._tables, self._spark, self._bring_up_to_date = tables, tables.spark, bring_up_to_date
        self._reader = ScrambleReader(tables, home)
        self._scrambles: dict[str, Scramble] = {}

    def scramble(self, table: str, columns: Sequence[str], groups: Sequence[str]) -> Scramble:
        """Put columns of a table in random order; it takes the place of an earlier scramble of the table."""
        for given, name in ((columns, "columns"), (groups, "groups")):
            if isinstance(given, str):
                raise BadArgumentError(f"{name} is a text", instead=f'Give a list: {name}=["{given}"].')
        self._bring_up_to_date()
        made = self._reader.scramble(table, columns, groups)
        self._scrambles[made.manifest.name.lower()] = made
        return made

    def answer(self, sql: str, asked: Asked) -> ApproximateAnswer:
        """Answer a query from the scramble of its table."""
        asked.check()
        refuse_other_readings(setting_of(self._spark), sql)
        query = read_query(sql)
        scramble = self._scramble_of(query.table)
        hidden = query.aliases & {name.lower() for name, _ in scramble.manifest.columns}
        if hidden:
            raise BadArgumentError(
                f"{min(hidden)} is an alias and a column of {scramble.manifest.name}",
                instead="Give the alias another name.",
            )
        return answered(query, scramble, asked, partial(self._reason, scramble.manifest))

    def frame(self, request: RequestedError) -> DataFrame:
        """Answer a query WITH ERROR; a scramble of the columns that it reads is made if there is none."""
        asked = Asked(request.error, relative=True, rows=None, confidence=request.confidence, bounder="betting")
        query = read_query(request.sql)
        self._scramble_for(query)
        return frame_of(self._spark, self.answer(request.sql, asked), query)

    def _scramble_for(self, query: AggregateQuery) -> None:
        """Scramble what a query reads, and what is scrambled already, unless that is enough."""
        self._bring_up_to_date()
        manifest = self._tables.registered(quoted_name(query.table))
        columns, groups = columns_read(query), list(query.keys)
        there = self._scrambles.get(manifest.name.lower())
        if there is not None and self._reason(there.manifest) is None:
            if set(columns) <= set(there.columns) and set(groups) <= set(there.groups):
                return
            columns, groups = [*there.columns, *columns], [*there.groups, *groups]
        if not columns and not groups:  # COUNT(*): any column says how many rows there are
            columns = [manifest.columns[0][0]]
        self.scramble(manifest.name, columns, groups)

    def matching(self, table: str, asked: AskedMatch, tell: Tell) -> Matches:
        """Find the candidates whose histograms are closest to a target, from the scramble of their table."""
        asked.check()
        scramble = self._scramble_of(table)
        return matched(scramble, asked, tell, partial(self._reason, scramble.manifest))

    def _scramble_of(self, table: str) -> Scramble:
        self._bring_up_to_date()
        manifest = self._tables.registered(quoted_name(table))
        scramble = self._scrambles.get(manifest.name.lower())
        if scramble is None:
            raise NotRegisteredError(
                f"{manifest.name} has no scramble",
                instead=f'Make one: lineage.scramble("{manifest.name}", columns=[…], groups=[…]).',
            )
        if (reason := self._reason(scramble.manifest)) is not None:
            raise ChangedError(
                f"the scramble of {manifest.name} is of other rows: {reason}",
                instead="Refresh the table if its files changed, then scramble it again.",
            )
        return scramble

    def _reason(self, manifest: Manifest) -> str | None:
        """Why a version of a table is not what it was; None: it is."""
        try:
            now = self._tables.registered(manifest.name)
            if (now.version, now.digest()) != (manifest.version, manifest.digest()):
                return f"{manifest.name} is registered as version {now.version}, not {manifest.version}"
            check_unchanged(self._spark, manifest)
        except LineageError as error:
            return error.what
        return None


def answered(
    query: AggregateQuery, scramble: Scramble, asked: Asked, reason: Callable[[], str | None]
) -> ApproximateAnswer:
    """Answer a query from a scramble; `reason` says why the scramble is void, None: it is not."""
    chosen = selection(scramble, query.condition)
    groups = groups_of(scramble, query.keys, chosen, fresh=scramble.begin_answer())
    feeder = Feeder(scramble, chosen, index_of(scramble, query.keys, chosen), query.aggregates)
    delta = shared(1 - asked.confidence, max(len(groups) * len(query.aggregates), 1))
    for group in groups:
        feeder.begin(group, delta, asked.bounder)
    shown = tuple(dict.fromkeys(place for _, is_key, place in query.shown if not is_key))
    goals = Goals(shown, asked.error, asked.relative, asked.rows, query.having, query.order)
    ended = run_rounds(scramble, groups, feeder, goals, everywhere=not query.keys, tell=asked.tell)
    return _Writer(query, scramble, groups, goals).written(ended, asked, reason)


class _Writer:
    """Writes down what the rounds found."""

    def __init__(self, query: AggregateQuery, scramble: Scramble, groups: Sequence[Group], goals: Goals) -> None:
        self._query, self._scramble, self._groups, self._goals = query, scramble, groups, goals

    def written(self, ended: Ended, asked: Asked, reason: Callable[[], str | None]) -> ApproximateAnswer:
        states = states_of(self._groups, everywhere=not self._query.keys)
        certified = self._goals.certified(states)
        places = self._in_order(states)
        taken = [_together(group.taken) for group in self._groups]
        scanned = any(group.scanned for group in self._groups)
        return ApproximateAnswer(
            self._query.text,
            [self._row(self._groups[place], self._blocks(place, taken), certified[place]) for place in places],
            all(certified) and not ended.interrupted,
            asked.confidence,
            asked.bounder,
            ended.rounds,
            sum(each.size for each in taken),
            self._scramble.blocks if scanned else blocks_of(taken),
            ended.interrupted,
            self._unseen(states),
            self._scramble,
            [taken[place] for place in places],
            reason,
        )

    def _blocks(self, place: int, taken: Sequence[Places]) -> int:
        return self._scramble.blocks if self._groups[place].scanned else blocks_of([taken[place]])

    def _unseen(self, states: Sequence[GroupState]) -> list[tuple[tuple[object, ...], int]]:
        """The keys of groups of which nothing was seen, and how many rows they may have."""
        both = zip(self._groups, states, strict=True)
        return [(group.key, group.size - group.read) for group, state in both if state.exists is None]

    def _in_order(self, states: Sequence[GroupState]) -> list[int]:
        places = [place for place in self._goals.chosen(states).wanted if states[place].exists is not None]
        order = self._query.order
        if order is None or order.aggregate is not None:
            return places
        for key, down in reversed(order.keys):  # NULL is the least
            places.sort(key=lambda place: _sortable(self._groups[place].key[key]), reverse=down)
        return places[: order.limit] if order.limit is not None else places

    def _row(self, group: Group, blocks: int, certified: bool) -> dict[str, object]:
        row: dict[str, object] = {}
        for name, is_key, place in self._query.shown:
            if is_key:
                row[name] = group.key[place]
                continue
            estimator = group.estimators[place]
            interval = estimator.interval
            known = estimator.known_value()
            row[name] = known if known is not None or interval is None else estimator.estimate()
            row[f"{name}_low"] = None if interval is None else interval.low
            row[f"{name}_high"] = None if interval is None else interval.high
        return row | {"certified": certified, "rows_read": group.read, "blocks_read": blocks}


def _together(parts: Sequence[Places]) -> Places:
    """Arrays as one; a single one is not copied, since it may have all rows of a large table."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _sortable(value: object) -> tuple[bool, object]:
    return value is not None, value
