"""Homes of earlier releases stay readable: `format_1` is one that the release before format 2 wrote, byte for byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import check_files, check_row_files
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import DamagedError, NotSavedError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(shutil.copytree(Path(__file__).with_name("format_1"), tmp_path / "home"))


def pairs(library: Library, saved: SavedResult) -> dict[str, list[tuple[int, int]]]:
    found = {}
    for table in saved.tables:
        rows, ids = library.relation(saved, table).relation().pairs()
        found[table.name] = sorted(zip(rows.tolist(), ids.tolist(), strict=True))
    return found


class TestRegistrations:
    @pytest.mark.parametrize(
        ("name", "version", "provider", "files", "next_id"),
        [
            ("items", 1, Provider.KEY, 1, 0),
            ("numbered", 1, Provider.COLUMN, 0, 0),
            ("events", 2, Provider.POSITION, 3, 6),
            ("sorted", 1, Provider.COPY, 1, 3),
            ("people", 1, Provider.DICTIONARY, 1, 2),
            ("per_category", 2, Provider.RESULT, 1, 2),
        ],
    )
    def test_of_each_provider(
        self, home: Path, name: str, version: int, provider: Provider, files: int, next_id: int
    ) -> None:
        found = Registrations(home).latest(name)
        assert found is not None
        assert (found.name, found.version, found.provider) == (name, version, provider)
        assert (len(found.files), found.next_id, found.retired, found.trusted) == (files, next_id, (), False)
        assert isinstance(found.provider, Provider) and isinstance(found.columns[0], tuple)

    def test_everything_in_one(self, home: Path) -> None:
        found = Registrations(home).latest("people")
        assert found is not None
        assert found.columns == (("name", "string"), ("age", "int")) and found.key == ("name", "age")
        data = found.source["data"]
        assert found.source == {"table": "people", "fingerprint": "86b5a27e025d538a", "data": data, "files": []}
        assert found.files[0].path.startswith(data) and found.files[0].modified == 1795390978384599523
        assert (found.identified or "").count("{manifest}") == 1 and found.row_id == "__row_id"

    def test_a_dropped_one(self, home: Path) -> None:
        registrations = Registrations(home)
        assert registrations.latest("gone") is None
        assert registrations.version("gone", 2).provider is Provider.DROPPED
        assert registrations.next_id("gone") == 5

    def test_all_of_them(self, home: Path) -> None:
        found, damaged = Registrations(home).readable()
        names = ["counts", "events", "items", "numbered", "people", "per_category", "sorted", "units"]
        assert [each.name for each in found] == names and not damaged
        assert sorted(Registrations(home).catalog().names()) == names

    def test_the_next_version_is_of_todays_format(self, home: Path) -> None:
        registrations = Registrations(home)
        before = registrations.latest("events")
        assert before == registrations.write(lambda last: last or before, "events"), "it says the same"
        written = registrations.write(lambda last: _with_next_id(last, 7), "events")
        assert written.version == 3 and registrations.path(written).read_text().startswith('{\n "format": 2,\n')
        assert Registrations(home).latest("events") == written

    def test_a_damaged_one(self, home: Path) -> None:
        path = home / "tables" / "items" / "1.json"
        path.write_text(path.read_text().replace('"columns"', '"colums"'))
        with pytest.raises(DamagedError, match=r"items/1\.json is damaged\. Delete that file"):
            Registrations(home).latest("items")


def _with_next_id(manifest: Manifest | None, next_id: int) -> Manifest:
    assert manifest is not None
    return Manifest(**{**vars(manifest), "next_id": next_id})


class TestResults:
    def test_a_query_over_two_tables_and_one_over_a_result(self, home: Path) -> None:
        library = Library(home)
        assert [(each.name, each.version) for each in library.results()] == [
            ("counts", 1), ("per_category", 2), ("units", 1),
        ]  # fmt: skip
        found = library.get("per_category")
        assert (found.rows, found.columns, found.kept) == (2, (("category", "string"), ("n", "bigint")), False)
        assert pairs(library, found) == {"numbered": [(0, 4), (1, 2), (1, 5)], "items": [(0, 1), (1, 2)]}
        assert pairs(library, library.get("counts")) == {"per_category": [(0, 0), (1, 1)]}
        check_row_files(found)

    def test_versions_that_were_kept(self, home: Path) -> None:
        library = Library(home)
        first, second = library.versions("per_category")
        assert (first.version, first.kept, second.version) == (1, True, 2)
        assert first.sql != second.sql

    def test_the_registration_it_was_made_of(self, home: Path) -> None:
        tables = Library(home).get("per_category").tables
        assert [table.registration() for table in tables] == [
            Registrations(home).latest("numbered"), Registrations(home).latest("items"),
        ]  # fmt: skip
        assert [table.provider for table in tables] == [Provider.COLUMN, Provider.KEY]
        assert Library(home).get("counts").tables[0].is_result

    def test_granules(self, home: Path) -> None:
        library = Library(home)
        found = library.get("units")
        assert (found.granularity, found.tables[0].granules) == ("granules", ("v % 20",))
        assert pairs(library, found) == {"events": [(0, 0), (0, 1)]}
        check_files(found, found.tables[0].dictionary_files, "granules/0")

    def test_a_dropped_one(self, home: Path) -> None:
        library = Library(home)
        assert "dropped_since" in library.names() and library.newest("dropped_since") == 2
        with pytest.raises(NotSavedError, match=r"^there is no saved result dropped_since\. Saved: "):
            library.get("dropped_since")

    @pytest.mark.parametrize("damage", [('"rows": 2', '"rows": 3'), ('"format": 1', '"format": 2'), ("}", "")])
    def test_a_damaged_one(self, home: Path, damage: tuple[str, str]) -> None:
        path = home / "results" / "per_category" / "2.json"
        path.write_text(path.read_text().replace(*damage))
        with pytest.raises(DamagedError, match=r"per_category/2\.json is damaged or cut short\. Save the result again"):
            Library(home).get("per_category")
