"""Versions put together of kept rows and new ones, again and again, compared with a plain dictionary by number."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.store.asking.ancestors import numbers_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SavedResult
from forward_lineage.store.updating import new_rows
from forward_lineage.store.updating.joining_rows import NotProvableError
from forward_lineage.store.updating.kept_files import share_files
from forward_lineage.store.updating.new_rows import MadeAgain, write_new_rows
from forward_lineage.store.updating.row_differences import row_differences
from tests.forward_lineage.store.shelf import ROWS, put
from tests.tiers import every_day
from udafs.errors import NotSavedError
from udafs.lineage_set import LineageSet

Rows = dict[int, tuple[int, frozenset[int]]]  # number → value, and ids in `sales`


@dataclass
class Shelf:
    """A result whose rows are known besides.

    Attributes:
        library: where it is.
        rows: what it has.
        end: the number that the next new row has.

    """

    library: Library
    rows: Rows = field(default_factory=dict)
    end: int = ROWS

    def begin(self) -> SavedResult:
        """Save it as `save` does: two files of rows, three segments."""
        self.rows = {number: (number, frozenset({number % 5, 7})) for number in range(ROWS)}
        pairs = {(number, one) for number, (_, ids) in self.rows.items() for one in ids}
        with self.library.writing("other"):
            saved = put(self.library, "report", {"sales": pairs}, cuts=(0, 3, 7), kept=True)
        (saved.folder / "rows").mkdir()
        parts = [self._file(saved.folder, first, last) for first, last in ((0, 5), (5, ROWS))]
        (saved.folder / "rerun.json").write_text("")
        return self.library.publish(lambda _: replace(saved, row_files=tuple(parts)))

    def _file(self, folder: Path, first: int, last: int) -> RowFile:
        path = f"rows/part-{first:019}.parquet"
        pq.write_table(pa.table({"a": pa.array(range(first, last), pa.int32())}), folder / path)
        return row_file(folder, path, first, last - first)

    def change(self, saved: SavedResult, chance: random.Random) -> SavedResult:
        """Replace some rows, let some go, add some."""
        touched = chance.sample(sorted(self.rows), min(len(self.rows), chance.choice([0, 1, 3, 6])))
        replaced = touched[: chance.randrange(len(touched) + 1)]
        numbers = np.array([*replaced, *[-1] * chance.choice([0, 0, 1, 4])], np.int64)
        numbers = numbers[chance.sample(range(numbers.size), numbers.size)]
        made = [(chance.randrange(50), frozenset(chance.sample(range(9), chance.randrange(3)))) for _ in numbers]
        pairs = [(place, one) for place, (_, ids) in enumerate(made) for one in sorted(ids)]
        columns = [np.array(column, np.int64) for column in (zip(*pairs, strict=True) if pairs else ([], []))]
        rows = pa.table({"a": pa.array([value for value, _ in made], pa.int32())})
        again = MadeAgain(rows, {"sales": (columns[0], columns[1])}, numbers, LineageSet(touched))
        with self.library.writing("report") as folder:
            written = write_new_rows(saved, again, folder)
            share_files(saved, written.shared, folder)
            tables = tuple(replace(each, segments=written.segments[each.name]) for each in saved.tables)
            count = sum(file.rows for file in written.row_files)
            draft = replace(
                saved, data=folder.name, rows=count, row_files=written.row_files, tables=tables,
                ids_end=written.ids_end, keeps_numbers_of=0,
            )  # fmt: skip
            published = self.library.publish(lambda _: draft)
        self.rows = {number: row for number, row in self.rows.items() if number not in touched}
        for number, row in zip(again.numbered(self.end).tolist(), made, strict=True):
            self.rows[number] = row
        self.end += int((numbers < 0).sum())
        return published


def read(library: Library, saved: SavedResult) -> Rows:
    """Return rows by number, as whoever reads files by name and place finds them."""
    relation = library.relation(saved, saved.tables[0])
    found: Rows = {}
    for file in saved.row_files:
        first = int(file.path[len("rows/part-") :][:19])
        for place, value in enumerate(pq.read_table(saved.folder / file.path).column(0).to_pylist()):
            found[first + place] = value, frozenset(relation.backward(LineageSet([first + place])))
    return found


def differences(then: Rows, now: Rows) -> tuple[set[int], set[int], set[int]]:
    differs = {number for number in then.keys() & now.keys() if then[number][0] != now[number][0]}
    return then.keys() - now.keys(), now.keys() - then.keys(), differs


@pytest.mark.parametrize("seed", every_day(range(40), [1, 2]))
def test_versions(tmp_path: Path, seed: int) -> None:
    chance, shelf = random.Random(seed), Shelf(Library(tmp_path))
    versions = [(shelf.begin(), dict(shelf.rows))]
    for _ in range(6):
        versions.append((shelf.change(versions[-1][0], chance), dict(shelf.rows)))
    library = Library(tmp_path)  # which has read nothing yet
    for saved, rows in versions:
        again = library.get("report", saved.version)
        assert again == saved and read(library, again) == rows
        assert set(again.numbers()) == rows.keys() and again.rows == len(rows)
        assert again.places_of(again.numbers().ids()).tolist() == list(range(len(rows)))
        for then, before in versions:
            found = row_differences(then, again)
            assert tuple(map(set, (found.gone, found.came, found.differs))) == differences(before, rows)


def test_rows_that_went_are_asked_for(tmp_path: Path) -> None:
    shelf = Shelf(Library(tmp_path))
    saved = shelf.begin()
    none = MadeAgain(pa.table({"a": pa.array([], pa.int32())}), {}, np.empty(0, np.int64), LineageSet([3]))
    with shelf.library.writing("report") as folder:
        written = write_new_rows(saved, none, folder)
        assert [file.first_row for file in written.row_files] == [0, 4, 5] and written.ids_end == ROWS
        gapped = replace(saved, row_files=written.row_files, rows=ROWS - 1, ids_end=ROWS)
    assert set(numbers_of(gapped, [2, 4])) == {2, 4}
    with pytest.raises(NotSavedError, match=r"^report has no row 3 any more: it went when the result was brought up"):
        numbers_of(gapped, [3, 4])


def test_more_files_than_anybody_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(Library(tmp_path))
    saved = shelf.begin()
    monkeypatch.setattr(new_rows, "MOST_FILES", 3)
    scattered = MadeAgain(pa.table({"a": pa.array([], pa.int32())}), {}, np.empty(0, np.int64), LineageSet([1, 3, 7]))
    with shelf.library.writing("report") as folder, pytest.raises(NotProvableError, match=r"^its rows would be in 5"):
        write_new_rows(saved, scattered, folder)


@pytest.mark.parametrize("gap", [{"ids_end": 11}, {"ids_end": None, "rows": 11}, {"ids_end": 20}])
def test_manifests_that_do_not_fit_together(tmp_path: Path, gap: dict[str, int]) -> None:
    """Fewer numbers than rows; a gap that nothing tells of; numbers without lineage."""
    shelf = Shelf(Library(tmp_path))
    saved = shelf.begin()
    shelf.library.publish(lambda _: replace(saved, **gap))  # type: ignore[arg-type]
    with pytest.raises(CorruptSegmentError):
        Library(tmp_path).get("report")
