"""The laws of lineage, tried on sampled rows of one query.

Witness: base tables cut down to a result row's control lineage give the row back. Necessity, if each result row is
there because of one row of each table: dropping a lineage row loses the result row, dropping any other does not.
Minimality: how many lineage rows can go while the row is still given back.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forward_lineage.checking.comparison import occurrences, show
from forward_lineage.checking.copies import Kept, OtherRows, Without
from forward_lineage.checking.outcomes import Law, Laws
from forward_lineage.checking.results import Result, collect, failure_of, lineage_of
from forward_lineage.checking.values import Value
from udafs.lineage_set import LineageSet

Lineage = dict[str, LineageSet]

_NECESSITY_ROWS = 2
_MINIMALITY_RUNS = 8
_OUT_OF_TIME = "the time for the statement was over"


@dataclass
class Trial:
    """The laws of one query, as far as time allows.

    Attributes:
        sql: the query.
        rows: how many result rows to sample.
        seed: what the sample depends on.
        deadline: when to stop, on the clock of `time.monotonic`.
        tell: called before each run.
        laws: what came of it.

    """

    sql: str
    rows: int
    seed: str
    deadline: float
    tell: Callable[[str], None]
    laws: Laws = field(default_factory=Laws)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def witnesses(self, control: Result, other: OtherRows) -> None:
        """Try the witness law on sampled rows, and minimality on one of them."""
        places = self._sample(control.rows, self.rows)
        held = [place for place in places if self._witness(control, place, other)]
        if held:
            self._shrink(control.rows[held[0]], _lineage(control, held[0]), other)

    def _witness(self, control: Result, place: int, other: OtherRows) -> bool:
        law, row = self.laws.witness, control.rows[place]
        found = self._count(row, _lineage(control, place), other, law)
        if found:
            law.held += 1
        elif found == 0:
            law.failed.append(f"row {show(row)} is not given back by its lineage {_told(_lineage(control, place))}")
        return bool(found)

    def necessity(self, data: Result, other: OtherRows) -> None:
        """Try the necessity law: rows in and out of the lineage of sampled rows, dropped one at a time."""
        for place in self._sample(data.rows, min(self.rows, _NECESSITY_ROWS)):
            copies = occurrences(data.rows[place], data.rows)
            of_any: Lineage = {}
            for n in copies:
                of_any = _union(of_any, _lineage(data, n))
            self._drop_one_in(data, place, len(copies), other)
            self._drop_one_out(data.rows[place], of_any, len(copies), other)

    def _drop_one_in(self, data: Result, place: int, copies: int, other: OtherRows) -> None:
        mine = [(table, row_id) for table, ids in _lineage(data, place).items() for row_id in _some(ids)]
        if not mine:
            return
        table, row_id = self._random.choice(mine)
        found = self._dropped(data.rows[place], table, row_id, other)
        if found is not None and found >= copies:
            self._necessity_failed(data.rows[place], table, row_id, "is in its lineage, and not needed")
        elif found is not None:
            self.laws.necessity.held += 1

    def _drop_one_out(self, row: Value, of_any: Lineage, copies: int, other: OtherRows) -> None:
        table = self._random.choice(sorted(of_any))
        spare = other.all_ids(table) - of_any[table]
        if not spare:
            return
        row_id = self._random.choice(list(_some(spare)))
        found = self._dropped(row, table, row_id, other)
        if found is not None and found != copies:
            self._necessity_failed(row, table, row_id, "is not in its lineage, and needed")
        elif found is not None:
            self.laws.necessity.held += 1

    def _necessity_failed(self, row: Value, table: str, row_id: int, how: str) -> None:
        self.laws.necessity.failed.append(f"row {show(row)}: {table} {row_id} {how}")

    def _dropped(self, row: Value, table: str, row_id: int, other: OtherRows) -> int | None:
        return self._count(row, {table: Without(row_id)}, other, self.laws.necessity)

    def _shrink(self, row: Value, lineage: Lineage, other: OtherRows) -> None:
        """Take rows out of a lineage, halves first, while the row is still given back."""
        whole = sum(map(len, lineage.values()))
        if whole <= 1:
            self.laws.minimality += [1.0] * whole
            return
        left, runs = {table: list(ids) for table, ids in lineage.items() if len(ids) <= 100_000}, 0
        size = max(1, max(map(len, left.values()), default=0) // 2)
        while left and runs < _MINIMALITY_RUNS:
            smaller = False
            for table, start in [(t, s) for t in left for s in range(0, len(left[t]), size)]:
                runs += 1
                fewer = {**left, table: left[table][:start] + left[table][start + size :]}
                if runs <= _MINIMALITY_RUNS and self._count(row, _sets(fewer), other, Law()):
                    left, smaller = fewer, True
                    break
            if not smaller and size == 1:
                break
            size = size if smaller else max(1, size // 2)
        self.laws.minimality.append(whole / max(1, sum(map(len, left.values()))))

    def _count(self, row: Value, kept: Kept, other: OtherRows, law: Law) -> int | None:
        """How often a row is in the result over some base rows; None if that cannot be known."""
        if time.monotonic() > self.deadline:
            law.skip(_OUT_OF_TIME)
            return None
        self.tell("witness")
        other.cut(kept)
        try:
            return len(occurrences(row, collect(other.run(self.sql)).rows))
        except Exception as error:  # whatever Spark says of other rows than the user's
            law.skip(f"plain Spark fails on the rows that are left: {failure_of(error).condition or 'an error'}")
            return None

    def _sample(self, rows: Sequence[Value], count: int) -> list[int]:
        return sorted(self._random.sample(range(len(rows)), min(count, len(rows))))


def _lineage(result: Result, place: int) -> Lineage:
    return {table: LineageSet.from_bytes(value) for table, value in lineage_of(result, place).items()}


def _union(left: Lineage, right: Lineage) -> Lineage:
    return {table: left.get(table, LineageSet()) | right.get(table, LineageSet()) for table in {**left, **right}}


def _sets(lists: dict[str, list[int]]) -> Lineage:
    return {table: LineageSet(ids) for table, ids in lists.items()}


def _some(ids: LineageSet) -> Sequence[int]:
    """A thousand ids of a set at most."""
    return [row_id for _, row_id in zip(range(1000), ids, strict=False)]


def _told(lineage: Lineage) -> str:
    shown = (
        f"{table}{{{', '.join(map(str, _some(ids)[:12]))}{', …' if len(ids) > 12 else ''}}}"
        for table, ids in lineage.items()
    )
    return " ".join(shown)
