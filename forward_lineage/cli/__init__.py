"""The command line: `forward-lineage …`. One file a command; errors are one line on stderr.

A command's file is imported when the command is called: what one of them needs, Spark above all, no other waits for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from forward_lineage.cli.own_words import in_words_of_commands
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.stopping import STOPPED, note_command, said_of_stop
from udafs.errors import LineageError

#: Each command, and its help in a line, which is said without importing it.
COMMANDS = {
    "affected": "Show the rows of a query that were made from suspected rows of a table; nothing is stored.",
    "backward": "Show the base rows that rows of a saved result were made of.",
    "bench": "Measure what lineage costs, and write a report.",
    "capture": "Capture the lineage that `save --capture later` left out, before the first question does.",
    "check": "Run every statement of every .sql file in FOLDER with lineage and without, and say what became of it.",
    "compare": "Say which rows of the saved result NAME differ between two versions, and what that is due to.",
    "completion": "Print what makes a shell complete commands, options, tables and results.",
    "demo": "Show the paper's store example and a TPC-H query, with the base rows of their results.",
    "describe": "Say what is known of a registered table or a saved result.",
    "drop": "Forget a saved result; results that were made of it can be traced as before.",
    "explore": "Serve a page of linked views: a brush in one updates all others, a click shows base rows.",
    "forward": "Show the rows of a saved result that were made from rows of a table.",
    "graph": "Draw the pipeline of results and tables, with an impact painted in.",
    "ids": "Measure how clustered and how replicated the lineage of a query is.",
    "impact": "Show every saved result that rows of a table touch, directly or through other results.",
    "index": "Index the lineage of a saved result by base row, so that `forward` reads one file in place of all.",
    "kernel": "Build the jar with dlunion and the dl_* functions, and print its path.",
    "ls": "List the saved results; with NAME, all versions of one that are there, its query and its columns.",
    "profile": "Check CONSTRAINTS in TABLE, a registered table or saved result, and show what violates them.",
    "refresh": "Accept that tables have changed: rows that are still there keep their ids.",
    "register": "Give the rows of a table ids, so that queries over it can be traced.",
    "rewrite": "Print the SQL that also computes DL, the lineage of every row.",
    "run": "Run a query and show its rows with their lineage.",
    "save": "Save the rows of a query and their lineage under a name; saving again makes a new version.",
    "shell": "Ask one thing after another; Spark is started once, when it is needed.",
    "stale": "List the saved results whose inputs have changed since they were saved, and what has changed.",
    "unregister": "Forget registered tables; saved results keep the lineage they have.",
    "update": "Bring saved results up to date with what they were made of.",
    "why-not": "Say which part of the query of the saved result RESULT keeps rows out, and with which values.",
}


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say what Python would show as a warning, with its place in our code, as a note."""

    def note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if issubclass(category, UserWarning):
            click.echo(f"Note: {in_one_line(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield


class _OneLineErrors(click.Group):
    """A `LineageError`, or the end of Spark's process, ends the command with one line on stderr and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings_as_notes():
                return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            click.echo(said_of_stop(stopped, ctx), err=True)
            raise click.exceptions.Exit(STOPPED) from None
        except Exception as error:
            said = said_of(error)
            if said is None:
                raise
            raise click.ClickException(said) from None

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except KeyboardInterrupt:  # click would say "Aborted!"
            click.echo("stopped.", err=True)
            raise click.exceptions.Exit(STOPPED) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        note_command(ctx, args[0])
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise click.UsageError(error.message + hint, ctx) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        name = cmd_name.replace("-", "_")
        found = getattr(import_module(f"{__name__}.{name}"), name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = sorted(COMMANDS.items())
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=said) for name, said in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def said_of(error: Exception, program: str = "forward-lineage ") -> str | None:
    """What is said, in one line, of an error that a user can do something about; None: it is a bug, to be shown.

    Args:
        error: what went wrong.
        program: what stands in front of the commands that a remedy names.

    """
    if isinstance(error, LineageError):
        return in_one_line(in_words_of_commands(error, program))
    from py4j.protocol import Py4JNetworkError  # noqa: PLC0415 - only where something went wrong

    if isinstance(error, Py4JNetworkError | ConnectionRefusedError):  # from what was running; from stopping Spark
        from forward_lineage.spark.local import default_log  # noqa: PLC0415

        return f"Spark's Java process has ended: killed, or out of memory? Its log is {default_log()}."
    return None


@click.group(cls=_OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="forward_lineage", message="forward-lineage %(version)s")
def main() -> None:
    """Spark SQL whose every result row says which base rows it was made of."""
