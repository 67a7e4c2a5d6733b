"""Runs of pipelines: what is computed, loaded, left out and kept; crashes; steps side by side."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from forward_lineage.steps import running
from forward_lineage.steps.pipeline import Outcome, Pipeline
from forward_lineage.steps.serialising import read_back, written
from forward_lineage.steps.shelf import Record, Shelf
from forward_lineage.steps.step import Step, step
from forward_lineage.storage.local_folder import LocalFolder
from tests.forward_lineage.steps.little_store import LittleStore
from tests.forward_lineage.steps.sessions import stale_answers
from udafs.errors import BadArgumentError


@pytest.fixture(autouse=True)
def _slow_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step seem to take a second to compute, and nothing to load, so that all of them are worth keeping."""
    monkeypatch.setattr(running, "_microseconds", lambda begun: 1_000_000)
    monkeypatch.setattr(running, "_time_to_read", lambda form, data: 0)


WHOLE = Path(__file__).parents[3]


class Author:
    """Somebody who edits a text and runs it; each run is as in a new program."""

    def __init__(self, folder: Path, budget: int | None = None) -> None:
        self.folder, self.budget = folder, budget
        self.store = LittleStore()

    def run(self, source: str, targets: str | list[str], parallel: int = 1, **parameters: Any) -> Outcome:
        return self.pipeline(source, parallel).run(targets, parameters)

    def pipeline(self, source: str, parallel: int = 1) -> Pipeline:
        module = types.ModuleType("user_pipeline")
        sys.modules["user_pipeline"] = module
        vars(module)["step"] = step
        exec(compile(source, "<user_pipeline>", "exec"), vars(module))
        steps = [each for each in vars(module).values() if isinstance(each, Step)]
        return Pipeline(steps, Shelf(LocalFolder(self.folder), self.budget), self.store, parallel)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "steps")


def done(outcome: Outcome) -> dict[str, str]:
    return {name: str(action) for name, action in outcome.actions.items()}


TWO = "@step\ndef one(): return 20\n@step\ndef two(one): return one + {}\n"


def test_an_edit_runs_what_it_touches_and_undoing_it_runs_nothing(author: Author) -> None:
    assert (author.run(TWO.replace("{}", "1"), "two")["two"]) == 21
    edited = author.run(TWO.replace("{}", "2"), "two")
    assert (edited["two"], done(edited)) == (22, {"one": "load", "two": "compute"})
    undone = author.run(TWO.replace("{}", "1"), "two")
    assert (undone["two"], done(undone)) == (21, {"one": "prune", "two": "load"})


def test_a_parameter_is_part_of_what_is_asked(author: Author) -> None:
    source = "@step\ndef one(n=1): return n\n"
    assert [author.run(source, "one", n=each)["one"] for each in (1, True, "1", 1.0)] == [1, True, "1", 1.0]
    assert author.run(source, "one")["one"] == 1
    assert done(author.run(source, "one", n=True)) == {"one": "load"}


def test_a_parameter_that_no_step_reads_is_refused(author: Author) -> None:
    with pytest.raises(BadArgumentError, match="no step reads m"):
        author.run(TWO.replace("{}", "1"), "two", m=1)


def test_a_step_left_to_chance_runs_again_and_all_that_read_it(author: Author) -> None:
    source = "@step(chance=True)\ndef one(): return 1\n@step\ndef two(one): return one\n"
    author.run(source, "two")
    again = author.run(source, "two")
    assert done(again) == {"one": "compute", "two": "compute"}
    assert "left to chance" in again.reasons["one"]
    assert "one" in again.reasons["two"]


def test_an_unknown_step_runs_again_and_says_why(author: Author) -> None:
    source = "import os\n@step\ndef one(): return os.getcwd()\n"
    author.run(source, "one")
    assert "os.getcwd" in author.pipeline(source).explain("one")
    assert done(author.run(source, "one")) == {"one": "compute"}


def test_a_crash_keeps_what_had_ended(author: Author) -> None:
    source = TWO.replace("one + {}", "one // {}")
    with pytest.raises(ZeroDivisionError) as caught:
        author.run(source.replace("{}", "0"), "two")
    assert caught.value.__notes__ == ["In step two. The steps that had ended are kept."]
    assert done(author.run(source.replace("{}", "2"), "two")) == {"one": "load", "two": "compute"}


def test_independent_steps_run_side_by_side(author: Author) -> None:
    global BARRIER  # noqa: PLW0603
    BARRIER = threading.Barrier(2, timeout=60)
    source = (
        f"from {__name__} import BARRIER\n"
        "@step\ndef a():\n    BARRIER.wait()\n    return 1\n"
        "@step\ndef b():\n    BARRIER.wait()\n    return 2\n"
        "@step\ndef c(a, b): return a + b\n"
    )
    assert author.run(source, "c", parallel=2)["c"] == 3  # one after the other they would wait for ever


def test_a_step_gets_a_value_of_its_own(author: Author) -> None:
    source = (
        "@step\ndef xs(): return [1]\n"
        "@step\ndef a(xs):\n    xs.append(2)\n    return xs\n"
        "@step\ndef b(xs, a): return xs\n"
    )
    assert author.run(source, ["a", "b", "xs"]).values == {"a": [1, 2], "b": [1], "xs": [1]}


def test_what_changes_a_global_is_not_kept_nor_what_comes_after(author: Author) -> None:
    source = "G = [1]\n@step\ndef a():\n    G.append({})\n    return len(G)\n@step\ndef b(a): return G[-1] + 0 * a\n"
    assert author.run(source.replace("{}", "7"), "b")["b"] == 7
    again = author.run(source.replace("{}", "7"), "b")
    assert (again["b"], done(again)) == (7, {"a": "compute", "b": "compute"})
    assert "changed while the pipeline ran" in again.reasons["b"]


def test_a_step_that_changes_what_another_reads_in_no_order_is_refused(author: Author) -> None:
    source = "G = [1]\n@step\ndef a():\n    G.append(2)\n@step\ndef b(): return len(G)\n@step\ndef c(a, b): return b\n"
    with pytest.raises(BadArgumentError, match="step a ran while something that step b reads was changed"):
        author.run(source, "c")
    assert author.run(source, "b")["b"] == 1
    with pytest.raises(BadArgumentError):  # also where b is loaded
        author.run(source, "c")


@pytest.mark.parametrize(
    "body", ["def one(): yield 1", "async def one(): return 1", "def one(): return open('/dev/null')"]
)
def test_what_can_be_read_once_is_refused(author: Author, body: str) -> None:
    """The second step that reads it would get nothing."""
    with pytest.raises(BadArgumentError, match=r"step one returns a .*, which can be read once"):
        author.run(f"@step\n{body}\n@step\ndef two(one): return list(one)\n", "two")


def test_nothing_is_kept_that_was_made_of_what_another_step_may_have_changed(author: Author) -> None:
    """An object that can be neither written nor copied is one for both of its readers."""
    source = (
        "class C:\n    def __init__(self): self.n = []\n    def __deepcopy__(self, memo): raise TypeError\n"
        "@step\ndef one(): return C()\n@step\ndef two(one): one.n.append(1); return 1\n"
        "@step\ndef three(one): return len(one.n)\n@step\ndef four(three): return three\n"
    )
    assert author.run(source, ["two", "four"])["four"] == 1
    again = author.run(source, "four")
    assert (again["four"], done(again)["four"]) == (0, "compute")
    assert "another step may have changed it" in again.reasons["three"]
    assert "could not be kept: what three gave" in author.pipeline(source).explain("four")


def test_steps_run_in_the_settings_of_the_caller(author: Author) -> None:
    """Numpy keeps them for each thread; without them its identity would seem to change while the pipeline runs."""
    source = "import numpy as np\n@step\ndef one(): return str(np.array([1 / 3]))\n@step\ndef two(one): return one\n"
    with np.printoptions(precision=2):
        assert author.run(source, "two")["two"] == "[0.33]"
        assert done(author.run(source, "two")) == {"one": "prune", "two": "load"}
    assert author.run(source, "two")["two"] == "[0.33333333]"


def test_a_value_without_a_form_is_computed_each_time_and_its_readers_are_not(author: Author) -> None:
    source = "@step\ndef a(): return {1, 2}\n@step\ndef b(a): return sum(a)\n"
    first = author.run(source, "b")
    assert "a builtins.set has no exact and safe form" in first.reasons["a"]
    assert done(author.run(source, "b")) == {"a": "prune", "b": "load"}
    assert author.run(source, "a")["a"] == {1, 2}


def test_a_damaged_value_is_computed_again(author: Author) -> None:
    source = TWO.replace("{}", "1")
    author.run(source, "two")
    for file in (author.folder / "values").iterdir():
        file.chmod(0o644)
        file.write_bytes(file.read_bytes()[:-1] + b"9")
    again = author.run(source, "two")
    assert again["two"] == 21
    assert "compute" in done(again).values()


def test_a_value_that_is_gone_is_computed_again(author: Author) -> None:
    source = TWO.replace("{}", "1")
    author.run(source, "two")
    for file in (author.folder / "values").iterdir():
        file.unlink()
    assert author.run(source, "two")["two"] == 21


@pytest.mark.parametrize("what", ["records", "worth.json"])
def test_damaged_records_are_none(author: Author, what: str) -> None:
    source = TWO.replace("{}", "1")
    author.run(source, "two")
    place = author.folder / what
    for file in place.iterdir() if place.is_dir() else [place]:
        file.chmod(0o644)
        file.write_bytes(file.read_bytes().replace(b"two", b"tow")[:-20])
    assert author.run(source, "two")["two"] == 21


def test_what_is_kept_stays_within_the_budget(tmp_path: Path) -> None:
    author = Author(tmp_path / "steps", budget=100)
    for number in range(6):
        author.run(f"@step\ndef one(): return 'x' * {50 + number}\n", "one")
    sizes = [file.stat().st_size - 32 for file in (author.folder / "values").iterdir()]
    assert sum(sizes) <= 100
    assert sizes


def test_without_a_budget_half_of_all_that_was_computed_is_kept_and_the_pipeline_as_it_is(author: Author) -> None:
    source = "@step\ndef one(): return '{}' * 400_000\n@step\ndef two(one): return len(one)\n"
    for number in range(9):
        author.run(source.replace("{}", str(number)), "two")
    sizes = [file.stat().st_size for file in (author.folder / "values").iterdir()]
    assert 1_100_000 < sum(sizes) <= 9 * 401_000 // 2
    assert done(author.run(source.replace("{}", "8"), ["one", "two"])) == {"one": "load", "two": "load"}
    assert done(author.run(source.replace("{}", "7"), "one")) == {"one": "load"}  # undone
    large = source.replace("400_000", "9_000_000").replace("{}", "1")
    assert done(author.run(large, "two")) == {"one": "compute", "two": "compute"}
    assert done(author.run(large, "one")) == {"one": "load"}  # more than half, but half of the work, too


ROWS = "@step(returns='query')\ndef q(t): return f'sorted({t}) + [{}]'\n"


def test_rows_are_saved_once_for_each_state_of_a_table(author: Author) -> None:
    author.store.change("t", [3, 1], version=1)
    first = author.run(ROWS.replace("{}", "5"), "q")
    assert author.store.places[first["q"]] == [1, 3, 5]
    assert done(author.run(ROWS.replace("{}", "5"), "q")) == {"q": "load"}
    author.store.change("t", [4], version=2)
    second = author.run(ROWS.replace("{}", "5"), "q")
    assert author.store.places[second["q"]] == [4, 5]
    author.store.change("t", [3, 1], version=1)
    back = author.run(ROWS.replace("{}", "5"), "q")
    assert (back["q"], done(back)) == (first["q"], {"q": "load"})


def test_rows_of_a_table_that_only_the_text_names_count_too(author: Author) -> None:
    source = "@step(returns='query')\ndef q(): return 'sorted(t)'\n"
    author.store.change("t", [3, 1])
    author.run(source, "q")
    author.store.change("t", [9])
    assert author.store.places[author.run(source, "q")["q"]] == [9]


def test_rows_of_chance_have_one_place(author: Author) -> None:
    author.store.change("t", [1])
    source = ROWS.replace("(returns", "(chance=True, returns").replace("{}", "5")
    for _ in range(3):
        author.run(source, "q")
    assert list(author.store.places) == ["step_q_again"]


def test_rows_that_nobody_asked_for_go_if_they_are_not_worth_keeping(author: Author) -> None:
    author.store.change("t", [1])
    source = ROWS.replace("{}", "5") + "@step(returns='query')\ndef r(q): return f'{q} + [1]'\n"
    with patch.object(running, "_microseconds", lambda begun: 0):
        outcome = author.run(source, "r")
    assert list(author.store.places) == [outcome["r"]]


VALUES: list[Any] = [
    *(None, True, 0, -(10**50), 1.5, -0.0, float("inf"), "a\ud800", b"\0", (), [], {}, (1, [2, {"a": b"x"}])),
    {1: "int", "1": "text", True and (1,): None},
    {"weights": np.arange(6.0).reshape(2, 3), "names": ("a",)},
    *(np.array(3), np.zeros((0, 2), "i1"), np.asfortranarray(np.ones((2, 3))), np.array(["a", "bc"])),
    np.zeros(2, dtype=[("a", "i4"), ("b", "f8", (2,))]),
    np.array(["2020-01-01"], dtype="M8[D]"),
]


@pytest.mark.parametrize("value", VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    form, data = written(value) or ("", b"")
    back = read_back(form, data)
    assert (type(back), repr(back)) == (type(value), repr(value))
    if isinstance(value, np.ndarray):
        assert (back.dtype, back.flags.f_contiguous) == (value.dtype, value.flags.f_contiguous)


def test_an_arrow_table_comes_back_as_it_was() -> None:
    import pyarrow as pa  # noqa: PLC0415

    table = pa.table({"a": pa.array([1, None], pa.int16()), "b": ["x", "y"]}).replace_schema_metadata({"k": "v"})
    form, data = written(table) or ("", b"")
    assert read_back(form, data).equals(table, check_metadata=True)


class OwnInt(int):
    """A subclass would come back as an int."""


SHARED = [1]


@pytest.mark.parametrize(
    "value",
    [{1}, 1j, OwnInt(1), object(), lambda: 1, [SHARED, SHARED], np.array([{}], dtype=object), np.ma.array([1]),
     np.arange(6)[::2], [OwnInt(1)], {OwnInt(1): 1}],
)  # fmt: skip
def test_a_value_that_would_come_back_as_another_has_no_form(value: Any) -> None:
    assert written(value) is None


def test_a_circle_has_no_form() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert written(circle) is None


def stale(count: int, seed: int, folder: Path) -> tuple[list[str], int]:
    costs = random.Random(seed)
    cost = lambda *_: costs.randint(0, 10**6)  # noqa: E731
    with patch.object(running, "_microseconds", cost), patch.object(running, "_time_to_read", cost):
        return stale_answers(count, seed, folder)


@pytest.mark.slow
def test_no_answer_of_edited_pipelines_is_stale(tmp_path: Path) -> None:
    wrong, loaded = stale(12, 62, tmp_path)
    assert wrong == []
    assert loaded > 20


@pytest.mark.long
def test_no_answer_of_more_edited_pipelines_is_stale(tmp_path: Path) -> None:
    assert stale(150, 52, tmp_path)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["forward_lineage.steps.reached_code._put_all_reads"])
def test_without_the_globals_answers_would_be_stale(tmp_path: Path, what: str) -> None:
    with patch(what, lambda *_: None):
        assert stale(12, 62, tmp_path)[0]


def test_a_killed_process_leaves_what_had_ended(author: Author) -> None:
    source = TWO.replace("return one + {}", "return one + 1 if not KILL else os.kill(os.getpid(), 9)")
    source = f"import os\nKILL = True\n{source}"
    program = (
        "import sys\nfrom pathlib import Path\nfrom tests.forward_lineage.steps.test_pipeline import Author, running\n"
        "running._microseconds = lambda begun: 10**6\nrunning._time_to_read = lambda form, data: 0\n"
        "Author(Path(sys.argv[1])).run(sys.argv[2], 'two')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(author.folder), source], cwd=WHOLE, check=False)
    assert ended.returncode == -9
    again = author.run(source.replace("KILL = True", "KILL = False"), "two")
    assert (again["two"], done(again)) == (21, {"one": "load", "two": "compute"})


def test_a_pipeline_of_steps_that_were_defined_again_is_refused(author: Author) -> None:
    pipeline = author.pipeline(TWO.replace("{}", "1"))
    exec("@step\ndef two(one): return one + 2", vars(sys.modules["user_pipeline"]))
    with pytest.raises(BadArgumentError, match="step two was defined again"):
        pipeline.run("two")


def test_of_many_records_the_oldest_that_keep_nothing_are_forgotten(tmp_path: Path) -> None:
    shelf = Shelf(LocalFolder(tmp_path), most=10)
    for number in range(30):
        shelf.keep(Record("s", f"{number:064}", form="json" if number == 0 else "", at=number), b"1")
    assert len(shelf.records) <= 11
    assert shelf.value(shelf.records[f"{0:064}"]) == 1
    assert set(Shelf(LocalFolder(tmp_path)).records) == set(shelf.records)


def test_names_of_steps() -> None:
    with pytest.raises(BadArgumentError, match="not the name of a step"):
        step(name="a b")(lambda: 1)
    with pytest.raises(BadArgumentError, match="two steps a"):
        Pipeline([step(name="a")(lambda: 1), step(name="a")(lambda: 2)], None, None)  # type: ignore[arg-type]
    with pytest.raises(BadArgumentError, match="Name each thing"):
        step(name="a")(lambda *xs: 1)
    with pytest.raises(BadArgumentError, match="is no step"):
        Pipeline([lambda: 1], None, None)  # type: ignore[list-item]
