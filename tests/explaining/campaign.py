"""`compare` and `why_not` from end to end: what they say of generated queries, tables and edits, against SQLite."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.explaining.comparison import Comparison
from forward_lineage.explaining.missing_rows import MissingRows
from forward_lineage.explaining.rerunning import named_in
from tests.explaining.cases import COLUMNS, Case, Tables, a_case, asked, edited, some_tables
from tests.explaining.sums import undoing

_ID = {"customers": "id", "orders": "oid"}
CASES = 6
VERSIONS = 5
QUESTIONS = 4


class Trial:
    """One home with two tables and some saved queries.

    Args:
        lineage: of a new home.
        seed: of all choices.

    """

    def __init__(self, lineage: ForwardLineage, seed: int) -> None:
        self._lineage, self._chance = lineage, random.Random(seed)
        self._tables: Tables = some_tables(self._chance)
        self._put()
        for name in COLUMNS:
            lineage.register(name, source=f"{name}_rows", key=_ID[name])

    def _put(self) -> None:
        spark = self._lineage.spark
        for name, columns in COLUMNS.items():
            schema = ", ".join(map(" ".join, columns))
            spark.createDataFrame(list(self._tables[name].values()), schema).createOrReplaceTempView(f"{name}_rows")

    # ------------------------------------------------------------ compare

    def compared(self) -> Iterator[str | None]:
        """Yield for each pair of versions what is wrong with the answer; None: nothing."""
        cases = [a_case(self._chance) for _ in range(CASES)]
        states = []
        for _ in range(VERSIONS):
            for number, case in enumerate(cases):
                self._lineage.save(case.sql, f"q{number}", keep_versions=True)
            states.append(self._tables)
            self._tables = edited(self._tables, self._chance)
            self._put()
            for name in COLUMNS:
                self._lineage.refresh(name)
        for (then, before), (now, after) in combinations(enumerate(states, 1), 2):
            for number, case in enumerate(cases):
                found = self._lineage.compare(f"q{number}", then, now, key=case.keys)
                faults = [each for each in self._judged(case, found, before, after) if each]
                yield faults[0] if faults else None

    def _judged(self, case: Case, found: Comparison, before: Tables, after: Tables) -> Iterator[str | None]:
        rows = [{row[: len(case.keys)]: row for row in asked(each, case.sql)} for each in (before, after)]
        wanted = {key for key in rows[0].keys() | rows[1].keys() if not _same(rows[0].get(key), rows[1].get(key))}
        told = {tuple(row.key.values()): row for row in found.rows}
        if told.keys() != wanted:
            yield f"{case.sql}: rows {sorted(told, key=str)} differ, not {sorted(wanted, key=str)}; {found.notes}"
            return
        for key, row in told.items():
            faults = [self._fault(case, each, row.change) for each in row.columns]
            fault = next((each for each in faults if each), None)
            named = named_in(part for each in row.columns for part, _ in each.parts)
            if fault is None and row.change == "changed" and named:
                fault = undoing(case, before, after, named, key)
            yield fault

    def _fault(self, case: Case, column: Any, change: str) -> str | None:
        text = dict(case.aggregates)[column.column]
        if text.startswith("min") or column.before is None or column.after is None:
            return (
                None
                if column.parts or column.remainder is not None or column.difference is None
                else f"{case.sql}: {column}"
            )
        added = sum((amount for _, amount in column.parts), Fraction(0))
        if added + column.remainder != column.difference:
            return f"{case.sql}: {column.column} is not the sum of its parts"
        rounded = isinstance(column.after, float | Decimal)
        return None if not column.remainder or (rounded and abs(column.remainder) < 1e-6) else f"{case.sql}: {column}"

    # ------------------------------------------------------------ why_not

    def followed(self) -> Iterator[str | None]:
        """Yield for each question what is wrong with the way; None: nothing."""
        for number in range(CASES):
            case = a_case(self._chance, groups=self._chance.random() < 0.6)
            try:
                self._lineage.save(case.sql, f"q{number}")
            except LineageError:
                continue
            for table in case.tables:
                for key in self._chance.sample(
                    sorted(self._tables[table]), min(QUESTIONS // len(case.tables), len(self._tables[table]))
                ):
                    yield self._way_fault(case, self._lineage.why_not(f"q{number}", table=table, ids=[key]), table, key)

    def _way_fault(self, case: Case, found: MissingRows, table: str, key: int) -> str | None:
        """Ask SQLite how many rows arrive and get past at each step, and whether the last ones are let in."""
        steps = [step for step in found.steps if step.kind not in ("FROM", "GROUP BY", "HAVING")]
        passed: list[str] = []
        joined = len(case.tables) == 1
        for step in steps:
            arrived = self._count(case, table, key, passed, joined=joined)
            joined = joined or "JOIN" in step.kind
            passed += [step.text] if step.kind in ("WHERE", "ON") else []
            survived = self._count(case, table, key, passed, joined=joined)
            if (arrived, survived) != (step.arrived, step.survived):
                return f"{case.sql}\n{table} {key}: {step}: SQLite says {arrived} → {survived}\n{found}"
        in_result = self._is_there(case, table, key)
        if in_result != bool(found.present) or in_result != (found.kept_out_by is None):
            return f"{case.sql}\n{table} {key} is {'' if in_result else 'not '}in the result\n{found}"
        return None

    def _count(self, case: Case, table: str, key: int, passed: list[str], *, joined: bool) -> int:
        source = case.source if joined else table
        conditions = [f"{_ID[table]} = {key}", *passed]
        if joined and case.how == "JOIN":  # a condition of one table is a step of its own
            source = f"{case.tables[0]} JOIN {case.tables[1]} ON {_linking(case)}"
        return int(asked(self._tables, f"SELECT count(*) FROM {source} WHERE {' AND '.join(conditions)}")[0][0])

    def _is_there(self, case: Case, table: str, key: int) -> bool:
        rows = f"SELECT {', '.join(case.keys) or '1'} FROM {case.source}{case.condition}"
        mine = asked(self._tables, f"{rows}{' AND' if case.where else ' WHERE'} {_ID[table]} = {key}")
        if not case.aggregates or not case.having:
            return bool(mine)
        groups = {row[: len(case.keys)] for row in asked(self._tables, case.sql)}
        return any(row in groups for row in mine)


def _linking(case: Case) -> str:
    """The conditions of an inner join that are asked when its table comes: those that mention both sides."""
    both = [text for text in case.on if text in ("cust = id", "amount > tier")]
    both += [text for text in case.where if text == "amount > tier"]
    return " AND ".join(both)


def _same(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> bool:
    return one == other
