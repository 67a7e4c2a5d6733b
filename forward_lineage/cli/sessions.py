"""What the commands of the lineage store share: a session over the home, their options, how answers are shown."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

from forward_lineage.catalog import Catalog, parquet_tables
from forward_lineage.cli.inputs import Command, catalog_option, home_option
from forward_lineage.cli.tables import lineage_table
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.local import local_session

_SHOWN = 20
#: What `--exit-code` ends with when there is something; 1 is an error, 2 wrong usage.
FOUND = 3


@contextmanager
def opened(command: str, home: Path | None, catalog_path: Path | None, master: str) -> Iterator[ForwardLineage]:
    """Start Spark over a home, with the tables of a catalog if one is given, and stop it at the end.

    A session that runs in this process already is used as it is and left running.
    """
    running = SparkSession.getActiveSession()
    spark = running or local_session(f"forward-lineage {command}", master=master)
    try:
        lineage = ForwardLineage(spark, home)
        if catalog_path is not None:
            _use_catalog(lineage, catalog_path)
        yield lineage
    finally:
        if running is None:
            spark.stop()


@contextmanager
def opened_to_look(command: str, home: Path | None, catalog_path: Path | None, master: str) -> Iterator[ForwardLineage]:
    """Open one for a command that saves nothing: with a catalog, which says all, and no home, none stays."""
    with ExitStack() as stack:
        if catalog_path is not None and home is None:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield stack.enter_context(opened(command, home, catalog_path, master))


def _use_catalog(lineage: ForwardLineage, path: Path) -> None:
    """Make the tables of a JSON catalog, or the Parquet files and folders in a folder, known to a session.

    Raises:
        LineageError: there is no such catalog, or one of its tables cannot be read.

    """
    if not path.is_dir():
        lineage.use(Catalog.from_json(path))
        return
    tables = parquet_tables(path)
    for name, place in tables.items():
        lineage.register(name, path=place)


def session_options(command: Command) -> Command:
    """Add `--home`, `--catalog` and `--master`."""
    master = click.option("--master", default="local[*]", show_default=True, help="Spark master.")
    return home_option(catalog_option(master(command)))


def where_option(what: str) -> Callable[[Command], Command]:
    """Add `--where`."""
    return click.option("--where", metavar="SQL", help=f"Which {what}, as a condition over the columns.")


def answer_options(command: Command) -> Command:
    """Add `--limit`, `--json` and `--exit-code`."""
    limit = click.option(
        "--limit", type=click.IntRange(min=1), help=f"Rows to show.  [default: {_SHOWN}; with --json all]"
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
    return limit(as_json(exit_code_option(command)))


def exit_code_option(command: Command) -> Command:
    """Add `--exit-code`."""
    return click.option(
        "--exit-code", is_flag=True, help=f"End with {FOUND} if there is something, with 0 if there is nothing."
    )(command)


class Numbers(click.ParamType[list[int]]):
    """Row numbers or ids: `4,7,10-12`."""

    name = "N,N,N-N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """See the class."""
        numbers: list[int] = []
        for part in str(value).split(","):
            first, dash, last = part.strip().partition("-")
            ends = [first, last] if dash else [first, first]
            if not all(end.strip().isdecimal() for end in ends) or int(ends[0]) > int(ends[1]):
                self.fail(f"{part.strip()!r} is neither a number nor a range such as 4-7", param, ctx)
            numbers += range(int(ends[0]), int(ends[1]) + 1)
        return numbers


def show_rows(frame: DataFrame, limit: int | None, as_json: bool, nothing: str, title: str | None = None) -> bool:
    """Print the rows of an answer, and say on standard error when there are none.

    Args:
        frame: the rows.
        limit: how many; None for a screenful, or for all of them as JSON.
        as_json: whether each is one JSON object, NULLs included.
        nothing: what to say when there are none.
        title: what stands above the table.

    Returns:
        whether there were any.

    """
    if as_json:
        objects = json_objects(frame)
        found = [row[0] for row in (objects if limit is None else objects.limit(limit)).toLocalIterator()]
        for line in found:
            click.echo(line)
        return bool(found)
    shown = limit or _SHOWN
    rows = frame.limit(shown + 1).collect()
    if rows:
        cells = [list(row) for row in rows[:shown]]
        Console().print(lineage_table(frame.columns, cells, 8, len(rows) > shown, title))
    else:
        click.echo(nothing, err=True)
    return bool(rows)


def json_objects(frame: DataFrame) -> DataFrame:
    """Return one column, each row as a JSON object, NULLs included.

    Names that repeat in a result do so in its JSON, too.
    """
    return frame.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))


def plain_table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Begin a table in the manner of all commands."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        # The first column is a name, which nobody can use in pieces.
        table.add_column(column, justify="right" if column in right else "left", overflow="fold", no_wrap=not place)
    return table


def finish(found: bool, exit_code: bool) -> None:
    """End the command as `--exit-code` asks."""
    if found and exit_code:
        raise click.exceptions.Exit(FOUND)
