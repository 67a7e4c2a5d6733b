"""Mistakes that need no Spark to be seen are reported before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import check_condition
from tests.forward_lineage.cli.in_this_process import without_spark
from udafs.errors import WrongSqlError

QUERY = "SELECT 1 AS one"


def error_of(*words: object) -> str:
    done = without_spark(*words)
    assert done.exit_code == 1, (done.exit_code, done.stdout, done.stderr)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr.removeprefix("Error: ").rstrip("\n")


@pytest.mark.parametrize("command", [["run"], ["save", "x"], ["rewrite"], ["affected"]])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no SQL in"),
        ("-- none\n;", "there is no SQL in"),
        ("SELECT 1; SELECT ';'", "holds 2 statements."),
    ],
)
def test_a_file_must_hold_one_statement(tmp_path: Path, command: list[str], text: str, says: str) -> None:
    file = tmp_path / "two.sql"
    file.write_text(text)
    options = ["--table", "t", "--where", "a = 1"] if command[0] == "affected" else []
    home = ["--home", tmp_path]
    assert says in error_of(command[0], file, *command[1:], *options, *home)


@pytest.mark.parametrize(
    "where",
    ["customer_id = '77'x", "abs(a) =", "(customer_id = '77'x)", "a) OR (b", "a) GROUP BY (b", "a; DROP TABLE t", ""],
)
def test_a_broken_condition_is_no_condition(tmp_path: Path, where: str) -> None:
    file = tmp_path / "query.sql"
    file.write_text(QUERY)
    said = error_of("affected", file, "--table", "t", "--where", where, "--home", tmp_path)
    assert "is not a condition" in said
    with pytest.raises(WrongSqlError):
        check_condition(where)


@pytest.mark.parametrize(
    "where", ["a = 1", "`a b` LIKE 'x' -- why", "a IN (SELECT b FROM u)", "NOT (a <=> NULL)", "exists(c, x -> x > 1)"]
)
def test_conditions_that_are_conditions(where: str) -> None:
    check_condition(where)


@pytest.mark.parametrize(
    "words",
    [["ls"], ["ls", "--tables"], ["stale"], ["impact", "t"], ["backward", "r"], ["forward", "t", "--result", "r"]],
)
def test_a_home_that_is_named_must_be_there(tmp_path: Path, words: list[str]) -> None:
    said = error_of(*words, "--home", tmp_path / "nowhere")
    assert said.startswith(f"there is no home {tmp_path / 'nowhere'}. Check --home")


def test_a_wrong_constraint(tmp_path: Path) -> None:
    assert "zip" in error_of("profile", "t", "zip ->", "--catalog", tmp_path)


@pytest.mark.parametrize(
    ("view", "says"),
    [
        ("SELECT item, median(amount) FROM sales GROUP BY 1", "the aggregate median in a view (line 2, column 14)"),
        (
            "SELECT item, count(*) AS n FROM sales JOIN shops USING (shop) GROUP BY item",
            "table sales is not registered",
        ),
        ("SELECT item FROM (SELECT 1 AS item) GROUP BY item", "a view over something else than a table (line 2,"),
        ("SELECT item, count(*) AS n FROM sails GROUP BY item", "sails is not registered (line 2, column 1)"),
        ("TABLE worst", "there is no saved result worst (line 2, column 1)"),
    ],
)
def test_a_view_that_a_page_refuses(tmp_path: Path, view: str, says: str) -> None:
    (tmp_path / "views.sql").write_text(f"-- name: a\n{view};")
    said = error_of("explore", tmp_path / "views.sql", "--home", tmp_path)
    assert said.startswith(f"{tmp_path / 'views.sql'}: ") and says in said


def test_a_table_that_has_changed(spark: SparkSession, tmp_path: Path) -> None:
    place, query = tmp_path / "shelf.parquet", tmp_path / "query.sql"
    pq.write_table(pa.table({"a": [1, 2]}), place)
    ForwardLineage(spark, tmp_path / "home").register("shelf", path=place)
    pq.write_table(pa.table({"a": [1, 2, 3]}), place)
    query.write_text("WITH other AS (SELECT a FROM Shelf) SELECT a FROM other")
    changed = f"the ids of table shelf no longer hold: {place} has grown"
    for words in (["affected", query, "--table", "shelf", "--where", "a = 1"], ["run", query], ["save", query, "x"]):
        assert error_of(*words, "--home", tmp_path / "home").startswith(changed)
    query.write_text("WITH shelf AS (SELECT 1 AS a) SELECT a FROM shelf")
    with pytest.raises(AssertionError, match="Spark was started"):
        without_spark("run", query, "--home", tmp_path / "home")


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A folder of Parquet files: one table, nation."""
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(pa.table({"n_name": ["PERU"], "n_key": [1]}), folder / "nation.parquet")
    return folder


@pytest.mark.parametrize("command", [["run"], ["save", "x"], ["ids"]])
@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("selct n_name FROM nation", "no statement begins with selct. Did you mean SELECT?"),
        ("SELECT n_name, FROM nation", "SQL that is not understood from `, FROM nation` on"),
        ("SELECT n_name FORM nation", "malformed SQL near `nation`"),
        ("SELECT n_name FROM nations", "table nations is not registered (line 1, column 20)."),
        (
            "WITH a AS (SELECT 1 AS b) SELECT (SELECT max(b) FROM c) FROM a",
            "table c is not registered (line 1, column 54)",
        ),
    ],
)
def test_a_query_that_cannot_be_right(tmp_path: Path, catalog: Path, command: list[str], sql: str, says: str) -> None:
    (tmp_path / "query.sql").write_text(sql)
    home = ["--home", tmp_path, "--catalog", catalog]
    assert error_of(command[0], tmp_path / "query.sql", *command[1:], *home).startswith(says)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r, Nation",
        "SELECT count(*) FROM range(3) AS t, LATERAL (SELECT t.id) AS u, nation LATERAL VIEW explode(array(1)) v AS w",
        "SELECT 1 FROM parquet.`/x/y.parquet`, VALUES (1) AS t(a), spark_catalog.default.sales",
        "FROM nation |> WHERE n_key = 1 |> SELECT n_name",
        "SELECT n_name FROM nation LINEAGE ON nation (n_key)",
        "SELECT count(*) FROM BACKWARD(report, sales)",
        "CREATE TABLE t AS SELECT * FROM unknown",
        "SHOW TABLES",
        "CALL other.run()",
    ],
)
def test_what_only_spark_can_tell(tmp_path: Path, catalog: Path, sql: str) -> None:
    (tmp_path / "query.sql").write_text(sql)
    with pytest.raises(AssertionError, match="Spark was started"):
        without_spark("run", tmp_path / "query.sql", "--home", tmp_path, "--catalog", catalog)


def test_a_spark_that_may_know_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "query.sql").write_text("SELECT a FROM of_hive")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(AssertionError, match="Spark was started"):
        without_spark("run", tmp_path / "query.sql", "--home", tmp_path)


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("SELECT 1")
    said = error_of("register", "x", "--path", tmp_path / "query.sql", "--home", tmp_path)
    assert said.startswith(f"{tmp_path / 'query.sql'} is no Parquet file. Name its format, as in --format csv")


@pytest.mark.parametrize("place", ["data", "data/nation.parquet"])
def test_a_key_that_is_no_column(tmp_path: Path, catalog: Path, place: str) -> None:
    says = "table x has no column nokey. It has n_key."
    words = ["register", "x", "--path", tmp_path / place, "--key", "nokey", "--home", tmp_path]
    assert error_of(*words) == says
    (tmp_path / "tables.toml").write_text(f'[x]\npath = "{place}"\nkey = "nokey"')
    assert error_of("register", "--catalog", tmp_path / "tables.toml", "--home", tmp_path) == says
    partition = tmp_path / "data" / "day=1"
    partition.mkdir()
    pq.write_table(pa.table({"n_key": [2]}), partition / "a.parquet")
    for name, key in (("data", "day"), ("data/nation.parquet", "N_KEY")):  # Spark knows more
        with pytest.raises(AssertionError, match="Spark was started"):
            without_spark("register", "x", "--path", tmp_path / name, "--key", key, "--home", tmp_path)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (["nokey"], "table x has no column nokey. It has a, b, the c."),
        (["a", "nokey"], "table x has no column nokey."),
        (["a,b"], "table x has no column a,b. Give each column of a key by itself: --key a --key b."),
    ],
)
def test_a_key_that_is_no_column_of_a_csv_file(tmp_path: Path, keys: list[str], says: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text('a,b,"the c"\n1,2,3\n')
    (tmp_path / "twice.csv").write_text("a,a, b\n1,2,3\n")
    words = ["register", "x", "--path", file, "--format", "csv", "--home", tmp_path / "home"]
    named = [word for key in keys for word in ("--key", key)]
    assert error_of(*words, "--option", "header=true", *named).startswith(says)
    for options in ((), ("--option", "header=true", "--option", "sep=;")):  # Spark knows what the columns are
        with pytest.raises(AssertionError, match="Spark was started"):
            without_spark(*words, *options, *named)
    for key in ("a1", " b"):
        twice = ["register", "x", "--path", tmp_path / "twice.csv", *words[4:], "--option", "header=true"]
        with pytest.raises(AssertionError, match="Spark was started"):
            without_spark(*twice, "--key", key)


SAVE = ("save", "q.sql", "x")
AFFECTED = ("affected", "q.sql", "--table")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((*AFFECTED, "nation", "--where", "n_nme = 'PERU'"), "table nation has no column n_nme. It has n_name, n_key."),
        ((*AFFECTED, "nations", "--where", "n_name = 'PERU'"), "table nations is not registered."),
        ((*SAVE, "--tables", "nation,nope"), "table nope is not registered."),
        ((*SAVE, "--where", "nation=n_nme = 1"), "table nation has no column n_nme."),
        ((*SAVE, "--where", "nation=n_key = 1 x"), "(n_key = 1 x) is not a condition."),
        ((*SAVE, "--partition-by", "nation=upper(n_nme)"), "table nation has no column n_nme."),
        ((*SAVE, "--cube", "nope=n_key"), "table nope is not registered."),
        (("profile", "nation", "key(n_key)", "key(n_ky)"), "table nation has no column n_ky, in `key(n_ky)`."),
        (("profile", "nation", "n_key -> n_nme"), "table nation has no column n_nme, in `n_key -> n_nme`."),
        (("profile", "nations", "key(n_key)"), "table nations is not registered."),
    ],
)
def test_a_column_or_table_that_is_not_there(
    tmp_path: Path, catalog: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text("SELECT n_name FROM nation")
    assert error_of(*words, "--home", tmp_path, "--catalog", catalog).startswith(says)


@pytest.mark.parametrize(
    "where",
    [
        "N_KEY = 1 AND `n_name` > nation.n_name AND _metadata.row_index > 2",
        "n_key IN (SELECT other FROM unknown) AND exists(array(n_key), x -> x > 1)",
        "n_name < current_date AND current_user > '' AND user > '' AND timestampdiff(MONTH, now(), n_name) > 1",
        "extract(DAY FROM n_name) > 1 AND n_name > DATE '2020-01-01' - INTERVAL 1 DAY",
        "trim(BOTH ' ' FROM n_name) > ''",
        "CAST(n_key AS STRING) RLIKE 'x' AND named_struct('a', n_key).a > 1 AND n_name['k'] > 1",
    ],
)
def test_names_that_are_no_columns_of_the_table(tmp_path: Path, catalog: Path, where: str) -> None:
    (tmp_path / "q.sql").write_text("SELECT n_name FROM nation")
    words = ["affected", tmp_path / "q.sql", "--table", "nation", "--where", where, "--home", tmp_path]
    with pytest.raises(AssertionError, match="Spark was started"):
        without_spark(*words, "--catalog", catalog)


def test_a_result_is_not_called_as_a_table(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(2).createOrReplaceTempView("taken")
    ForwardLineage(spark, tmp_path).register("taken", key="id")
    (tmp_path / "query.sql").write_text("SELECT 1")
    said = error_of("save", tmp_path / "query.sql", "Taken", "--home", tmp_path)
    assert said == "Taken is a registered table. Save the result under another name."


def test_a_command_that_is_misspelt() -> None:
    done = without_spark("impct")
    assert done.exit_code == 2 and "Did you mean impact?" in done.stderr
