"""Histories of a Delta table by chance: ids, and which rows changed, are those of a table kept as a dict."""

from __future__ import annotations

import random
from pathlib import Path

import deltalake
import pytest

from forward_lineage import ForwardLineage
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable

Rows = dict[int, tuple[int, int]]
"""Id → value and number of the commit that wrote it last."""


class History:
    """A table, and beside it what is in it.

    Attributes:
        files: by the path of each live file, its rows by id.
        versions: which files were live in each version.

    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.table = DeltaTable(folder, {"v": "long"}).create()
        self.files: dict[str, Rows] = {}
        self.actions: dict[str, dict[str, object]] = {}
        self.versions: list[set[str]] = [set()]
        self.value = 0

    @property
    def rows(self) -> Rows:
        return {row_id: row for path in self.versions[-1] for row_id, row in self.files[path].items()}

    def step(self) -> None:
        """Change the table in some way."""
        kinds = [self.insert, self.insert, self.update, self.delete, self.compact, self.restore, self.checkpoint]
        self.chance.choice(kinds if self.versions[-1] else [self.insert])()

    def insert(self) -> None:
        first, number = self.table.high + 1, self.table.version + 1
        rows = {first + at: (self._new_value(), number) for at in range(self.chance.randint(1, 5))}
        self._commit([(rows, None)], set())

    def update(self) -> None:
        """A file is written anew; its rows keep their ids, and some are others."""
        path, number = self._some_file(), self.table.version + 1
        hit = self.chance.sample(sorted(self.files[path]), k=1)
        rows = {at: (self._new_value(), number) if at in hit else row for at, row in self.files[path].items()}
        self._commit([(rows, {at: None if at in hit else row[1] for at, row in rows.items()})], {path})

    def delete(self) -> None:
        path = self._some_file()
        gone = self.chance.choice(sorted(self.files[path]))
        rows = {at: row for at, row in self.files[path].items() if at != gone}
        self._commit([(rows, {at: row[1] for at, row in rows.items()})] if rows else [], {path})

    def compact(self) -> None:
        """All rows go into one file, in another order."""
        shuffled = self.chance.sample(sorted(self.rows.items()), k=len(self.rows))
        self._commit([(dict(shuffled), {at: row[1] for at, row in shuffled})], set(self.versions[-1]))

    def restore(self) -> None:
        then = self.chance.choice(self.versions)
        now = self.versions[-1]
        removed = [self.actions[path] for path in sorted(now - then)]
        self.table.write(*[self.actions[path] for path in sorted(then - now)], removed=removed)
        self.versions.append(set(then))

    def checkpoint(self) -> None:
        deltalake.DeltaTable(self.table.folder).create_checkpoint()

    def _commit(self, written: list[tuple[Rows, dict[int, int | None] | None]], removed: set[str]) -> None:
        added = []
        for rows, kept in written:
            moved = None if kept is None else {at: (each, kept[each]) for at, each in enumerate(rows)}
            action = self.table.file([{"v": value} for value, _ in rows.values()], moved=moved)
            self.files[action["path"]], self.actions[action["path"]] = rows, action
            added.append(action)
        self.table.write(*added, removed=[self.actions[path] for path in sorted(removed)])
        self.versions.append(self.versions[-1] - removed | {action["path"] for action in added})

    def _some_file(self) -> str:
        return self.chance.choice(sorted(self.versions[-1]))

    def _new_value(self) -> int:
        self.value += 1
        return self.value


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_history(lineage: ForwardLineage, tmp_path: Path, seed: int) -> None:
    history = History(tmp_path / "t", seed)
    seen: list[Rows] = []
    for _ in range(4):
        for _ in range(5):
            history.step()
        if not history.rows:
            history.insert()
        seen.append(history.rows)
        assert sorted(deltalake.DeltaTable(history.table.folder).to_pyarrow_table().column("v").to_pylist()) == sorted(
            value for value, _ in history.rows.values()
        )
        now = lineage.register("t", path=history.table.folder) if len(seen) == 1 else lineage.refresh("t")
        assert now.version <= len(seen)
        found = lineage.sql("SELECT v FROM t").selectExpr("v", "dl_ids(DL.t)[0] AS id").collect()
        assert {row.id: row.v for row in found} == {at: value for at, (value, _) in history.rows.items()}
        then = seen[0]
        expected = {(at, "written") for at, row in history.rows.items() if then.get(at) != row}
        expected |= {(at, "gone") for at in then.keys() - history.rows.keys()}
        assert {(row.row_id, row.change) for row in lineage.changed("t", since=1).collect()} == expected
