"""Arguments and options that several commands take, and types of values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from forward_lineage.spark.paths import is_address

Command = Callable[..., Any]


def sql_argument(command: Command) -> Command:
    """Add the argument FILE, `-` standing for standard input."""
    return click.argument("file", type=click.Path(allow_dash=True))(command)


def semantics_option(command: Command) -> Command:
    """Add `--semantics`."""
    return click.option(
        "--semantics",
        type=click.Choice(["data", "control"]),
        default="data",
        show_default=True,
        help="Whether rows that subqueries of predicates looked at count too (control).",
    )(command)


def catalog_option(command: Command) -> Command:
    """Add `--catalog`."""
    return click.option(
        "--catalog",
        "catalog_path",
        metavar="FILE.toml|FILE.json|FOLDER",
        type=click.Path(path_type=Path),
        help="Tables: a catalog file, or a folder of Parquet files, each a table.  [default: the registered tables]",
    )(command)


def home_option(command: Command) -> Command:
    """Add `--home`."""
    return click.option(
        "--home",
        type=_HomeType(path_type=Path, file_okay=False),
        help="Folder of registrations and results, or an address such as s3://bucket/prefix.  "
        "[default: $FORWARD_LINEAGE_HOME, else ./lineage_home]",
    )(command)


class _HomeType(click.Path):
    """A path, or the text of an address."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, str) and is_address(value) else super().convert(value, param, ctx)


def master_option(command: Command) -> Command:
    """Add `--master`."""
    return click.option("--master", default="local[*]", show_default=True, help="Spark master.")(command)


def where_option(what: str) -> Callable[[Command], Command]:
    """Add `--where`."""
    return click.option("--where", metavar="SQL", help=f"Which {what}, as a condition over the columns.")


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")(command)


_MOST_NUMBERS = 10_000_000


class Numbers(click.ParamType[list[int]]):
    """Row numbers or ids: `4,7,10-12`."""

    name = "N,N,N-N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """See the class."""
        numbers: list[int] = []
        for part in str(value).split(","):
            first, dash, last = part.strip().partition("-")
            ends = [first, last] if dash else [first, first]
            if not all(end.strip().isdecimal() and len(end) < 20 for end in ends) or int(ends[0]) > int(ends[1]):
                self.fail(f"{part.strip()[:60]!r} is neither a number nor a range such as 4-7", param, ctx)
            if int(ends[1]) - int(ends[0]) + len(numbers) >= _MOST_NUMBERS:
                self.fail(f"more than {_MOST_NUMBERS:,} numbers; give a condition with --where", param, ctx)
            numbers += range(int(ends[0]), int(ends[1]) + 1)
        return numbers


class OfTable(click.ParamType[tuple[str, str]]):
    """Something of a table: `TABLE=SQL`."""

    name = "TABLE=SQL"
    example = "sales=region"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """See the class."""
        table, equals, keys = str(value).partition("=")
        if not equals or not table.strip() or not keys.strip():
            self.fail(f"{str(value)[:60]!r} is not {self.name}, e.g. {self.example}", param, ctx)
        return table.strip(), keys.strip()


class Setting(OfTable):
    """An option of Spark's reader: `header=true`."""

    name = "NAME=VALUE"
    example = "header=true"


class Order(OfTable):
    """A table and its sort keys: `lineitem=l_shipdate, l_orderkey DESC`."""

    name = "TABLE=KEYS"
    example = "lineitem=l_shipdate"


class Scales(click.ParamType[list[float]]):
    """Scale factors: `0.1,1`."""

    name = "S,S"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[float]:
        """See the class."""
        try:
            return [float(part) for part in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a number, or several joined by commas", param, ctx)
