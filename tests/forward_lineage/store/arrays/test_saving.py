"""Arrays as saved things: what comes back, what they were made of, versions, kills, damage; without Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.arrays import TrackedArray, backward, constant, track
from forward_lineage.embedded.questions import Questions
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.store.arrays.saving import SavedArrays
from forward_lineage.store.asking.pipeline import Pipeline
from forward_lineage.store.library.cells import read_cells
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_array import SavedArray
from tests.forward_lineage.cli.in_this_process import good, without_spark
from tests.forward_lineage.store.killing import kill_while_saving
from tests.forward_lineage.store.shelf import put, put_rows
from tests.tiers import every_day
from udafs.errors import DamagedError, LineageError, NameTakenError, NotSavedError, NotTracedError, SetupError
from udafs.lineage_set import LineageSet

PEOPLE = (("age", "int"), ("spend", "double"), ("name", "string"), ("paid", "decimal(9,2)"))


def people(*rows: tuple[int | None, float | None]) -> pa.Table:
    ages, spends = zip(*rows, strict=True)
    columns = {"age": pa.array(ages, pa.int32()), "spend": pa.array(spends, pa.float64())}
    return pa.table({**columns, "name": ["x"] * len(rows), "paid": pa.array([1] * len(rows), pa.decimal128(9, 2))})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Five people in two files, saved as `features`."""
    put_rows(Library(tmp_path), "features", [people((30, 1.5), (40, None)), people((50, 2), (60, 3), (70, 4))], PEOPLE)
    return tmp_path


def arrays_in(home: Path) -> SavedArrays:
    return SavedArrays(Library(home), Registrations(home))


def made_of(home: Path, name: str, cell: int, table: str) -> list[int]:
    library = Library(home)
    saved = library.saved(name)
    return Pipeline(library, [saved]).backward(saved, LineageSet([cell]), table).ids.ids().tolist()


# ---------------------------------------------------------------- what comes back


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype="i2").reshape(2, 3)),
        np.array([True, False]),
        np.array(3 + 4j),
        np.arange(4, dtype=">u4"),
        np.arange(10.0)[::3],
        np.empty((0, 3)),
        np.array([np.nan, np.inf, -0.0], np.float16),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_an_array_comes_back_as_it_was(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    saved = arrays_in(tmp_path).save(array, "a")
    again = arrays_in(tmp_path).read("A")
    assert (again.shape, saved.shape, saved.tables) == (array.shape, array.shape, ())
    assert again.values.tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert Library(tmp_path).saved("a") == saved and json.loads(saved.manifest_path.read_text())["format"] == 6


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([None]), np.ma.masked_array([1.0, 2.0], [0, 1]), np.array(["2020"], "M8[Y]")]
)
def test_what_is_no_array_of_numbers_is_refused(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(NotTracedError, match=r"cannot be saved|more than its cells"):
        arrays_in(tmp_path).save(array, "a")
    assert not Library(tmp_path).every()[0]


def test_an_earlier_release_refuses_it_by_its_format(tmp_path: Path) -> None:
    saved = arrays_in(tmp_path).save(np.arange(3), "a")
    with pytest.raises(SetupError, match="manifest format 6, this release reads up to 5"):
        unseal(saved.manifest_path.read_bytes(), "a", latest=5)


# ---------------------------------------------------------------- what it was made of

Made = Callable[[TrackedArray, TrackedArray], TrackedArray]


def in_place(x: TrackedArray, y: TrackedArray) -> TrackedArray:
    z = constant(np.zeros((4, 3)))
    z[1:3] = x[:2]
    z[0] = y
    z[2, 1] = y[0]
    return z


def through_one(x: TrackedArray, y: TrackedArray) -> TrackedArray:
    z = x.cumsum(axis=0)
    return z[[1, 1, 0]] + z[[2, 0, 1]]


MADE: dict[str, Made] = {
    "alone": lambda x, y: x + 1,
    "standardised": lambda x, y: (x - x.mean(axis=0)) / x.std(axis=0),
    "chosen of standardised": lambda x, y: ((x - x.mean(axis=0)) / x.std(axis=0))[[2, 0, 0]],
    "chosen twice": lambda x, y: x[[2, 0, 3]][[1, 1]].sum(axis=1),
    "product": lambda x, y: x @ y,
    "turned and joined": lambda x, y: np.concatenate([x.T.reshape(-1)[::2], y, x[1]]),
    "sorted": lambda x, y: np.sort(x * y, axis=0)[1:],
    "two ways": lambda x, y: x[[1, 2, 3, 0]] * x + x[::-1].cumsum(axis=0),
    "two ways through one": through_one,
    "in place": in_place,
    "of nothing": lambda x, y: constant(np.ones(3)),
    "one number": lambda x, y: (x * y).sum(),
}


@pytest.mark.parametrize(("how", "semantics"), [*((how, "data") for how in MADE), ("sorted", "control")])
def test_the_store_answers_what_the_tracked_array_answers(tmp_path: Path, how: str, semantics: Any) -> None:
    rng = np.random.default_rng(5)
    x, y = track(rng.random((4, 3)), "x"), track(rng.random(3), "y")
    arrays = arrays_in(tmp_path)
    arrays.save(x, "x"), arrays.save(y, "y")
    z = MADE[how](x, y)
    saved = arrays.save(z, "z", semantics=semantics)
    names = {table.name for table in saved.tables}
    for cell in range(saved.rows):
        place = np.array(np.unravel_index(cell, z.shape), int).reshape(1, z.ndim)
        expected = backward(z, place, semantics=semantics)
        for name, cells in expected.items():
            found = made_of(tmp_path, "z", cell, name) if name in names else []
            assert found == cells.numbers().tolist(), (cell, name)


def generated(rng: random.Random, x: TrackedArray, y: TrackedArray) -> TrackedArray:
    """A program of six steps over two arrays."""
    known = [x, y]
    for _ in range(6):
        a = rng.choice(known)
        b = rng.choice([each for each in known if each.shape == a.shape])
        rows = max(len(a), 1)
        index = [rng.randrange(rows) for _ in range(rng.choice([rows, rows, 2]))]
        step = rng.choice(
            [
                lambda a=a, b=b: a * b,
                lambda a=a, index=index: a[index],
                lambda a=a: a - a.mean(axis=0),
                lambda a=a: a.T.copy(),
                lambda a=a: np.cumsum(a, axis=-1),
                lambda a=a: a[::-1],
                lambda a=a: np.sort(a, axis=0),
                lambda a=a: np.roll(a, 1, axis=0),
                lambda a=a, b=b: np.where(a > b, a, b),
                lambda a=a: a.reshape(-1)[: a.size // 2 + 1],
            ]
        )
        known.append(step())
    return known[-1]


@pytest.mark.parametrize("seed", every_day(range(200), range(8)))
def test_generated_programs(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    values = np.random.default_rng(seed)
    x, y = track(values.random((3, 4)), "x"), track(values.random((3, 4)), "y")
    arrays = arrays_in(tmp_path)
    arrays.save(x, "x"), arrays.save(y, "y")
    z = generated(rng, x, y)
    middle = rng.random() < 0.5
    if middle:  # as two saved arrays, the second of what was read
        arrays.save(z, "middle")
        z2 = arrays.read("middle")[::2] * 1.0
        arrays.save(z2, "z")
        z = z[::2] * 1.0
    else:
        arrays.save(z, "z")
    library = Library(tmp_path)
    saved = library.saved("z")
    pipeline = Pipeline(library, [saved])
    for name, source in (("x", x), ("y", y)):
        for cell in range(saved.rows):
            expected = backward(z, np.array([np.unravel_index(cell, z.shape)])).get(name)
            found = pipeline.backward(saved, LineageSet([cell]), name).ids.ids().tolist()
            assert found == ([] if expected is None else expected.numbers().tolist()), (seed, cell, name, source.shape)


def test_lineage_of_a_million_rows_in_all_of_them_is_not_listed(tmp_path: Path) -> None:
    arrays = arrays_in(tmp_path)
    x = track(np.arange(2_000_000.0).reshape(-1, 2), "x")
    arrays.save(x, "x")
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    saved = arrays.save(scaled @ np.ones(2), "scores")
    assert saved.pairs >= 2 * 10**12 and saved.size < 1 << 24
    assert len(made_of(tmp_path, "scores", 7, "x")) == 2_000_000
    arrays.save(scaled[::-1][:, 0], "turned")
    assert len(made_of(tmp_path, "turned", 7, "x")) == 1_000_000


def test_an_array_of_one_that_is_not_saved_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotTracedError, match=r"tracked array x .* not saved .*lineage\.save\(x, 'x'\)"):
        arrays_in(tmp_path).save(track(np.arange(3.0), "x") + 1, "y")


def test_saving_again_is_another_version_of_the_same_lineage(tmp_path: Path) -> None:
    arrays = arrays_in(tmp_path)
    x = track(np.arange(3.0), "x")
    arrays.save(x, "x", keep_versions=True)
    again = arrays.save(x, "x", keep_versions=True)
    assert (again.version, again.tables) == (2, ())
    y = arrays.save(arrays.read("x", 1) * 2, "y")
    assert [(table.name, table.version) for table in y.tables] == [("x", 1)]
    with pytest.raises(LineageError, match="made of x as version 1 and as version 2"):
        arrays.save(arrays.read("x", 1) + arrays.read("x", 2), "z")


# ---------------------------------------------------------------- rows of a result as an array


class TestToArray:
    def test_rows_and_columns_in_order(self, home: Path) -> None:
        x = arrays_in(home).of_result("Features", ["spend", "AGE"])
        expected = [[1.5, 30], [np.nan, 40], [2, 50], [3, 60], [4, 70]]
        assert np.array_equal(x.values, expected, equal_nan=True) and x.dtype == float
        assert arrays_in(home).of_result("features", ["age"]).dtype == np.int32

    def test_each_cell_is_made_of_its_row(self, home: Path) -> None:
        arrays = arrays_in(home)
        x = arrays.of_result("features", ["age", "spend"])
        arrays.save(x[[4, 0]].sum(axis=1), "scores")
        assert made_of(home, "scores", 0, "features") == [4] and made_of(home, "scores", 0, "sales") == [40]

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            (["name"], r"column name of features is string.*CAST\(`name` AS DOUBLE\) AS `name`"),
            (["paid"], r"column paid of features is decimal\(9,2\).*CAST\(`paid` AS DOUBLE\)"),
            (["nobody"], r"features has no column nobody\. It has age"),
            ("age", "list of names"),
            ([], "list of names"),
            (["age", "Age"], "twice"),
        ],
    )
    def test_columns_that_are_no_numbers(self, home: Path, columns: Any, said: str) -> None:
        with pytest.raises(LineageError, match=said):
            arrays_in(home).of_result("features", columns)

    def test_null_where_no_nan_can_stand(self, tmp_path: Path) -> None:
        put_rows(Library(tmp_path), "features", [people((30, 1.5), (None, 1.0))], PEOPLE)
        with pytest.raises(NotTracedError, match=r"column age is int32 and has 1 NULLs.*CAST\(`age` AS DOUBLE\)"):
            arrays_in(tmp_path).of_result("features", ["age"])

    def test_integers_that_a_floating_point_does_not_hold(self, tmp_path: Path) -> None:
        rows = pa.table({"n": pa.array([2**53 + 1], pa.int64()), "x": [1.0]})
        put_rows(Library(tmp_path), "features", [rows], (("n", "bigint"), ("x", "double")))
        assert arrays_in(tmp_path).of_result("features", ["n"]).values.tolist() == [[2**53 + 1]]
        with pytest.raises(NotTracedError, match="column n has integers that"):
            arrays_in(tmp_path).of_result("features")


# ---------------------------------------------------------------- questions


@pytest.fixture
def scores(home: Path) -> Path:
    """Features → scaled → scores, one of which is of two rows."""
    arrays = arrays_in(home)
    scaled = arrays.of_result("features", ["age"]) / 10.0
    arrays.save(scaled, "scaled")
    arrays.save(arrays.read("scaled")[1:] + arrays.read("scaled")[:-1], "scores")
    return home


def test_backward_forward_and_impact(scores: Path) -> None:
    questions = Questions(scores)
    found = questions.backward("scores", where="axis0 = 3", table="features")
    assert found.ids.tolist() == [3, 4]
    cells = questions.forward("features", ids=[1], result="scores")
    assert cells.columns == ["row_id", "axis0", "axis1", "value"]
    assert cells.first(9)[0] == [(0, 0, 0, 7.0), (1, 1, 0, 9.0)]
    assert questions.backward("scores", where="value > 12", table="scaled").ids.tolist() == [3, 4]
    impact = questions.impact("scaled", where="axis0 = 0")
    assert impact.objects() == [{"result": "scores", "rows_touched": 1, "rows": 4, "path": "scaled → scores"}]
    assert questions.impact("scores", where="axis0 = 0").objects() == [], "nothing was made of it"
    path = questions.impact("features", ids=[2]).objects()[-1]["path"]
    assert path == "features → scaled → scores"


def test_an_array_is_stale_when_what_it_was_made_of_is_saved_again(scores: Path) -> None:
    stale = {(result, table) for result, table, *_ in Questions(scores).stale().found if table != "sales"}
    assert stale == set()
    arrays_in(scores).save(arrays_in(scores).of_result("features", ["age"]) / 100.0, "scaled")
    stale = {(result, table) for result, table, *_ in Questions(scores).stale().found if table != "sales"}
    assert stale == {("scores", "scaled")}
    assert made_of(scores, "scores", 3, "features") == [3, 4], "of the version then"
    Library(scores).drop("scaled")
    assert made_of(scores, "scores", 3, "features") == [3, 4]


def test_commands_that_need_no_spark(scores: Path, tmp_path: Path) -> None:
    assert "scores" in good(without_spark("ls", "--home", scores))
    assert "array of shape (4, 1), cells <f8" in good(without_spark("describe", "scores", "--home", scores))
    told = json.loads(good(without_spark("describe", "scores", "--json", "--home", scores)))
    assert (told["kind"], told["shape"], told["dtype"]) == ("array", [4, 1], "<f8") and "sql" not in told
    shown = good(without_spark("backward", "scores", "--rows", "0", "--table", "scaled", "--home", scores))
    assert "value" in shown
    assert "features → scaled → scores" in good(without_spark("impact", "features", "--home", scores))
    picture = tmp_path / "pipeline.svg"
    good(without_spark("graph", "-o", picture, "--home", scores))
    assert "scores" in picture.read_text()


def test_a_name_is_of_one_kind(scores: Path) -> None:
    library, arrays = Library(scores), arrays_in(scores)
    with pytest.raises(NameTakenError, match="scores is a saved array"):
        put(library, "scores", {})
    with pytest.raises(NameTakenError, match="features is a saved result"):
        arrays.save(np.arange(3), "features")
    with pytest.raises(NameTakenError, match="there is a saved array scores already"):
        arrays.save(np.arange(3), "scores", mode="error")
    with pytest.raises(NotSavedError, match=r"scores is a saved array.*lineage\.array\('scores'\)"):
        library.get("scores")
    with pytest.raises(NotSavedError, match=r"features is a saved result.*lineage\.to_array\('features'"):
        arrays.read("features")
    assert {each.name for each in library.results()} == {"features"} and library.latest("scores") is None
    library.drop("scores")
    put(library, "scores", {})
    assert library.get("scores").version == 3


# ---------------------------------------------------------------- damage and death


def test_a_damaged_array_is_never_read(scores: Path) -> None:
    saved = Library(scores).saved("scores")
    assert isinstance(saved, SavedArray)
    path = saved.folder / saved.file.path
    whole = path.read_bytes()
    for place in (0, 8, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedError, match=r"array\.npy"):
            read_cells(saved)
    path.write_bytes(whole[:-1])
    with pytest.raises(DamagedError, match=r"array\.npy"):
        read_cells(saved)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [2, 3]},
        {"shape": [-4, -1]},
        {"dtype": "|O"},
        {"dtype": "<M8[s]"},
        {"kind": "model"},
        {"kind": None},
        {"rows": 5},
        {"sql": "SELECT 1"},
        {"file": {"path": "../../../x.npy", "first_row": 0, "rows": 4, "size": 1, "checksum": 1}},
        {"file": {"path": "rows/x.npy", "first_row": 0, "rows": 4, "size": 1, "checksum": 1}},
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be_an_arrays(scores: Path, change: dict[str, Any]) -> None:
    path = Library(scores).saved("scores").manifest_path
    path.write_bytes(seal({**unseal(path.read_bytes(), "", latest=6), **change}))
    with pytest.raises(DamagedError):
        Library(scores).saved("scores")
    assert Library(scores).saved("scaled").name == "scaled"


# Version v has v rows of three cells, all of them v, and row i was made of the rows of `x` below 7 · i.
SAVING = """
import sys
from pathlib import Path
import numpy as np
from forward_lineage.arrays import constant, track
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.store.arrays.saving import SavedArrays
from forward_lineage.store.library.library import Library

home = Path(sys.argv[1])
library = Library(home)
arrays = SavedArrays(library, Registrations(home))
arrays.save(track(np.zeros(7000), "x"), "x") if library.find("x") is None else None
x = arrays.read("x")
while True:
    rows = library.newest("scores") + 1
    made = constant(np.full((rows, 3), rows))
    for row in range(rows):
        made[row] = x[: 7 * row].sum() + rows
    print(arrays.save(made, "scores").version, flush=True)
"""


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.long)])
def test_a_save_that_is_killed_is_whole_or_not_there(tmp_path: Path, kills: int) -> None:
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    last = 0
    for _ in range(kills):
        kill_while_saving(SAVING, tmp_path, moments, 0.3)
        saved = Library(tmp_path).saved("scores")
        assert isinstance(saved, SavedArray) and saved.version > last, f"seed {seed}: a version was lost"
        last = saved.version
        assert np.array_equal(read_cells(saved), np.full((last, 3), last))
        assert len(made_of(tmp_path, "scores", saved.rows - 1, "x")) == 7 * (last - 1)
    library = Library(tmp_path)
    put(library, "other", {})  # the next save, of whatever kind, clears away what the dead have left
    assert [path.name for path in (library.folder / "scores").glob("data-*")] == [library.saved("scores").data]
