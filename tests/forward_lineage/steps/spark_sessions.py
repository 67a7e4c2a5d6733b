"""Random pipelines over tables of Spark, edited and with other data: no answer may be stale, and lineage neither.

Each run is compared with one that keeps nothing. Rows are compared in any order, each with the base rows behind it.
"""

from __future__ import annotations

import random
import sys
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage import ForwardLineage
from forward_lineage.arrays import TrackedArray
from forward_lineage.session.step_rows import RowsOfSteps, StepRows
from forward_lineage.steps.pipeline import Outcome, Pipeline
from forward_lineage.steps.shelf import ROWS, Shelf
from forward_lineage.steps.step import Step, step
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.store.arrays.origins import origin_of

TABLES = ("steps_a", "steps_b")
OF_TABLES = (
    "SELECT k, sum(v) AS v FROM {steps_a} GROUP BY k",
    "SELECT k, v FROM {steps_a} WHERE v > $a",
    "SELECT x.k, x.v + y.v AS v FROM {steps_a} x JOIN {steps_b} y ON x.k = y.k WHERE y.v < $a + 20",
    "SELECT k, max(v) AS v FROM {steps_a} WHERE v % $a = 0 GROUP BY k",
    "SELECT k, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v, id) AS n FROM {steps_b}) WHERE n < $a",
    "SELECT k, v FROM {steps_a} UNION ALL SELECT k, v FROM {steps_b} WHERE k = $a",
    "SELECT DISTINCT k, v % $a AS v FROM {steps_b}",
    "SELECT count(*) AS k, coalesce(sum(v), 0) AS v FROM {steps_a} WHERE k > $a",
)
OF_ROWS = (
    "SELECT k, v * $a AS v FROM {first} WHERE v > 2",
    "SELECT k, count(*) AS v FROM {first} GROUP BY k",
    "SELECT p.k, p.v + b.v AS v FROM {first} p JOIN {steps_b} b ON p.k = b.k WHERE b.v > $a",
    "SELECT k, v FROM {first} WHERE k NOT IN (SELECT k FROM {steps_b} WHERE v > $a * 4)",
)
CELLS = "    return second.to_array(['k', 'v']) * $a"
VALUE = """    rows = sum(hash(row) for row in first.rows()) + $a * sum(hash(row) for row in second.rows())
    return rows + int(cells.values.sum())"""


@dataclass
class Written:
    """A pipeline as its author has it now."""

    first: str
    second: str
    numbers: list[int]

    def source(self) -> str:
        texts = [text.replace("$a", str(number)) for text, number in zip(self._texts(), self.numbers, strict=True)]
        lines = []
        for name, text in zip(("first", "second"), texts, strict=False):
            reads = [each for each in (*TABLES, "first") if f"{{{each}}}" in text]
            lines += ["@step(returns='query')", f"def {name}({', '.join(reads)}):", f"    return f'''{text}'''"]
        lines += ["@step(returns='array')", "def cells(second):", texts[2]]
        return "\n".join([*lines, "@step", "def both(first, second, cells):", texts[3]])

    def _texts(self) -> tuple[str, str, str, str]:
        return self.first, self.second, CELLS, VALUE


@dataclass
class Author:
    """An author at work, on a `ForwardLineage`."""

    random: random.Random
    lineage: ForwardLineage
    folder: Path
    loaded: int = 0
    updated: int = 0
    files: dict[str, dict[str, list[tuple[int, int, int]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = RowsOfSteps(self.lineage._parts, self.lineage)
        for table in TABLES:
            self.files[table] = {}
            (self.folder / table).mkdir(parents=True)
            for _ in range(2):
                self._write(table, uuid4().hex, self._new_rows())
            self.lineage.register(table, path=str(self.folder / table))

    def close(self) -> None:
        """Forget tables and results."""
        for saved in self.lineage.results():
            self.lineage.drop(saved.name)
        for table in TABLES:
            self.lineage.unregister(table)

    def stale_answers(self, iterations: int) -> Iterator[str]:
        """Yield each answer that differs from the one of running everything."""
        now = Written(self.random.choice(OF_TABLES), self.random.choice(OF_ROWS), [self._small() for _ in range(4)])
        history = [now]
        for _ in range(iterations):
            targets = self.random.sample(["first", "second", "cells", "both"], self.random.randint(1, 3))
            kept = self._run(now, targets, self.folder / "kept")
            found = {name: self._seen(kept[name]) for name in targets}  # a later run may take the place of its rows
            nothing = self._run(now, targets, self.folder / uuid4().hex)
            self.loaded += sum(action == "load" for action in kept.actions.values())
            self.updated += sum("brought up to date" in why for why in kept.reasons.values())
            for name in targets:
                ours, right = found[name], self._seen(nothing[name])
                if ours != right:
                    yield f"{name}: {ours - right} instead of {right - ours}\n{kept}\n{now.source()}"
            self._forget(nothing)
            now = self._edited(now, history)
            history.append(now)

    # ------------------------------------------------------------ edits

    def _small(self) -> int:
        return self.random.randint(2, 6)

    def _new_rows(self) -> list[tuple[int, int, int]]:
        count = self.random.randint(0, 12)
        return [
            (self.random.randint(0, 99), self.random.randint(0, 6), self.random.randint(0, 30)) for _ in range(count)
        ]

    def _edited(self, now: Written, history: list[Written]) -> Written:
        new = Written(now.first, now.second, list(now.numbers))
        match self.random.randrange(8):
            case 0:
                new.numbers[self.random.randrange(4)] = self._small()
            case 1:
                new.first = self.random.choice(OF_TABLES)
            case 2:
                new.second = self.random.choice(OF_ROWS)
            case 3:
                return self.random.choice(history)
            case 4:
                pass
            case _:
                self._change(self.random.choice(TABLES))
        return new

    def _change(self, table: str) -> None:
        """Append a file, take one away, or write one again with a row more, less or another."""
        name = self.random.choice([*self.files[table], uuid4().hex])
        rows = list(self.files[table].get(name, self._new_rows()))
        if rows and self.random.random() < 0.5:
            rows[self.random.randrange(len(rows))] = (1, self.random.randint(0, 6), self.random.randint(0, 30))
        elif rows and self.random.random() < 0.5:
            rows.pop()
        (self.folder / table / f"{name}.parquet").unlink(missing_ok=True)
        self._write(table, name if self.random.random() < 0.5 else uuid4().hex, rows)
        self.files[table] = {
            file.stem: self.files[table][file.stem] for file in (self.folder / table).glob("*.parquet")
        }
        self.lineage.refresh(table)

    def _write(self, table: str, name: str, rows: list[tuple[int, int, int]]) -> None:
        self.files[table][name] = rows
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        schema = pa.schema([(column, pa.int64()) for column in ("id", "k", "v")])
        found = pa.table([list(column) for column in columns], schema=schema)
        pq.write_table(found, self.folder / table / f"{name}.parquet")

    # ------------------------------------------------------------ runs

    def _run(self, written: Written, targets: list[str], folder: Path) -> Outcome:
        module = types.ModuleType("user_spark_session")
        sys.modules["user_spark_session"] = module
        vars(module)["step"] = step
        exec(compile(written.source(), "<user_spark_session>", "exec"), vars(module))
        steps = [each for each in vars(module).values() if isinstance(each, Step)]
        self.shelf = Shelf(LocalFolder(folder))
        return Pipeline(steps, self.shelf, self.rows, parallel=1).run(targets)

    def _seen(self, value: Any) -> Counter[Any]:
        """Return rows, of a result or an array, each with the base rows behind it."""
        if isinstance(value, TrackedArray):
            origin = origin_of(value.node, str(self.lineage._parts.library.folder.absolute()))
            assert origin is not None
            width = value.shape[1]
            rows = {width * at: tuple(row) for at, row in enumerate(value.values.tolist())}
            return self._with_lineage(origin.name, rows, range(width))
        if not isinstance(value, StepRows):
            return Counter([value])
        numbered = [tuple(row) for row in self.lineage.rows(value.name).collect()]  # an update leaves gaps
        rows = {number: row for number, *row in numbered}
        assert sorted(map(tuple, rows.values())) == sorted(value.rows())
        return self._with_lineage(value.name, {number: tuple(row) for number, row in rows.items()}, range(1))

    def _with_lineage(self, name: str, rows: dict[int, tuple[Any, ...]], cells: range) -> Counter[Any]:
        tables = self._tables(name)
        behind = {
            number: [
                tuple(self.lineage.backward_ids(name, rows=[number + cell for cell in cells], table=table))
                for table in tables
            ]
            for number in rows
        }
        return Counter((row, *zip(tables, behind[number], strict=True)) for number, row in rows.items())

    def _tables(self, name: str) -> list[str]:
        """Return the base tables behind a saved thing, through whatever it was made of."""
        known = {edge.name for edge in self.lineage._parts.library.saved(name).tables}
        return sorted({each for edge in known for each in ([edge] if edge in TABLES else self._tables(edge))})

    def _forget(self, outcome: Outcome) -> None:
        for record in self.shelf.records.values():
            if record.form == ROWS:
                self.rows.drop(record.place)


def stale_spark_answers(
    lineage: ForwardLineage, count: int, seed: int, folder: Path, iterations: int = 8
) -> tuple[list[str], int, int]:
    """Return what went wrong in some sessions, and how many results were loaded and brought up to date in all."""
    wrong, loaded, updated = [], 0, 0
    for number in range(count):
        session = Author(random.Random(f"{seed} {number}"), lineage, folder / str(number))
        try:
            wrong += [f"seed {seed} {number}: {each}" for each in session.stale_answers(iterations)]
        finally:
            session.close()
        loaded, updated = loaded + session.loaded, updated + session.updated
        done = f"{number + 1} pipelines, {loaded} loaded, {updated} brought up to date, {len(wrong)} stale"
        print(done, file=sys.stderr, flush=True)
    return wrong, loaded, updated
