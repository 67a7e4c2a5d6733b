"""Random histories of a table that its own engine writes, and beside it a dict of what has to be in it.

The dict is keyed by a column whose values are never given twice. It has for each key the row's values and the number of
the step that wrote it last. The engine gives the ids, and SQL asks for them. A key keeps its first id, and no
other key gets it.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.comparing import HIDDEN, rollback, version_now
from tests.lakes.engines import CATALOG

Row = dict[str, Any]
Rows = dict[int, tuple[Row, int]]
"""Key → the row, and the step that wrote it last."""
_GROUPS = 3
_CONFLICT = re.compile("conflict|concurrent|missing data files|found new delete", re.IGNORECASE)
"""What engines say when another writer was first."""


@dataclass
class Seen:
    """What was there when the registration got a version.

    Attributes:
        rows: the dict of then.
        ids: key → id.
        columns: the table's.

    """

    rows: Rows
    ids: dict[int, int]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A statement that changes the table.

    Attributes:
        sql: the statement.
        note: makes the same of the dict.

    """

    sql: str
    note: Callable[[], None]


@dataclass
class History:
    """A table and its dict.

    Attributes:
        kind: of the format.
        name: of the table, as Spark's catalogs know it.
        log: what was done, as SQL.
        snapshots: what can be rolled back to: the engine's version → rows and columns.
        ids: every key that ever had an id.
        at_once: how often two writers wrote at the same time.
        refused: how often the engine refused one of them.

    """

    spark: SparkSession
    kind: str
    seed: int
    rows: Rows = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=lambda: {"k": "bigint", "g": "int", "v": "bigint", "w": "int"})
    log: list[str] = field(default_factory=list)
    snapshots: dict[int, tuple[Rows, dict[str, str]]] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    number: int = 0
    next_key: int = 0
    value: int = 0
    at_once: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.kind} {self.seed}")
        self.name = f"spark_catalog.default.t{self.seed}" if self.kind == "delta" else f"{CATALOG}.db.t{self.seed}"
        self._create()

    # ------------------------------------------------------------ the steps

    def step(self) -> str:
        """Change the table in some way, and the dict; return what was done."""
        steps: list[Callable[[], None]] = [self.insert, self.update, self.delete, self.merge, self.compact]
        steps += [self.insert, self.update, self.delete, self.merge, self.add_column, self.rename, self.widen]
        # Iceberg refuses to write part of a file anew: a group has files of its own where the table is partitioned.
        by_group = self.kind == "delta" or self.is_partitioned
        steps += [self.roll_back, self.delete_all, self.overwrite if by_group else self.delete, self.write_at_once]
        weights = [4] * 5 + [2] * 4 + [1, 1, 1, 2, 0.3, 1, 4]
        before = len(self.log)
        self.number += 1
        self.chance.choices(steps, weights)[0]()
        return "; ".join(self.log[before:])

    def insert(self) -> None:
        self._take(self._insert())

    def update(self) -> None:
        self._take(self._update(*self._condition()))

    def delete(self) -> None:
        self._take(self._delete(*self._condition()))

    def delete_all(self) -> None:
        self._run(f"DELETE FROM {self.name}")
        self._gone(list(self.rows))

    def merge(self) -> None:
        self._take(self._merge(self._some_keys(4)))

    def write_at_once(self) -> None:
        """Two writers change different rows at the same time; one that the engine refuses has changed nothing."""
        keys = self._some_keys(6)
        changes = [self._change_of(half) for half in (keys[::2], keys[1::2])]
        self.log.append(f"at once: {changes[0].sql} | {changes[1].sql}")
        with ThreadPoolExecutor(len(changes)) as writers:
            taken = list(writers.map(self._is_taken, [self.spark.newSession() for _ in changes], changes))
        assert any(taken), "the engine refused both writers"
        self.at_once += 1
        self.refused += taken.count(False)
        self.spark.sql(f"REFRESH TABLE {self.name}")  # Iceberg's catalog keeps a table for each session
        for change, is_taken in zip(changes, taken, strict=True):
            if is_taken:
                change.note()

    def compact(self) -> None:
        """Files are written anew; no row changes, and ids stay."""
        if self.kind == "delta":
            self._run(self.chance.choice([f"OPTIMIZE {self.name}", f"REORG TABLE {self.name} APPLY (PURGE)"]))
            return
        options = "map('rewrite-all', 'true')"
        procedure = f"rewrite_data_files(table => '{self._in_catalog}', options => {options})"
        self._run(f"CALL {CATALOG}.system.{procedure}")

    def add_column(self) -> None:
        name = f"c{self.number}"
        self._run(f"ALTER TABLE {self.name} ADD COLUMNS ({name} int)")
        self.columns[name] = "int"
        self.rows = {key: ({**row, name: None}, number) for key, (row, number) in self.rows.items()}
        self._remember()

    def rename(self) -> None:
        added = [name for name in self.columns if name[0] in "cr"]
        if not added or (self.kind == "delta" and not self.mapped):
            return
        old, new = self.chance.choice(added), f"r{self.number}"
        self._run(f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}")
        self.columns = {new if name == old else name: kind for name, kind in self.columns.items()}
        self.rows = {
            key: ({new if name == old else name: value for name, value in row.items()}, number)
            for key, (row, number) in self.rows.items()
        }
        self._remember()

    def widen(self) -> None:
        if self.columns["w"] == "bigint":
            return
        self._run(f"ALTER TABLE {self.name} ALTER COLUMN w TYPE bigint")
        self.columns["w"] = "bigint"
        self._remember()

    def overwrite(self) -> None:
        """Rows of one group are written anew, as other rows."""
        group = self.chance.randrange(_GROUPS)
        rows = [{**row, "g": group} for row in self._new_rows(2)]
        self._run(f"INSERT INTO {self.name} REPLACE WHERE g = {group} {self._values(rows)}")
        self._gone([key for key, (row, _) in self.rows.items() if row["g"] == group])
        self._written(rows)

    def roll_back(self) -> None:
        """To an earlier version with the columns of now: a rollback of Iceberg keeps these."""
        there = [at for at, (_, columns) in self.snapshots.items() if columns == self.columns]
        if not there:
            return
        at = self.chance.choice(there)
        rows, columns = self.snapshots[at]
        self._run(rollback(self.kind, self.name, at))
        self.rows, self.columns = dict(rows), dict(columns)
        self._remember()

    # ------------------------------------------------------------ what they are made of

    def _create(self) -> None:
        chance = self.chance
        self.mapped = chance.random() < 0.5
        if self.kind == "delta":
            said = {
                "delta.enableRowTracking": "true",
                "delta.enableDeletionVectors": chance.choice(["true", "false"]),
                "delta.enableTypeWidening": "true",
                "delta.checkpointInterval": "4",
                **({"delta.columnMapping.mode": "name"} if self.mapped else {}),
            }
        else:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
            ways = {f"write.{each}.mode": chance.choice(["merge-on-read", "copy-on-write"]) for each in _COMMANDS}
            said = {"format-version": "3", **ways}
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in said.items())
        columns = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        self.is_partitioned = chance.random() < 0.5
        partitioned = " PARTITIONED BY (g)" if self.is_partitioned else ""
        self._run(f"CREATE TABLE {self.name} ({columns}) USING {self.kind}{partitioned} TBLPROPERTIES ({properties})")
        self.number += 1
        self.insert()

    def _insert(self) -> Change:
        rows = self._new_rows(self.chance.randint(1, 6))
        return Change(f"INSERT INTO {self.name} {self._values(rows)}", lambda: self._written(rows))

    def _update(self, condition: str, hit: list[int]) -> Change:
        value = self._new_value()
        rows = [{**self.rows[key][0], "v": value + key} for key in hit]
        return Change(f"UPDATE {self.name} SET v = {value} + k WHERE {condition}", lambda: self._written(rows))

    def _delete(self, condition: str, hit: list[int]) -> Change:
        return Change(f"DELETE FROM {self.name} WHERE {condition}", lambda: self._gone(hit))

    def _merge(self, hit: list[int]) -> Change:
        """Of the keys, some rows are changed and some go; some rows come."""
        value = self._new_value()
        gone = [key for key in hit if self.chance.random() < 0.3]
        new = self._new_rows(self.chance.randint(0 if hit else 1, 3))
        source = [f"({key}, {key in gone})" for key in hit] + [f"({row['k']}, false)" for row in new]
        columns = ", ".join(self.columns)
        numbers = {row["k"]: row for row in new}
        values = ", ".join(self._case(column, numbers) for column in self.columns)
        changed = [{**self.rows[key][0], "v": value + key} for key in hit if key not in gone]

        def note() -> None:
            self._gone(gone)
            self._written(changed + new)

        return Change(
            f"MERGE INTO {self.name} AS t USING (SELECT * FROM VALUES {', '.join(source)} AS s(key, goes)) AS s "
            f"ON t.k = s.key WHEN MATCHED AND s.goes THEN DELETE WHEN MATCHED THEN UPDATE SET v = {value} + s.key "
            f"WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({values})",
            note,
        )

    def _change_of(self, keys: list[int]) -> Change:
        """A statement that changes no rows but those of the keys, by chance."""
        if not keys:
            return self._insert()
        condition = f"k IN ({', '.join(map(str, keys))})"
        ways = [
            self._insert,
            lambda: self._merge(keys),
            lambda: self._update(condition, keys),
            lambda: self._delete(condition, keys),
        ]
        return self.chance.choice(ways)()

    def _take(self, change: Change) -> None:
        self._run(change.sql)
        change.note()

    @staticmethod
    def _is_taken(spark: SparkSession, change: Change) -> bool:
        try:
            spark.sql(change.sql).collect()
        except Exception as error:
            if _CONFLICT.search(str(error)):
                return False
            raise
        return True

    @property
    def _in_catalog(self) -> str:
        return self.name.partition(".")[2]

    def _run(self, sql: str) -> None:
        self.log.append(sql)
        self.spark.sql(sql).collect()

    def _written(self, rows: list[Row]) -> None:
        for row in rows:
            self.rows[row["k"]] = row, self.number
        self._remember()

    def _gone(self, keys: list[int]) -> None:
        for key in keys:
            del self.rows[key]
        self._remember()

    def _remember(self) -> None:
        """Take down what the engine calls the version of now; the last word of a step counts."""
        at = version_now(self.spark, self.kind, self.name)
        if at is not None:
            self.snapshots[at] = dict(self.rows), dict(self.columns)

    def _condition(self) -> tuple[str, list[int]]:
        if self.chance.random() < 0.5:
            group = self.chance.randrange(_GROUPS)
            return f"g = {group}", [key for key, (row, _) in self.rows.items() if row["g"] == group]
        wanted = self.chance.sample(range(self.next_key), k=min(self.next_key, self.chance.randint(1, 3)))
        return f"k IN ({', '.join(map(str, wanted))})", [key for key in wanted if key in self.rows]

    def _some_keys(self, most: int) -> list[int]:
        """Keys that are there, none to so many, in no order."""
        return self.chance.sample(sorted(self.rows), k=min(len(self.rows), self.chance.randint(0, most)))

    def _new_value(self) -> int:
        self.value += 1000
        return self.value

    def _new_rows(self, count: int) -> list[Row]:
        rows = []
        for _ in range(count):
            row: Row = dict.fromkeys(self.columns, self.chance.choice([None, self.chance.randrange(100)]))
            row |= {"k": self.next_key, "g": self.chance.randrange(_GROUPS), "v": self._new_value()}
            rows.append(row)
            self.next_key += 1
        return rows

    def _values(self, rows: list[Row]) -> str:
        listed = (", ".join("NULL" if row[name] is None else str(row[name]) for name in self.columns) for row in rows)
        return f"VALUES {', '.join(f'({each})' for each in listed)}"

    def _case(self, column: str, rows: dict[int, Row]) -> str:
        if column == "k":
            return "s.key"
        when = " ".join(
            f"WHEN {key} THEN {'NULL' if row[column] is None else row[column]}" for key, row in rows.items()
        )
        return f"CASE s.key {when} END" if when else "NULL"


_COMMANDS = ("delete", "update", "merge")


class Judge:
    """Compares what we say of a table with the dict; a difference is an AssertionError.

    Args:
        lineage: in the session of the history.
        history: the table.

    """

    def __init__(self, lineage: ForwardLineage, history: History) -> None:
        self.lineage, self.history = lineage, history
        self.seen: dict[int, Seen] = {}
        self.result = f"sums_{history.kind}_{history.seed}"
        self.saved: Seen | None = None

    def look(self) -> None:
        """Take the version that is there, and compare rows, ids, changes and saved lineage."""
        name, history = self.history.name, self.history
        known = self.lineage.tables().get(name)
        manifest = self.lineage.register(name) if known is None else self.lineage.refresh(name)
        ids = self._engine_ids()
        self._check_ids(ids)
        columns = tuple(history.columns)
        listed = ", ".join(columns)
        field = f"DL.`{name}`"
        found = self.lineage.sql(f"SELECT {listed} FROM {name}").selectExpr(*columns, f"dl_ids({field}) AS ids")
        rows = {row["k"]: row for row in found.collect()}
        expected = {key: tuple(row[each] for each in columns) for key, (row, _) in history.rows.items()}
        assert {key: tuple(row[each] for each in columns) for key, row in rows.items()} == expected, "rows"
        assert {key: list(row["ids"]) for key, row in rows.items()} == {key: [ids[key]] for key in ids}, "ids"
        seen = Seen(dict(history.rows), ids, columns)
        assert self.seen.setdefault(manifest.version, seen) == seen, "a version has other rows than before"
        self._check_changed(manifest.version)
        self._check_saved()

    def _engine_ids(self) -> dict[int, int]:
        hidden = HIDDEN[self.history.kind]
        found = self.history.spark.sql(f"SELECT k, {hidden} AS id FROM {self.history.name}").collect()
        return {row.k: row.id for row in found}

    def _check_ids(self, ids: dict[int, int]) -> None:
        """The engine's own promise: a key has the id that it had first, and no other key had that."""
        known = self.history.ids
        assert ids.keys() == self.history.rows.keys(), "the engine has other rows than the dict"
        for key, row_id in ids.items():
            assert known.setdefault(key, row_id) == row_id, f"the engine gave row {key} another id"
        assert len(set(known.values())) == len(known), "the engine gave an id twice"

    def _check_changed(self, now: int) -> None:
        since = self.history.chance.choice(sorted(self.seen))
        then, there = self.seen[since], self.seen[now]
        written = {
            (there.ids[key], "written")
            for key, (_, number) in there.rows.items()
            if key not in then.rows or then.rows[key][1] != number
        }
        gone = {(then.ids[key], "gone") for key in then.rows.keys() - there.rows.keys()}
        found = {(row.row_id, row.change) for row in self.lineage.changed(self.history.name, since=since).collect()}
        assert found == written | gone, f"changed since {since}: {sorted(found)}, not {sorted(written | gone)}"

    def _check_saved(self) -> None:
        """The lineage of a saved result is that of then; it is stale once the table has another version."""
        name, now = self.history.name, self.seen[max(self.seen)]
        if self.saved is None:
            self.lineage.save(f"SELECT g, sum(v) AS total FROM {name} GROUP BY g", self.result)
            self.saved = now
            return
        stale = {row.table for row in self.lineage.stale().collect() if row.result == self.result}
        assert bool(stale) == (self.saved is not now), "stale"
        for group in {row["g"] for row, _ in self.saved.rows.values()}:
            ids = {self.saved.ids[key] for key, (row, _) in self.saved.rows.items() if row["g"] == group}
            found = self.lineage.backward_ids(self.result, f"g = {group}")
            assert set(found) == ids, f"backward of group {group}"
            self._check_rows(group, self.saved, moved_on=self.saved is not now)

    def _check_rows(self, group: int, saved: Seen, *, moved_on: bool) -> None:
        """`backward` reads rows as they were when the result was saved: no step takes old files away."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            found = self.lineage.backward(self.result, table=self.history.name, where=f"g = {group}")
        notes = [str(each.message) for each in said if each.category is UserWarning]
        assert bool(notes) == moved_on, f"warnings of backward: {notes}"
        columns = saved.columns
        assert found.columns == ["row_id", *columns], "columns of backward"
        rows = {row.row_id: tuple(row[each] for each in columns) for row in found.collect()}
        there = {saved.ids[key]: row for key, (row, _) in saved.rows.items() if row["g"] == group}
        assert rows == {row_id: tuple(row[each] for each in columns) for row_id, row in there.items()}, (
            "rows of backward"
        )


class DifferenceError(Exception):
    """A history came out otherwise than its dict says; the message has all that was done."""


class Judged(NamedTuple):
    """What a history without a difference had in it.

    Attributes:
        looks: how often it was compared.
        at_once: how often two writers wrote at the same time.
        refused: how often the engine refused one of them.

    """

    looks: int
    at_once: int
    refused: int


def run_history(spark: SparkSession, kind: str, seed: int, steps: int, home: Path) -> Judged:
    """Make and judge one history, and drop its table.

    Args:
        spark: a session with the format's engine.
        kind: the format.
        seed: of the history.
        steps: how often the table is changed.
        home: a folder for what is registered and saved.

    Raises:
        DifferenceError: there is a difference, or the engine or ours failed.

    """
    history = History(spark, kind, seed)
    judge = Judge(ForwardLineage(spark, home=home), history)
    looked = 0
    try:
        for step in range(steps):
            history.step()
            if step % 2 or step == steps - 1:
                judge.look()
                looked += 1
    except Exception as error:
        done = "\n    ".join(history.log)
        raise DifferenceError(f"{type(error).__name__}: {str(error)[:2000]}\n    {done}") from error
    finally:
        spark.sql(f"DROP TABLE {history.name}")
    return Judged(looked, history.at_once, history.refused)
