"""Somebody who types in every snippet of a page, one after another.

The snippets of a page run in order, in an empty folder, with one namespace:

- `python` runs with a Spark session called `spark`, as a notebook would have it;
- `sql` runs in that session, `sql lineage` through `lineage.sql` of the `lineage` that the page has made before;
- `python notebook` is a cell of a notebook, run by IPython's shell, what a `python` snippet has made at hand;
- `python connect` needs a server of Spark Connect: `tests/connect` runs it;
- `bash` runs with the project's commands on the path, a plain `forward-lineage …` in that session instead, where it may
  also end with the code that says it found something; `make`, `pip` and `mvn` are checked, not run: the target has a
  rule, the extra exists, `make test-lakes` fetches the same;
- `SparkSession.builder.getOrCreate()` in a page gives the page's session;
- `sql views.sql`, `python pipeline.py`, `toml views.toml` or `conf spark-defaults.conf`, any language with a file of
  its kind, is written into that file;
- `forward-lineage explore` is left alone until its page answers, then Ctrl-C is pressed;
- `json` is parsed; `text` and blocks without a language are not code;
- a table or a `text` block directly behind a snippet is what the snippet shows;
- a comment `<!-- setup` … `-->` holds Python that readers do not see, e.g. to write a file that a command reads; it
  knows `folder`, the page's folder, and `tpch`, a folder of TPC-H tables at scale factor 0.01.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import sqlparse
from click.testing import Result
from IPython.core.interactiveshell import InteractiveShell
from pyspark.sql import DataFrame, SparkSession
from traitlets.config import Config

from forward_lineage.cli.answers import FOUND
from tests.conftest import REPOSITORY
from tests.forward_lineage.cli.in_this_process import invoke
from tests.forward_lineage.pages.serving import explored
from tests.lakes.engines import ARTIFACTS, SPARK
from tests.markdown_pages import Block

_SHELL = {">", "<", "|", "&&", ";"}
_ENDINGS = {"python": "py"}
LANGUAGES = {"python", "sql", "toml", "conf", "csv", "bash", "json", "text", ""}


class Reader:
    """Somebody who types in every snippet of a page, one after another."""

    def __init__(self, page: str, spark: SparkSession, folder: Path, tpch: Path) -> None:
        self.page = page
        self.folder = folder
        self.shell: InteractiveShell | None = None
        self.names: dict[str, Any] = {"__name__": "__main__", "spark": spark, "folder": folder, "tpch": tpch}

    def read(self, blocks: list[Block]) -> None:
        shown: str | None = None  # what the block before printed
        for block in blocks:
            where = f"{self.page}, line {block.line}"
            if block.kind == "setup":
                self._python(block)
            elif (block.kind == "table" or block.language == "text") and shown is not None:
                assert block.shows(shown), f"{where}:\n{shown}"
            shown = self._run(block, where) if block.kind == "code" else None

    def _run(self, block: Block, where: str) -> str | None:
        assert block.language in LANGUAGES, f"{where}: no rule for {block.language!r}"
        language, _, name = block.info.partition(" ")
        if language and Path(name).suffix == f".{_ENDINGS.get(language, language)}":
            (self.folder / name).write_text(block.text)
            return None
        if block.info == "python connect":
            return None
        if block.info == "python notebook":
            return self._cell(block, where)
        if block.language == "python":
            return self._python(block)
        if block.language == "sql":
            return self._sql(block, where)
        if block.language == "bash":
            return "".join(self._command(command, where) for command in block.commands())
        if block.language == "json":
            json.loads(block.text)
        return None

    def _python(self, block: Block) -> str:
        # Line breaks in front make Python count lines as the page does.
        code = compile("\n" * (block.line - 1) + block.text, self.page, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def _cell(self, block: Block, where: str) -> str:
        if self.shell is None:
            config = Config({"HistoryManager": {"enabled": False}})
            self.shell = InteractiveShell(user_ns=self.names, config=config)
        done = self.shell.run_cell(block.text)
        assert done.success, f"{where}: {done.error_in_exec or done.error_before_exec}"
        return "" if done.result is None else str(self.shell.display_formatter.format(done.result)[0]["text/plain"])

    def _sql(self, block: Block, where: str) -> str:
        traced = block.info.split()[1:] == ["lineage"]
        assert traced or block.info == "sql", f"{where}: no rule for {block.info!r}"
        run = self.names["lineage"].sql if traced else self.names["spark"].sql
        printed = io.StringIO()
        for statement in sqlparse.split(block.text, strip_semicolon=True):
            result: DataFrame = run(statement)
            with contextlib.redirect_stdout(printed):
                result.show(100, truncate=False)
        return printed.getvalue()

    def _command(self, command: str, where: str) -> str:
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            _check_make(words, where)
            return ""
        if words[0] == "pip":
            _check_pip(words, where)
            return ""
        if "mvn" in words:
            _check_mvn(command, where)
            return ""
        if words[0] == "forward-lineage" and not _SHELL.intersection(shlex.shlex(command, punctuation_chars=True)):
            result = self._invoke(words[1:], where)
            assert result.exit_code in (0, FOUND), f"{where}: {command}\n{result.output}"
            return result.stdout
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{where}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _invoke(self, words: list[str], where: str) -> Result:
        if words[0] != "explore":
            return invoke(self.names["spark"], *words)
        result, page = explored(self.names["spark"], *words[1:])
        assert "<h1>" in page, f"{where}: no page\n{result.output}"
        return result


def _check_make(words: list[str], where: str) -> None:
    rules = set(re.findall(r"^([\w-]+):(?!=)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    settings = set(re.findall(r"^(\w+)\s*\?=", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for word in words[1:]:
        name, is_setting, _ = word.partition("=")
        assert name in (settings if is_setting else rules), f"{where}: the Makefile has no {name}"


def _check_pip(words: list[str], where: str) -> None:
    wheel = f"dist/forward_lineage-{importlib.metadata.version('forward_lineage')}-py3-none-any.whl"
    if words[1:] == ["wheel", "--no-deps", "-w", "dist", "."]:
        return
    assert words[1] == "install", where
    metadata = importlib.metadata.metadata("forward_lineage")
    for word in words[2:]:
        if word in {"-e", "--editable", f"pyspark=={SPARK}.*"}:
            continue
        match = re.fullmatch(rf"(?:forward_lineage|\.|{re.escape(wheel)})(?:\[(?P<extras>[\w,]+)\])?", word)
        assert match, f"{where}: {word} is not this project"
        for extra in (match["extras"] or "").split(","):
            assert not extra or extra in metadata.get_all("Provides-Extra", []), f"{where}: there is no extra {extra}"


def _check_mvn(command: str, where: str) -> None:
    """A shell says what the command would fetch, in a loop as well."""
    told = subprocess.run(
        ["bash", "-ec", f'mvn() {{ echo "$@"; }}; {command}'], capture_output=True, text=True, check=True
    )
    fetched = re.findall(r"-Dartifact=(\S+)", told.stdout)
    known = {artifact for formats in ARTIFACTS.values() for each in formats.values() for artifact in each}
    assert fetched and known.issuperset(fetched), f"{where}: tests fetch {sorted(known)}"
