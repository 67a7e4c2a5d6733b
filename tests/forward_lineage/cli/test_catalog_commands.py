"""register, refresh, unregister, affected, describe: one catalog, in the home, for the command line and for Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli import COMMANDS, main
from tests.forward_lineage.cli.in_this_process import good, invoke, without_spark

Run = Callable[..., Result]
PARTS = pa.table({"p_id": [3, 1, 2], "name": ["nut", "bolt", "nut"]})
TABLES = """\
[parts]
path = "parts.parquet"

[bolts]
path = "parts.parquet"
key = "p_id"

[sales]
path = "sales.csv"
format = "csv"
options = {header = true, inferSchema = true}

[days]
path = "days.json"
format = "json"
order_by = "day"

[stock]
path = "stock.orc"
format = "orc"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def write_data(folder: Path) -> Path:
    folder.mkdir()
    pq.write_table(PARTS, folder / "parts.parquet")
    (folder / "sales.csv").write_text("p_id,price\n1,10\n2,20\n2,5\n")
    (folder / "days.json").write_text('{"day": "2024-01-02"}\n{"day": "2024-01-01"}\n')
    orc.write_table(PARTS, folder / "stock.orc")
    (folder / "tables.toml").write_text(TABLES)
    return folder


@pytest.fixture
def run(spark: SparkSession, data: Path) -> Run:
    session = spark.newSession()
    return lambda *words, stdin=None: invoke(session, *words, "--home", data.parent / "home", stdin=stdin)


@pytest.fixture(scope="module")
def home_with_names(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has the table parts and the result names; beside it an empty folder, and data."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "empty").mkdir()
    write_data(folder / "data")
    session, home = spark.newSession(), folder / "home"
    good(invoke(session, "register", "parts", "--path", folder / "data" / "parts.parquet", "--home", home))
    good(invoke(session, "save", "-", "names", "--home", home, stdin="SELECT name FROM parts"))
    return home


def test_what_is_registered_here_python_knows_and_the_other_way_round(
    run: Run, data: Path, spark: SparkSession
) -> None:
    said = good(run("register", "parts", "--path", data / "parts.parquet"))
    assert said == "registered parts, version 1: 2 columns, 3 rows, ids by position in 1 file\n"
    home = data.parent / "home"
    lineage = ForwardLineage(spark.newSession(), home)
    assert lineage.tables().keys() == {"parts"}
    lineage.register("keyed", path=data / "parts.parquet", key="p_id")
    assert "keyed" in good(without_spark("ls", "--tables", "--home", home))
    rows = good(run("run", "-", "--json", stdin="SELECT name FROM keyed WHERE p_id = 1"))
    assert json.loads(rows) == {"name": "bolt", "DL": {"keyed": [1]}}


def test_a_catalog_file_has_tables_of_all_formats(run: Run, data: Path) -> None:
    said = good(run("register", "--catalog", data / "tables.toml")).splitlines()
    assert said == [
        "registered parts, version 1: 2 columns, 3 rows, ids by position in 1 file",
        "registered bolts, version 1: 2 columns, ids from p_id",
        "registered sales, version 1: 2 columns, 3 rows, ids by position in a copy",
        "registered days, version 1: 1 column, 2 rows, ids by position in a copy, ordered by day",
        "registered stock, version 1: 2 columns, 3 rows, ids by position in a copy",
    ]
    sql = "SELECT name, sum(price) AS price FROM sales JOIN stock USING (p_id) GROUP BY name ORDER BY name"
    rows = [json.loads(line) for line in good(run("run", "-", "--json", stdin=sql)).splitlines()]
    assert rows == [
        {"name": "bolt", "price": 10, "DL": {"sales": [0], "stock": [1]}},
        {"name": "nut", "price": 25, "DL": {"sales": [1, 2], "stock": [2]}},
    ]
    again = good(run("register", "--catalog", data / "tables.toml")).splitlines()
    assert again == said, "nothing has changed, nothing is copied again"


def test_options_as_arguments(run: Run, data: Path) -> None:
    words = ("register", "sales", "--path", data / "sales.csv", "--format", "csv", "--option", "header=true")
    assert "2 columns, 3 rows, ids by position in a copy" in good(run(*words))
    two = run("register", "two", "--path", data / "parts.parquet", "--key", "p_id", "--key", "name")
    assert two.exit_code == 1 and "--key needs a table or view that Spark knows" in two.stderr


def test_refresh_accepts_what_has_changed(run: Run, data: Path) -> None:
    good(run("register", "parts", "--path", data / "parts.parquet"))
    assert good(run("refresh", "parts")).startswith("unchanged parts, version 1")
    (data / "more").mkdir()
    pq.write_table(PARTS, data / "more" / "a.parquet")
    good(run("register", "more", "--path", data / "more"))
    pq.write_table(PARTS, data / "more" / "b.parquet")
    assert good(run("refresh", "more")).startswith("refreshed more, version 2: 2 columns, 6 rows")


def test_unregister_needs_no_spark(run: Run, data: Path) -> None:
    home = data.parent / "home"
    good(run("register", "parts", "--path", data / "parts.parquet"))
    good(run("save", "-", "names", stdin="SELECT name FROM parts"))
    assert good(without_spark("unregister", "PARTS", "--home", home)) == "unregistered parts\n"
    assert without_spark("ls", "--tables", "--home", home).stderr == "No table is registered yet.\n"
    refused = without_spark("unregister", "names", "--home", home)
    assert refused.stderr == "Error: names is a saved result. forward-lineage drop names forgets it.\n"
    good(run("register", "parts", "--path", data / "parts.parquet"))
    assert "version 3" in good(without_spark("describe", "parts", "--home", home)), "ids are not given again"


def test_affected(run: Run, data: Path) -> None:
    good(run("register", "parts", "--path", data / "parts.parquet"))
    sql = "SELECT name, count(*) AS n FROM parts GROUP BY name"
    words = ("affected", "-", "--table", "parts", "--where", "p_id = 2")
    assert json.loads(good(run(*words, "--json", stdin=sql))) == {"name": "nut", "n": 2, "DL": {"parts": [2]}}
    nothing = run(*words[:-1], "p_id = 9", "--exit-code", stdin=sql)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert run(*words, "--exit-code", stdin=sql).exit_code == 3


def test_describe_needs_no_spark(run: Run, data: Path) -> None:
    home = data.parent / "home"
    good(run("register", "--catalog", data / "tables.toml"))
    good(run("save", "-", "names", stdin="SELECT name FROM parts"))
    lines = good(without_spark("describe", "sales", "--home", home)).splitlines()
    assert [line.split()[0] for line in lines] == ["table", "from", "options", "ids", "rows", "columns"]
    assert lines[1].endswith("data/sales.csv (csv)") and "p_id int, price int" in lines[5]
    known = json.loads(good(without_spark("describe", "bolts", "--json", "--home", home)))
    assert (known["ids"], known["key"], known["columns"]) == ("key", ["p_id"], {"p_id": "bigint", "name": "string"})
    assert "SELECT name FROM parts" in good(without_spark("describe", "names", "--home", home))
    assert json.loads(good(without_spark("describe", "names", "--json", "--home", home)))["rows"] == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["graph", "-o", "x.gif"], "x.gif is not the name of a picture or a page. End it in .svg, .pdf, .png or .html"),
        (["graph", "-o", "x.svg", "--result", "nope", "--row", "1"], "there is no saved result nope. Saved: names."),
        (["graph", "-o", "x.svg", "--impact", "nope WHERE x = 1"], "nope is not registered"),
        (["backward", "nope"], "there is no saved result nope. Saved: names."),
        (["forward", "parts", "--result", "nope"], "there is no saved result nope"),
        (["capture", "nope"], "there is no saved result nope"),
        (["impact", "nope"], "table nope is not registered"),
        (["impact", "parts", "--where", "p_idd = 1"], "table parts has no column p_idd. It has p_id."),
        (["refresh", "nope"], "table nope is not registered"),
        (["affected", "-", "--table", "nope", "--where", "true"], "table nope is not registered"),
        (["affected", "nope.sql", "--table", "parts", "--where", "true"], "nope.sql cannot be read"),
        (["run", "nope.sql"], "nope.sql cannot be read"),
        (["run", "-", "--catalog", "nope.toml"], "there is no catalog file nope.toml"),
        (["run", "-", "--catalog", "nope.json"], "there is no catalog file nope.json"),
        (["run", "-", "--catalog", "."], "no Parquet file in ."),
        (["save", "-", "no name"], "'no name' cannot be the name of a saved result"),
        (["register", "parts", "--path", "x", "--source", "y"], "--path and --source both say"),
        (["register"], "name a table, or a catalog"),
        (["register", "x", "--path", "nope.parquet"], "there is no nope.parquet"),
        (
            ["register", "x", "--path", "../data/sales.csv"],
            "sales.csv is CSV by its name, and no Parquet file. Say so:",
        ),
        (["describe", "nope"], "table nope is not registered"),
        (["profile", "nope", "a -> b"], "table nope is not registered"),
    ],
)
def test_arguments_are_checked_before_spark_starts(
    home_with_names: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    """Nothing is written, so that all are tried in one home."""
    monkeypatch.chdir(home_with_names.parent / "empty")
    done = without_spark(*words, "--home", home_with_names)
    assert done.exit_code in (1, 2) and says in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a", "cannot be read as TOML"),
        ("a = 5", "the entry a of"),
        ('[a]\nfile = "x"', "says file, which register does not know"),
        ('[a.b]\npath = "x"', 'A name with a dot: ["a.b"].'),
        ("[a]\npath = 5", "says path = 5, which is not text or a list of texts"),
        ('[a]\npath = "x"\ntrusted = "yes"', "which is not true or false"),
        ('[a]\npath = "x"\nsource = "y"', "path= and source= both say"),
    ],
)
def test_a_catalog_file_that_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "tables.toml").write_text(text)
    done = without_spark("run", "-", "--catalog", tmp_path / "tables.toml", "--home", tmp_path / "home")
    assert done.exit_code == 1 and says in done.stderr, done.stderr


def test_a_catalog_file_can_be_rewritten_with_unless_spark_must_read_it(data: Path) -> None:
    (data / "query.sql").write_text("SELECT name FROM bolts JOIN parts USING (p_id)")
    (data / "two.toml").write_text(TABLES[: TABLES.index("[sales]")])
    rewritten = good(without_spark("rewrite", data / "query.sql", "--catalog", data / "two.toml"))
    assert "_metadata.row_index" in rewritten and "CAST(p_id AS BIGINT)" in rewritten
    refused = without_spark("rewrite", data / "query.sql", "--catalog", data / "tables.toml")
    assert "the entry sales of" in refused.stderr and "forward-lineage register --catalog" in refused.stderr


def test_a_folder_with_a_home_in_it_is_a_catalog_again_and_again(
    run: Run, data: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    monkeypatch.delenv("FORWARD_LINEAGE_HOME", raising=False)
    session = spark.newSession()
    for _ in range(2):
        done = invoke(session, "save", "-", "names", "--catalog", ".", stdin="SELECT name FROM parts")
        assert done.exit_code == 0, done.stderr
    assert (data / "lineage_home" / "results").is_dir()


def test_the_lines_of_help_are_those_of_the_commands() -> None:
    for name, said in COMMANDS.items():
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None and command.name == name
        whole = " ".join((command.help or "").replace("\b", "").split())
        assert whole.startswith(said.rstrip(".")), name
    done = CliRunner().invoke(main, ["--help"])
    assert all(name in done.stdout for name in COMMANDS)


def test_what_create_table_wrote_is_said(run: Run, data: Path, spark: SparkSession) -> None:
    good(run("register", "parts", "--path", data / "parts.parquet"))
    place = data / "written"
    said = good(
        run("run", "-", stdin=f"CREATE TABLE said_t USING parquet LOCATION '{place}' AS SELECT name FROM parts")
    )
    assert said == f"created said_t: 3 rows now, lineage in parts; its files are in {place}\n"
    assert good(run("run", "-", stdin="INSERT INTO said_t SELECT name FROM parts")).startswith(
        "wrote into said_t: 6 rows now, lineage in parts"
    )
    assert good(run("run", "-", stdin="CREATE TEMPORARY VIEW said_v AS SELECT name FROM parts")) == (
        "created the view said_v\n"
    )
    spark.sql("DROP TABLE said_t")
