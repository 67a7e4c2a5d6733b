r"""The shell in a real terminal: what is typed, completed, cancelled; and as a script."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pexpect
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prompt_toolkit.document import Document
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli.interactive.completing import ShellCompleter
from forward_lineage.cli.interactive.entries import UNFINISHED, Entry, entries, is_complete
from forward_lineage.cli.interactive.entry_runner import is_traced
from tests.conftest import REPOSITORY
from tests.forward_lineage.cli.in_this_process import invoke
from tests.spark_programs import interpreted

pytestmark = pytest.mark.slow

#: What a terminal is told when a prompt begins, and when what was typed there is accepted.
BEGINS, ENDS = "\x1b[?2004h", "\x1b[?2004l"
_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    sales = pa.table({"item": ["pen", "ink", "pen", "cap"], "price": pa.array([3, 5, 4, 9], pa.int64())})
    pq.write_table(sales, folder / "sales.parquet")
    lineage = ForwardLineage(spark.newSession(), folder / "home")
    lineage.register("sales", path=folder / "sales.parquet")
    lineage.save("SELECT item, sum(price) AS price FROM sales GROUP BY item", "per_item")
    return folder / "home"


class Terminal:
    """Somebody in front of the shell."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        environment = {
            **environment,
            "PYTHONPATH": str(REPOSITORY),
            "XDG_STATE_HOME": str(home.parent / "state"),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "NO_COLOR": "1",
        }
        words = ["-m", "forward_lineage", "shell", "--home", str(home), "--master", "local[1]"]
        self.child = pexpect.spawn(
            sys.executable, words, env=environment, encoding="utf-8", timeout=280, dimensions=(40, 120), cwd=home.parent
        )
        self.read()

    def read(self) -> str:
        """Read until the next prompt."""
        self.child.expect_exact(BEGINS)
        return _CODES.sub("", str(self.child.before))

    def type(self, text: str) -> str:
        """Type a line and return what is answered."""
        self.child.send(text + "\r")
        self.child.expect_exact(ENDS)
        return self.read()

    def keys(self, *keys: str) -> None:
        """Type slowly: a completion is given up when somebody goes on typing."""
        for each in keys:
            self.child.send(each)
            time.sleep(1)

    def end(self) -> int:
        self.child.send("\x04")
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)


@pytest.fixture
def terminal(home: Path) -> Iterator[Terminal]:
    found = Terminal(home, os.environ)
    yield found
    found.child.close(force=True)


@pytest.fixture
def terminal_with_spark(home: Path) -> Iterator[Terminal]:
    """For statements; its settings of SQL have Spark answer every question, too."""
    found = Terminal(home, interpreted(os.environ))
    yield found
    found.child.close(force=True)


@pytest.mark.parametrize(
    ("sql", "traced"),
    [
        (" select 1", True),
        ("ALTER TABLE t ADD COLUMNS (DL.news BINARY)", True),
        ("ALTER TABLE t ADD COLUMNS (x INT)", False),
        ("CREATE TEMP VIEW v AS SELECT 1", False),
        ("SET x = 1", False),
    ],
)
def test_which_statements_are_traced(sql: str, traced: bool) -> None:
    assert is_traced(sql) is traced


def test_questions_without_spark(terminal: Terminal, home: Path) -> None:
    assert "sales → per_item" in terminal.type(r"\impact sales where item = 'ink'")
    answer = terminal.type(r"\backward per_item where item = 'pen'")
    assert ["pen" in line for line in answer.splitlines()].count(True) >= 2
    assert re.search(r"\d\.\d+ s", answer)
    assert "Error: there is no saved result nothing. Saved: per_item." in terminal.type(r"\backward nothing")
    assert r"Did you mean \describe?" in terminal.type(r"\descrbe sales")
    assert "Error: " in terminal.type(r"\impact --nonsense sales")
    assert "sales, version 1" in terminal.type(r"\describe sales")
    assert not _javas(terminal.child.pid), "Spark was started"
    assert terminal.end() == 0
    assert "\\impact sales where item = 'ink'" in (home.parent / "state" / "forward_lineage" / "history").read_text()


def test_completion_at_the_prompt(terminal: Terminal) -> None:
    terminal.keys("\\imp", "\t", " sal", "\t", " where pri", "\t", " = 9", "\r")
    terminal.child.expect_exact("sales → per_item")
    terminal.read()
    terminal.keys("\\backw")
    terminal.child.sendintr()  # what was typed is thrown away
    terminal.read()
    assert "sales" in terminal.type(r"\tables")


@pytest.mark.timeout(900)
def test_statements_and_ctrl_c(terminal_with_spark: Terminal) -> None:
    terminal = terminal_with_spark
    terminal.child.send("SELECT item, count(*) AS n\r")
    answer = terminal.type("FROM sales GROUP BY item ORDER BY item;")
    assert "{0, 2}" in answer and "DL" in answer
    assert "Syntax error" in terminal.type("SELEC 1;")
    terminal.child.send("SELECT sum(a.id * b.id) FROM range(3000000) a CROSS JOIN range(3000000) b;\r")
    terminal.child.expect_exact(ENDS)
    time.sleep(10)
    terminal.child.sendintr()
    assert "stopped" in terminal.read()
    assert "{3}" in terminal.type("SELECT item FROM sales WHERE price = 9;"), "the session goes on"
    assert "saved large, version 1" in terminal.type(r"\save large SELECT item FROM per_item WHERE price > 6;")
    assert "large" in terminal.type(r"\impact sales where price = 9")
    assert "sales" in terminal.type(r"\explain SELECT item FROM sales;")
    assert "dropped large" in terminal.type(r"\drop large")
    assert terminal.end() == 0


def _javas(pid: int) -> list[str]:
    done = subprocess.run(["ps", "-o", "comm=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.split() if line == "java"]


def script(home: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "forward_lineage", "shell", "--home", str(home), "--master", "local[1]"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=REPOSITORY,
        env={**os.environ, "COLUMNS": "120"},
    )


def test_a_script(home: Path) -> None:
    done = script(home, "\\impact sales where price = 5\n\n\\nothing\n\\backward per_item --rows 0 --json\n")
    lines = done.stdout.splitlines()
    assert done.returncode == 1, "one entry failed"
    assert lines[0].split() == ["result", "touched", "of", "path"] and lines[-1].startswith('{"row_id":')
    assert done.stderr == "Error: line 3: there is no command \\nothing. \\help lists what there is.\n"
    assert script(home, "\\ls\n\\q\n\\nothing\n").returncode == 0


def test_entries() -> None:
    text = "\\ls x\nSELECT 'a;\n b' -- c;\n; SELECT 2;\n\\save r\nSELECT 1;\n\n\\q\nSELECT 3"
    found = list(entries(iter(text.splitlines(keepends=True))))
    assert found == [
        Entry("ls", "x"),
        Entry(None, "SELECT 'a;\n b'"),
        Entry(None, "SELECT 2"),
        Entry("save", "r\nSELECT 1"),
        Entry("q", ""),
        Entry(None, "SELECT 3"),
    ]
    for text, complete in (
        ("", True),
        ("\\ls", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT 1; -- x", True),
        ("\\save r", False),
    ):
        assert is_complete(text) is complete, text


def test_entries_know_their_line() -> None:
    text = "\n\\ls\nSELECT 1;\n\nSELECT 2; SELECT\n3;\n\\save r\nSELECT 4;\n\\q\n"
    assert [each.line for each in entries(iter(text.splitlines(keepends=True)))] == [2, 3, 5, 5, 7, 9]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT 1\nFROM t\n\\ls x\n", [Entry(UNFINISHED, "SELECT 1\nFROM t"), Entry("ls", "x")]),
        ("\\save r\nSELECT 1\n\\ls\n", [Entry(UNFINISHED, "\\save r\nSELECT 1"), Entry("ls", "")]),
        ("SELECT 'a\n\\ls';\n", [Entry(None, "SELECT 'a\n\\ls'")]),
        ("SELECT 1 /*\n\\ls */;\n", [Entry(None, "SELECT 1")]),
        ("SELECT 1;\n\\save r;\n", [Entry(None, "SELECT 1"), Entry("save", "r")]),
    ],
)
def test_a_command_behind_a_statement_that_is_open(text: str, found: list[Entry]) -> None:
    assert list(entries(iter(text.splitlines(keepends=True)))) == found


def test_statements_in_a_script(spark: SparkSession, home: Path) -> None:
    """The last statement can be saved, and a view that was made can be queried."""
    text = (
        "CREATE TEMP VIEW dear AS SELECT item, price FROM sales WHERE price > 4;\n"
        "SELECT item FROM dear ORDER BY price;\n\\save dear_items;\nSELECT item\n\\drop dear_items\nSELEC 1;\n"
    )
    done = invoke(spark.newSession(), "shell", "--home", home, stdin=text)
    assert done.exit_code == 1
    assert "sales {1}" in done.stdout and "saved dear_items, version 1: 2 rows, lineage in sales" in done.stdout
    assert "dropped dear_items" in done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert [each.partition(": ")[2][:30] for each in errors] == [
        "line 4: a command begins befor",
        "line 6: Syntax error at or nea",
    ]


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("\\imp", ["\\impact"]),
        ("\\back", ["\\backward"]),
        ("\\backward ", ["per_item"]),
        ("\\impact s", ["sales"]),
        ("\\impact sales where it", ["item"]),
        ("\\forward sales --result ", ["per_item"]),
        ("SELECT * FROM ", ["per_item", "sales", "BACKWARD("]),
        ("SELECT pri", ["price", "PRIMARY"][:1]),
        ("SELECT item FROM sales LINEA", ["LINEAGE ON"]),
        ("SELECT * FROM BACKW", ["BACKWARD("]),
        ("", []),
    ],
)
def test_completions(home: Path, text: str, completed: list[str]) -> None:
    document = Document(text)
    found = [each.text for each in ShellCompleter(home).get_completions(document, None)]  # type: ignore[arg-type]
    assert found[: len(completed)] == completed and (completed or not found)


def test_a_home_that_cannot_be_read_completes_nothing(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    assert ShellCompleter(tmp_path / "home").candidates("\\impact ", "") == []


def test_sigint_between_entries_does_not_end_a_session(terminal: Terminal) -> None:
    os.kill(terminal.child.pid, signal.SIGINT)
    terminal.read()
    assert "sales" in terminal.type(r"\tables")
