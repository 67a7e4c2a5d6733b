"""`forward-lineage rewrite` and what all commands have in common."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from py4j.protocol import Py4JNetworkError

from forward_lineage import Catalog, rewrite_sql
from forward_lineage.cli import main
from forward_lineage.frontend import layout
from tests.forward_lineage.row_ids.conftest import write

CATALOG = {
    "store": {"columns": ["s_id", "s_name"], "key": "s_id"},
    "sales": {"columns": ["t_id", "s_id", "num"], "key": "t_id"},
}


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(CATALOG))
    return path


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def test_ids_of_saved_results_have_no_text(catalog: Path) -> None:
    done = run("rewrite", "-", "--catalog", catalog, stdin="select * from backward(r where n > 1, sales)")
    assert done.exit_code == 1
    assert "(line 1, column 15)" in done.stderr
    assert "forward-lineage run" in done.stderr


def test_the_rewritten_sql_is_laid_out(catalog: Path) -> None:
    sql = "select s_name, sum(num) n from store join sales using (s_id) group by s_name"
    done = run("rewrite", "-", "--catalog", catalog, stdin=sql)
    assert done.exit_code == 0
    rewritten = rewrite_sql(sql, Catalog.from_json(catalog))
    assert done.stdout == layout(rewritten) + "\n"
    assert done.stdout.count("\n") > 5, "in several lines"
    assert done.stdout.replace(" ", "").replace("\n", "") == rewritten.replace(" ", "")


def test_a_file_and_a_folder_of_parquet(tmp_path: Path) -> None:
    write(tmp_path / "data" / "t.parquet", [1, 2])
    (tmp_path / "q.sql").write_text("SELECT v FROM t")
    done = run("rewrite", tmp_path / "q.sql", "--catalog", tmp_path / "data")
    assert done.exit_code == 0
    assert f"parquet.`{tmp_path}/data/t.parquet`" in done.stdout
    assert "_metadata.row_index AS __dl_t" in done.stdout


def test_control_semantics(catalog: Path) -> None:
    sql = "SELECT s_name FROM store WHERE s_id IN (SELECT s_id FROM sales)"
    data = run("rewrite", "-", "--catalog", catalog, stdin=sql).stdout
    control = run("rewrite", "-", "--catalog", catalog, "--semantics", "control", stdin=sql).stdout
    assert "'sales'" not in data
    assert "'sales'" in control


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        (
            "SELECT * FROM stor",
            "Error: stor is not a registered table (line 1, column 15). "
            "Did you mean store? Or register it: forward-lineage register stor ….",
        ),
        ("SELECT s_nam FROM store", "Error: unknown column s_nam (line 1, column 8). Did you mean s_name?"),
        ("", "Error: there is no SQL here. Give one statement, for example SELECT * FROM sales."),
    ],
)
def test_errors_are_one_line_on_stderr(catalog: Path, sql: str, line: str) -> None:
    done = run("rewrite", "-", "--catalog", catalog, stdin=sql)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", line + "\n")


def test_files_that_are_not_there(catalog: Path, tmp_path: Path) -> None:
    done = run("rewrite", tmp_path / "nope.sql", "--catalog", catalog)
    assert (done.exit_code, done.stderr) == (
        1,
        f"Error: {tmp_path}/nope.sql cannot be read: No such file or directory. "
        "Give a text file with one statement, or - for standard input.\n",
    )
    done = run("rewrite", "-", "--catalog", tmp_path / "nope.json", stdin="SELECT 1")
    assert (done.exit_code, done.stderr) == (
        1,
        f"Error: there is no catalog file {tmp_path}/nope.json. "
        "Give a JSON file of tables by name, or a folder of Parquet files.\n",
    )


def test_wrong_usage_is_exit_code_2(catalog: Path) -> None:
    for arguments in (["rewrite"], ["rewrite", "-", "--semantics", "why"], ["nope"], ["rewrite", "-", "--nope"]):
        assert run(*arguments).exit_code == 2, arguments
    assert run("ids", "-", "--order-by", "lineitem", stdin="SELECT 1").exit_code == 2


def test_help_names_the_commands() -> None:
    done = run("--help")
    assert done.exit_code == 0
    for command in ("demo", "rewrite", "run", "ids", "kernel"):
        assert f"\n  {command} " in done.stdout


def test_registered_tables_are_the_default_catalog(tmp_path: Path) -> None:
    done = run("rewrite", "-", "--home", tmp_path, stdin="SELECT 1 FROM t")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: t is not a registered table (line 1, column 15).")


def test_kernel_writes_the_jar(tmp_path: Path) -> None:
    done = run("kernel", "--output", tmp_path / "sub" / "kernel.jar")
    assert done.exit_code == 0
    assert Path(done.stdout.strip()) == tmp_path / "sub" / "kernel.jar"
    assert (tmp_path / "sub" / "kernel.jar").read_bytes()[:2] == b"PK"


@pytest.mark.parametrize("error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111)])
def test_the_end_of_sparks_process_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    @click.command()
    def ask_java() -> None:
        raise error

    monkeypatch.setitem(main.commands, "ask-java", ask_java)
    done = run("ask-java")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: Spark's Java process has ended")
    assert done.stderr.count("\n") == 1


def test_a_reader_who_has_gone_is_not_the_end_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """`forward-lineage … | head`: click ends such a command without a word."""

    @click.command()
    def print_much() -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setitem(main.commands, "print-much", print_much)
    assert run("print-much").stderr == ""
