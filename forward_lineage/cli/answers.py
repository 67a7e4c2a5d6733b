"""The output of commands: one JSON object a line with `--json`, else a table; and how they end.

JSON is the same for every command: a row is an object of its columns, NULLs included. Its `DL` is an object of the
tables with their ids, all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol

import click
from rich.console import Console

from forward_lineage.cli.options import Command, json_option
from forward_lineage.cli.plain_text import UNCHECKED, in_one_line, json_line
from forward_lineage.cli.tables import lineage_table

#: What `--exit-code` ends with when there is something; 1 is an error, 2 wrong usage.
FOUND = 3
_SHOWN = 20
_IDS = 8


class Rows(Protocol):
    """Rows of an answer, wherever they were computed.

    Attributes:
        columns: their names; `DL` the last one, if there is lineage.
        trusted: the tables that the answer takes on trust.
        unit: what stands in the lineage: ``"rows"``, or ``"values"`` under LINEAGE ON.
        total: how many rows there are; None: nobody has counted.

    """

    @property
    def columns(self) -> Sequence[str]:
        """Return their names."""

    @property
    def trusted(self) -> Sequence[str]:
        """Return the names of these tables."""

    @property
    def unit(self) -> str:
        """Return what stands in the lineage: rows, or values."""

    @property
    def total(self) -> int | None:
        """Return how many rows there are; None: nobody has counted."""

    def first(self, limit: int) -> tuple[Sequence[Sequence[Any]], bool]:
        """Return up to `limit` rows, lineage as ids by table, and whether there are more."""

    def json_lines(self, limit: int | None) -> list[str]:
        """Return rows, all of them or up to `limit`, as JSON objects as Spark writes them, NULLs included."""


@dataclass(frozen=True)
class Answer:
    """How an answer is to be shown.

    Attributes:
        as_json: each row as a JSON object.
        limit: how many rows; None for a screenful, or for all of them as JSON.
        exit_code: whether the command ends with `FOUND` if there are any.

    """

    as_json: bool
    limit: int | None = None
    exit_code: bool = False

    def show(self, found: Rows, *, nothing: str = "", title: str | None = None) -> bool:
        """Print the rows of an answer, and say on standard error when there are none.

        Args:
            found: the rows.
            nothing: what to say when there are none.
            title: what stands above the table.

        Returns:
            whether there were any.

        """
        return self.laid_out(found, nothing=nothing, title=title)()

    def laid_out(
        self, found: Rows, *, nothing: str = "", title: str | None = None, total: int | None = None
    ) -> Callable[[], bool]:
        """Compute all that `show` prints; returns what prints it.

        Args:
            found: the rows.
            nothing: what to say when there are none.
            title: what stands above the table.
            total: how many rows there are, if somebody has counted them in another way.

        """
        total = found.total if total is None else total
        lines = found.json_lines(self.limit) if self.as_json else []
        rows, more = ([], False) if self.as_json else found.first(self.limit or _SHOWN)
        table = lineage_table(found.columns, rows, _IDS, more, title, unit=found.unit, total=total) if rows else None

        def show() -> bool:
            note_trust(found.trusted)
            if self.as_json:
                return print_lines(lines)
            if table is None:
                click.echo(in_one_line(nothing), err=True)
            else:
                Console().print(table)
            return table is not None

        return show

    def finish(self, found: bool) -> None:
        """End the command as `--exit-code` asks."""
        if found and self.exit_code:
            raise click.exceptions.Exit(FOUND)


def exit_code_option(command: Command) -> Command:
    """Add `--exit-code`."""
    return click.option(
        "--exit-code", is_flag=True, help=f"End with {FOUND} if there is something, with 0 if there is nothing."
    )(command)


def answer_options(command: Command) -> Command:
    """Add `--limit`, `--json` and `--exit-code`; the command gets them as one argument, `answer`."""

    @click.option("--limit", type=click.IntRange(min=1), help=f"Rows to show.  [default: {_SHOWN}; with --json all]")
    @json_option
    @exit_code_option
    @wraps(command)
    def with_answer(*, limit: int | None, as_json: bool, exit_code: bool, **others: Any) -> Any:
        return command(answer=Answer(as_json, limit, exit_code), **others)

    return with_answer


def note_trust(names: Sequence[str]) -> None:
    """Say on standard error which tables an answer takes on trust."""
    if names:
        click.echo(f"Note: {in_one_line(', '.join(names))}: on trust. {UNCHECKED}", err=True)


def print_lines(lines: Sequence[str]) -> bool:
    """Print JSON objects; returns whether there were any."""
    for line in lines:
        click.echo(json_line(line))
    return bool(lines)
