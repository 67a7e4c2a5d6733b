"""What commands print: one JSON object a line with `--json`, else a table; and how they end.

JSON is the same for every command: a row is an object of its columns, NULLs included, and `DL` an object of the tables
with their ids, all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

from forward_lineage.cli.options import Command, json_option
from forward_lineage.cli.plain_text import in_one_line, plain
from forward_lineage.cli.tables import lineage_table
from forward_lineage.results import LINEAGE_COLUMN, trusted_tables
from forward_lineage.spark.names import field_of_dl

#: What `--exit-code` ends with when there is something; 1 is an error, 2 wrong usage.
FOUND = 3
UNCHECKED = "Nobody checks that ids are unique there, or notices a change."
_SHOWN = 20
_IDS = 8


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

    def show(self, frame: DataFrame, *, nothing: str = "", title: str | None = None) -> bool:
        """Print the rows of an answer, and say on standard error when there are none.

        Args:
            frame: the rows.
            nothing: what to say when there are none.
            title: what stands above the table.

        Returns:
            whether there were any.

        """
        note_trust(frame)
        if self.as_json:
            return print_rows(frame, self.limit)
        rows, more = first_rows(frame, self.limit or _SHOWN)
        if rows:
            Console().print(lineage_table(frame.columns, rows, _IDS, more, title))
        else:
            click.echo(in_one_line(nothing), err=True)
        return bool(rows)

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


def note_trust(frame: DataFrame) -> None:
    """Say on standard error which tables an answer takes on trust."""
    if names := trusted_tables(frame):
        click.echo(f"Note: {in_one_line(', '.join(names))}: on trust. {UNCHECKED}", err=True)


def print_objects(objects: Iterable[Mapping[str, Any]]) -> None:
    """Print JSON objects."""
    for each in objects:
        click.echo(json_line(json.dumps(each, ensure_ascii=False)))


def json_line(line: str) -> str:
    r"""Return JSON that means the same, with what a terminal would obey as ``\uXXXX``; only strings can hold such."""
    if line.isascii():
        return line
    return "".join(each if each == plain(each) else json.dumps(each)[1:-1] for each in line)


def print_rows(frame: DataFrame, limit: int | None = None) -> bool:
    """Print rows as JSON objects, which Spark writes; names that repeat in a result do so in its JSON, too.

    Returns:
        whether there were any.

    """
    lines = json_lines(decoded(frame if limit is None else frame.limit(limit)))
    for line in lines:
        click.echo(json_line(line))
    return bool(lines)


def json_lines(frame: DataFrame) -> list[str]:
    """Return rows as JSON objects, as Spark writes them."""
    objects = frame.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))
    return [row[0] for row in objects.toLocalIterator()]


def decoded(frame: DataFrame) -> DataFrame:
    """Replace each lineage value in `DL` by its ids, an array."""
    if not frame.columns or frame.columns[-1] != LINEAGE_COLUMN:
        return frame
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    fields = [F.call_function("dl_ids", F.expr(field_of_dl(table))).alias(table) for table in tables]
    return frame.withColumn(LINEAGE_COLUMN, F.struct(*fields))


def first_rows(frame: DataFrame, limit: int) -> tuple[list[list[Any]], bool]:
    """Return up to `limit` rows, lineage as ids by table, and whether there are more."""
    rows = decoded(frame).limit(limit + 1).collect()
    return [list(row) for row in rows[:limit]], len(rows) > limit
