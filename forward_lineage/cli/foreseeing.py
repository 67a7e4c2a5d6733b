"""Options about the questions that will come: what of the lineage is captured, when, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any

import click

from forward_lineage.cli.inputs import read_sql
from forward_lineage.cli.options import Command, OfTable
from forward_lineage.frontend import split_script


def foreseeing_options(command: Command) -> Command:
    """Add them; the command gets them as one argument, `foreseen`: keyword arguments of `ForwardLineage.save`."""

    @click.option(
        "--capture",
        type=click.Choice(["now", "later", "auto"]),
        default="now",
        show_default=True,
        help="Lineage: with the rows, at the first question, or whichever costs less.",
    )
    @click.option("--tables", metavar="NAME,NAME", help="The only tables whose lineage is captured.")
    @click.option(
        "--where", "where", type=OfTable(), multiple=True, help="Capture lineage in these rows of a table only."
    )
    @click.option("--partition-by", type=OfTable(), multiple=True, help="Questions will choose values of this.")
    @click.option("--cube", type=OfTable(), multiple=True, help="Add the aggregates up by this, too.")
    @click.option("--workload", metavar="FILE.sql", help="Consuming queries that will be asked, with parameters.")
    @wraps(command)
    def with_foreseen(
        *,
        capture: str,
        tables: str | None,
        where: Iterable[tuple[str, str]],
        partition_by: Iterable[tuple[str, str]],
        cube: Iterable[tuple[str, str]],
        workload: str | None,
        **others: Any,
    ) -> Any:
        foreseen = {
            "capture": capture,
            "tables": None if tables is None else [name.strip() for name in tables.split(",") if name.strip()],
            "where": {table: " AND ".join(f"({each})" for each in texts) for table, texts in _by_table(where).items()},
            "partition_by": _by_table(partition_by) or None,
            "cube": _by_table(cube) or None,
            "workload": [] if workload is None else split_script(read_sql(workload)),
        }
        return command(foreseen=foreseen, **others)

    return with_foreseen


def _by_table(given: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for table, text in given:
        found.setdefault(table, []).append(text)
    return found
