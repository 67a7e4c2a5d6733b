"""The commands of the lineage store, over the paper's store example."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli.answers import FOUND
from forward_lineage.cli.pictures import pipeline_picture, row_picture
from tests.forward_lineage.cli.in_this_process import invoke
from tests.forward_lineage.conftest import make_store_tables, with_store_tables
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views

PER_ITEM = "SELECT i_name, sum(num) AS num FROM item JOIN sales USING (i_id) GROUP BY i_name ORDER BY i_name"
LARGE = "SELECT i_name FROM per_item WHERE num > 2000 ORDER BY i_name"
CITIES = "SELECT city FROM store ORDER BY city"

Run = Callable[..., Result]


def commands(store: ForwardLineage) -> Run:
    """Run commands in the session that has the paper's tables."""

    def run(*arguments: object, stdin: str | None = None) -> Result:
        return invoke(store.spark, *arguments, "--home", store.home, stdin=stdin)

    return run


def save_all(run: Run) -> Run:
    """Save two results, one made of the other, and one beside them."""
    for name, sql in (("per_item", PER_ITEM), ("large", LARGE), ("cities", CITIES)):
        done = run("save", "-", name, stdin=sql)
        assert done.exit_code == 0, done.stderr
    return run


@pytest.fixture
def run(store: ForwardLineage) -> Run:
    """Commands on a home where nothing is saved."""
    return commands(store)


@pytest.fixture(scope="module")
def three(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """The three results, saved once."""
    folder = tmp_path_factory.mktemp("three")
    return Prepared(folder, spark, lambda lineage: save_all(commands(with_store_tables(lineage))))


@pytest.fixture
def changed(spark: SparkSession, three: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    """The three results, for tests that change them."""
    make_store_tables(spark)
    yield ForwardLineage(spark, three.copy(tmp_path / "home"))
    drop_views(spark)


@pytest.fixture
def fresh(changed: ForwardLineage) -> Run:
    """Commands on the home of `changed`."""
    return commands(changed)


@pytest.fixture(scope="module")
def shared(spark: SparkSession, three: Prepared, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """The three results for tests that only ask."""
    session = spark.newSession()
    make_store_tables(session)
    return ForwardLineage(session, three.copy(tmp_path_factory.mktemp("shared") / "home"))


@pytest.fixture
def saved(shared: ForwardLineage) -> Run:
    """Commands on the shared home."""
    return commands(shared)


def objects(done: Result) -> list[dict]:
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def lines(done: Result) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_consuming_queries_are_run_and_saved(fresh: Run) -> None:
    rows = "FROM BACKWARD(large WHERE i_name = 'pencil', sales)"
    done = fresh("run", "-", "--json", stdin=f"SELECT t_id, num {rows}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((row["t_id"], row["DL"]) for row in found) == [(2, {"sales": [2]}), (5, {"sales": [5]})]
    assert fresh("save", "-", "again", stdin=f"SELECT count(*) AS n {rows}").exit_code == 0
    asked = fresh("backward", "again", "--json")
    assert sorted(json.loads(line)["t_id"] for line in asked.stdout.splitlines()) == [2, 5]


def test_save_says_what_it_saved(run: Run) -> None:
    for version in (1, 2):
        done = run("save", "-", "per_item", stdin=PER_ITEM)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.startswith(f"saved per_item, version {version}: 5 rows, lineage in item, sales (")


def test_save_with_questions_in_mind(fresh: Run, tmp_path: Path) -> None:
    asked = tmp_path / "asked.sql"
    asked.write_text("SELECT count(*) AS n FROM BACKWARD(mine WHERE i_name = :i, sales) WHERE num > 1 AND s_id = :s;")
    done = fresh("save", "-", "mine", "--workload", asked, stdin=PER_ITEM)
    assert "lineage in sales (" in done.stdout and "partitioned by `s_id`" in done.stdout, done.output
    listed = fresh("ls").stdout
    assert "item (not captured)" in listed and "sales (in part)" in listed
    done = fresh(
        "save", "-", "mine", "--tables", "sales", "--where", "sales=num > 1", "--capture", "later", stdin=PER_ITEM
    )
    assert "lineage in no table (0 bytes), later in sales" in done.stdout, done.output
    assert fresh("capture", "mine").stdout == "captured the lineage of mine, version 2\n"
    done = fresh("save", "-", "mine", "--partition-by", "sales", stdin=PER_ITEM)
    assert done.exit_code == 2 and "is not TABLE=SQL" in done.stderr
    assert json.loads(fresh("ls", "mine", "--json").stdout.splitlines()[-1])["tables"]["sales"]["captured"] == "later"
    assert fresh("drop", "mine").exit_code == 0


def test_a_name_that_is_taken(saved: Run) -> None:
    done = saved("save", "-", "per_item", "--mode", "error", stdin=PER_ITEM)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ") and "per_item" in done.stderr and done.stderr.count("\n") == 1


def test_backward(saved: Run) -> None:
    done = saved("backward", "per_item", "--where", "i_name = 'binder'", "--table", "sales")
    assert lines(done) == ["row_id t_id s_id i_id price num", "1 1 1 1 4 1000", "4 4 2 1 5 800"]
    through = saved("backward", "large", "--rows", "1", "--table", "sales", "--json")
    assert [row["t_id"] for row in objects(through)] == [2, 5]


def test_forward(saved: Run) -> None:
    assert objects(saved("forward", "sales", "--where", "t_id = 4", "--result", "per_item", "--json")) == [
        {"row_id": 0, "i_name": "binder", "num": 1800}
    ]
    done = saved("forward", "sales", "--ids", "2,5", "--result", "large")
    assert lines(done) == ["row_id i_name", "1 pencil"]


def test_answers_are_cut_on_a_terminal_and_whole_in_json(saved: Run) -> None:
    done = saved("backward", "per_item", "--table", "sales", "--limit", "2")
    assert lines(done)[-1] == "the first 2 rows; --limit shows more"
    assert len(objects(saved("backward", "per_item", "--table", "sales", "--json"))) == 11
    assert len(objects(saved("backward", "per_item", "--table", "sales", "--json", "--limit", "2"))) == 2


def test_impact(saved: Run) -> None:
    done = saved("impact", "sales", "--ids", "2")
    assert lines(done) == [
        "result touched of path",
        "per_item 1 5 sales → per_item",
        "large 1 3 sales → per_item → large",
    ]
    assert objects(saved("impact", "sales", "--where", "t_id = 2", "--json"))[1] == {
        "result": "large",
        "rows_touched": 1,
        "rows": 3,
        "path": "sales → per_item → large",
    }


def test_impact_with_rows(saved: Run) -> None:
    shown = lines(saved("impact", "sales", "--ids", "2", "--rows"))
    assert shown[4:] == ["per_item", "row_id i_name num", "2 pencil 5000", "", "large", "row_id i_name", "1 pencil"]
    assert objects(saved("impact", "sales", "--ids", "2", "--rows", "--json")) == [
        {"result": "per_item", "row": {"row_id": 2, "i_name": "pencil", "num": 5000}},
        {"result": "large", "row": {"row_id": 1, "i_name": "pencil"}},
    ]


@pytest.mark.parametrize(
    "question",
    [
        ["forward", "sales", "--where", "t_id = 99", "--result", "per_item"],
        ["backward", "per_item", "--where", "false", "--table", "sales"],
        ["impact", "sales", "--where", "t_id = 99"],
        ["stale"],
    ],
)
def test_nothing_is_an_answer(saved: Run, question: list[str]) -> None:
    for done in (saved(*question), saved(*question, "--exit-code")):
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (0, "", 1), question
    assert saved(*question, "--json").stdout == ""


def test_exit_code_tells_that_there_is_something(saved: Run) -> None:
    for question in (
        ["forward", "sales", "--ids", "1", "--result", "per_item"],
        ["backward", "per_item", "--rows", "0", "--table", "sales"],
        ["impact", "sales", "--ids", "1"],
    ):
        assert saved(*question).exit_code == 0
        assert saved(*question, "--exit-code").exit_code == FOUND


def test_stale_names_what_has_changed(fresh: Run) -> None:
    fresh("save", "-", "per_item", stdin=PER_ITEM)
    assert lines(fresh("stale"))[1:] == ["large per_item 1 2"]
    assert fresh("stale", "--exit-code").exit_code == FOUND


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (["backward", "nothing"], "there is no saved result nothing"),
        (["backward", "per_item"], "per_item was made of item, sales. Say which"),
        (["backward", "per_item", "--table", "cities"], "per_item was not made of cities"),
        (["backward", "per_item", "--rows", "7", "--table", "sales"], "per_item has no row 7"),
        (["backward", "per_item", "--where", "nope = 1", "--table", "sales"], "nope"),
        (["forward", "sales", "--where", "t_id = 1", "--ids", "1", "--result", "large"], "Give one of them"),
        (["forward", "sales", "--result", "nothing"], "there is no saved result nothing"),
        (["impact", "nothing"], "nothing is not registered"),
        (["drop", "nothing"], "there is no saved result nothing"),
        (["ls", "nothing"], "there is no saved result nothing"),
        (["save", "no_such_file.sql", "x"], "no_such_file.sql cannot be read"),
        (["graph", "-o", "picture.doc"], "picture.doc is not the name of a picture"),
    ],
)
def test_bad_input_is_one_line(saved: Run, question: list[str], says: str) -> None:
    done = saved(*question)
    assert (done.exit_code, done.stdout) == (1, ""), question
    assert done.stderr.startswith("Error: ") and says in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("numbers", ["x", "1,", "7-4", "-1", ""])
def test_numbers_that_are_none(run: Run, numbers: str) -> None:
    assert run("forward", "sales", f"--ids={numbers}", "--result", "x").exit_code == 2


def test_ls(saved: Run) -> None:
    listed = lines(saved("ls"))
    assert [line.split()[:3] for line in listed[1:]] == [
        ["cities", "1", "4"],
        ["large", "1", "3"],
        ["per_item", "1", "5"],
    ]
    one = objects(saved("ls", "per_item", "--json"))
    assert one[0]["tables"]["sales"]["pairs"] == 11 and one[0]["sql"] == PER_ITEM
    assert PER_ITEM in saved("ls", "per_item").stdout.replace("\n", " ")


def test_ls_of_an_empty_home(run: Run) -> None:
    done = run("ls")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "Nothing is saved yet.\n")


def test_drop(fresh: Run) -> None:
    assert fresh("drop", "cities").stdout == "dropped cities\n"
    assert [each["result"] for each in objects(fresh("ls", "--json"))] == ["large", "per_item"]


def test_a_picture_of_the_pipeline(saved: Run, shared: ForwardLineage, tmp_path: Path) -> None:
    done = saved("graph", "--impact", "sales where t_id = 2", "-o", tmp_path / "impact.svg")
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/impact.svg\n"), done.stderr
    assert ElementTree.parse(tmp_path / "impact.svg").getroot().tag.endswith("svg")
    texts = [text.get_text() for text in pipeline_picture(shared, "sales", "t_id = 2").axes.texts]
    assert texts.count("1 suspected") == 1 and texts.count("1 touched") == 2 and texts.count("not touched") == 1
    assert {"item", "sales", "store", "per_item", "large", "cities"} <= set(texts)
    assert not any("touched" in text.get_text() for text in pipeline_picture(shared).axes.texts)


def test_a_picture_shows_older_versions_that_are_still_read(fresh: Run, changed: ForwardLineage) -> None:
    fresh("save", "-", "per_item", stdin=PER_ITEM)
    texts = [text.get_text() for text in pipeline_picture(changed).axes.texts]
    assert {"per_item", "per_item, version 1", "stale: an input has changed"} <= set(texts)


def test_a_picture_of_rows(saved: Run, shared: ForwardLineage, tmp_path: Path) -> None:
    done = saved("graph", "--result", "per_item", "--row", "0,2", "--table", "sales", "-o", tmp_path / "row.svg")
    assert done.exit_code == 0, done.stderr
    texts = {text.get_text() for text in row_picture(shared, "per_item", [0, 2], "sales").axes.texts}
    assert {"Lineage of rows 0, 2 of per_item on sales", "row 0", "row 2", "2 ids"} <= texts


@pytest.mark.parametrize(
    "options",
    [
        ["--result", "per_item"],
        ["--row", "1"],
        ["--impact", "sales t_id = 1"],
        ["--impact", "sales where"],
        ["--impact", "sales", "--result", "per_item", "--row", "1"],
    ],
)
def test_pictures_of_what(run: Run, tmp_path: Path, options: list[str]) -> None:
    assert run("graph", "-o", tmp_path / "x.svg", *options).exit_code == 2
    assert not (tmp_path / "x.svg").exists()
