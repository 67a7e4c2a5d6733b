"""The work of the shell for an entry: a command of the command line, or a statement; errors are one message."""

from __future__ import annotations

import io
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from difflib import get_close_matches

import click

from forward_lineage.cli.answers import note_trust
from forward_lineage.cli.interactive.entries import UNFINISHED, WITH_SQL, Entry
from forward_lineage.cli.interactive.shell_session import KeptSession
from forward_lineage.cli.plain_text import in_one_line, plain
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.store.library.library import Library
from udafs.errors import BadArgumentError, LineageError

#: Commands of the command line that the shell has, with what is said of their words.
COMMANDS = {
    "affected": "TABLE WHERE … ⏎ SELECT …;",
    "backward": "RESULT [--rows N,N] [--table T] [WHERE …]",
    "capture": "RESULT",
    "describe": "NAME",
    "drop": "RESULT",
    "explain": "SELECT …;",
    "forward": "TABLE --result RESULT [--ids N,N] [WHERE …]",
    "impact": "TABLE [--ids N,N] [--rows] [WHERE …]",
    "ls": "[RESULT]",
    "refresh": "TABLE …",
    "register": "TABLE --path FILE [--key COLUMN] [--format F] [--option N=V]",
    "save": "NAME [--semantics control] ⏎ SELECT …;",
    "stale": "",
    "tables": "",
    "unregister": "TABLE …",
}
QUIT = ("q", "quit", "exit")
HELP = ("h", "help", "?")
#: Begin statements that are traced; what begins otherwise is Spark's alone.
_TRACED = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "CREATE", "REPLACE", "INSERT", "MERGE", "UPDATE", "DELETE")
#: A view is its query: made as it stands, what queries it is traced through it.
_VIEW = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?(?:TEMP(?:ORARY)?\s+)?VIEW\b", re.IGNORECASE)
_ROWS, _IDS = 20, 8
_PATIENCE = 0.3  # seconds until Spark is told again: a statement may have several jobs


def is_traced(sql: str) -> bool:
    """Say whether a statement is run with lineage; all others are Spark's alone."""
    from forward_lineage.frontend.lineage_fields import read_lineage_fields  # noqa: PLC0415 - Spark is there

    if sql.lstrip().upper().startswith(_TRACED):
        return not _VIEW.match(sql)
    return read_lineage_fields(sql) is not None


class Shell:
    """Does entries, one after another.

    They are done in a thread of their own, always the same, since that thread of Spark's waits for a job. This one is
    free to hear Ctrl-C, and to tell Spark.

    Args:
        kept: the session.
        typed: whether somebody sits in front of it, who is told how long each took, and goes on after Ctrl-C.

    Attributes:
        failed: whether one could not be done.
        stopped: whether Ctrl-C has ended a script.

    """

    def __init__(self, kept: KeptSession, *, typed: bool = False) -> None:
        self.kept = kept
        self.failed = self.stopped = False
        self._typed = typed
        self._last: str | None = None
        self._thread = ThreadPoolExecutor(1)
        self._worker = self._thread.submit(threading.current_thread).result()

    def do(self, entry: Entry) -> bool:
        """Do an entry; returns whether the shell goes on. Errors are printed, and nothing is raised."""
        if entry.command in QUIT:
            return False
        begun, before = time.perf_counter(), self._newest(entry)
        doing = self._thread.submit(self._done, entry)
        try:
            doing.result()
        except KeyboardInterrupt:
            self._cancel(doing, entry, before)
            self.stopped = not self._typed
            return self._typed
        except Exception as error:  # the session goes on, whatever it is
            self.say(error, entry)
        else:
            if self._typed:
                click.secho(f"{time.perf_counter() - begun:.3f} s", err=True, dim=True)
        return True

    def _newest(self, entry: Entry) -> int:
        """The version of what an entry saves that is there; 0 if it saves nothing, or none is."""
        name = next(iter(entry.text.split()), "") if entry.command == "save" else ""
        with suppress(LineageError):  # the command says so itself
            latest = Library(home_folder(self.kept.home)).latest(name) if name else None
            return 0 if latest is None else latest.version
        return 0

    def _cancel(self, doing: Future[None], entry: Entry, before: int) -> None:
        """End what is being done: Spark's start, or whatever it asks of Spark, until it gives up."""
        from forward_lineage.spark.interrupts import stop_work_of  # noqa: PLC0415 - not where nothing is stopped

        self.failed = True
        while not doing.done():
            stop_work_of(self._worker)
            wait([doing], _PATIENCE)
        if doing.exception() is None:
            click.echo("it was done already", err=True)
        elif entry.command == "save":  # what follows a save may be what was stopped
            now = self._newest(entry)
            click.echo(f"stopped; version {now} is saved" if now != before else "stopped, nothing saved", err=True)
        else:
            click.echo("stopped", err=True)

    def _done(self, entry: Entry) -> None:
        if entry.command is None:
            self._last = entry.text
            self._statement(entry.text)
        elif entry.command == UNFINISHED:
            raise BadArgumentError(
                f"a command begins before this statement ends: {in_one_line(entry.text)}",
                instead="End the statement with a semicolon.",
            )
        elif entry.command in HELP:
            click.echo(_help())
        elif entry.command == "explain":
            with self.kept.session("explain") as lineage:
                click.echo(plain(lineage.explain(entry.text or self._last_statement())))
        elif entry.command in COMMANDS:
            words, statement = _words(entry.command, entry.text)
            if entry.command in WITH_SQL:
                statement = statement or self._last_statement()
            _invoke(self.kept, entry.command, words, statement)
        else:
            close = get_close_matches(entry.command, COMMANDS, n=1)
            hint = f"Did you mean \\{close[0]}?" if close else "\\help lists what there is."
            raise BadArgumentError(f"there is no command \\{entry.command}", instead=hint)

    def _last_statement(self) -> str:
        if self._last is None:
            raise BadArgumentError("no statement has run yet", instead="Write one behind the command: SELECT …;")
        return self._last

    def say(self, error: Exception, entry: Entry | None = None) -> None:
        """Say what went wrong, in one message; of an entry in a script, where it begins."""
        from forward_lineage.cli import said_of  # noqa: PLC0415 - the commands know the shell

        self.failed = True
        if isinstance(error, click.ClickException):
            said = error.format_message()
        else:
            said = said_of(error, "\\") or f"{type(error).__name__}: {error} (a bug: please report it)"
        place = "" if self._typed or entry is None else f"line {entry.line}: "
        click.echo(f"Error: {place}{in_one_line(said)}", err=True)

    def _statement(self, sql: str) -> None:
        from rich.console import Console  # noqa: PLC0415

        from forward_lineage.cli.tables import lineage_table  # noqa: PLC0415

        with self.kept.session("shell") as lineage:
            from forward_lineage.cli.frame_rows import FrameRows  # noqa: PLC0415 - Spark is there
            from forward_lineage.cli.write_summary import said_of_command  # noqa: PLC0415
            from forward_lineage.spark.errors import spark_errors  # noqa: PLC0415
            from forward_lineage.spark.progress import spark_progress  # noqa: PLC0415

            with spark_progress(lineage.spark, "running the statement"), spark_errors(sql):
                found = FrameRows(lineage.sql(sql) if is_traced(sql) else lineage.spark.sql(sql))
            note_trust(found.trusted)
            if said := said_of_command(lineage, sql):
                click.echo(in_one_line(said))
            elif found.columns:
                rows, more = found.first(_ROWS)
                Console().print(lineage_table(found.columns, rows, _IDS, more, unit=found.unit))


def _invoke(kept: KeptSession, name: str, words: list[str], stdin: str | None) -> None:
    from forward_lineage.cli import main  # noqa: PLC0415 - which has the shell as a command

    if name == "tables":
        name, words = "ls", ["--tables", *words]
    command = main.get_command(click.Context(main), name)
    assert command is not None, name
    home = {"home": str(kept.home)} if kept.home is not None else {}
    with _standard_input(stdin):
        command.main(words, prog_name=f"\\{name}", standalone_mode=False, obj=kept, default_map=home)


def _words(name: str, text: str) -> tuple[list[str], str | None]:
    """Take the words of a command apart: the text behind WHERE is one word, and a statement is one.

    Raises:
        BadArgumentError: a quote is not closed.

    """
    head, statement = text, None
    if name in WITH_SQL:
        head, statement = _split_statement(text)
    before, where = _split_where(head)
    try:
        words = shlex.split(before)
    except ValueError:
        raise BadArgumentError(f"a quote in \\{name} is not closed", instead="Close it.") from None
    if where is not None:
        words += ["--where", where]
    if name == "affected" and words:
        words = ["-", "--table", words[0], *words[1:]]
    if name == "save":
        words = ["-", *words]
    return words, statement


_STATEMENT = re.compile(r"\n|\s(?=(?:select|with)\b)", re.IGNORECASE)
_WHERE = re.compile(r"""(?:^|\s)where\s""", re.IGNORECASE)


def _split_statement(text: str) -> tuple[str, str]:
    """Take a command and its statement apart, which begins in a line of its own, or with SELECT or WITH."""
    found = _STATEMENT.search(text)
    return (text, "") if found is None else (text[: found.start()], text[found.end() :])


def _split_where(head: str) -> tuple[str, str | None]:
    """Take `TABLE … WHERE condition` apart; an option --where is left as it is."""
    found = _WHERE.search(head)
    if found is None:
        return head, None
    return head[: found.start()], head[found.end() :].strip()


@contextmanager
def _standard_input(text: str | None) -> Iterator[None]:
    """Let a command that reads a statement from standard input read this one."""
    before = sys.stdin
    if text is not None:
        sys.stdin = io.StringIO(text)
    try:
        yield
    finally:
        sys.stdin = before


def _help() -> str:
    lines = [f"\\{name} {words}".rstrip() for name, words in sorted(COMMANDS.items())]
    return "\n".join(
        [
            "SELECT …;  runs a statement, each row with its lineage; LINEAGE ON … at its end is understood",
            *lines,
            "\\save, \\explain, \\affected  take the statement that follows; \\save NAME; alone saves the last one",
            "\\q  ends the shell, and so does Ctrl-D; Ctrl-C stops what runs",
        ]
    )
