"""`forward-lineage profile`: which constraints hold in a table, which values violate them, and in which rows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any, Literal

import click
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from forward_lineage.cli.answers import FOUND
from forward_lineage.cli.column_checks import check_constraints
from forward_lineage.cli.frame_rows import json_lines
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import json_option
from forward_lineage.cli.plain_text import UNCHECKED, cell, in_one_line, print_objects
from forward_lineage.cli.tables import plain_table, show
from forward_lineage.profiling.verdict import Verdict
from forward_lineage.session import ForwardLineage
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.progress import spark_progress
from forward_lineage.spark.versions import arrow_frame

_VALUES = 6


@click.command()
@click.argument("table")
@click.argument("constraints", nargs=-1, required=True)
@click.option(
    "--nulls",
    type=click.Choice(["unknown", "equal"]),
    default="unknown",
    show_default=True,
    help="Whether what has a NULL in it is not compared, or NULL is a value like others.",
)
@click.option("--save", "prefix", metavar="PREFIX", help="Save the violations of each, as PREFIX_<constraint>.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Violations to show of each constraint."
)
@json_option
@session_options
def profile(
    *,
    table: str,
    constraints: Sequence[str],
    nulls: Literal["unknown", "equal"],
    prefix: str | None,
    limit: int,
    as_json: bool,
    opening: Opening,
) -> None:
    """Check CONSTRAINTS in TABLE, a registered table or saved result, and show what violates them.

    A constraint is "zip -> city, state", "key(npi, joined)", "state in states(code)", "not (members < 0)" or
    "not (t.npi = u.npi and t.zip <> u.zip)"; attributes are columns or expressions over them. With --json each is one
    object, its first violations in it. Ends with 0 if all hold, else with 3.
    """
    check_constraints(opening, table, constraints)
    with opening.session("profile") as lineage:
        with spark_progress(lineage.spark, f"profiling {table}") as tell:
            verdicts = lineage.dependencies(table, constraints, nulls=nulls, save=prefix, progress=tell)
        if any(verdict.trusted for verdict in verdicts):
            click.echo(f"Note: {in_one_line(table)}: on trust. {UNCHECKED}", err=True)
        if as_json:
            print_objects(_object(lineage, verdict, limit) for verdict in verdicts)
        else:
            _show(verdicts, limit)
    if not all(verdict.holds for verdict in verdicts):
        raise click.exceptions.Exit(FOUND)


def _object(lineage: ForwardLineage, verdict: Verdict, limit: int) -> dict[str, Any]:
    shown = _first(verdict, limit)
    lines = json_lines(arrow_frame(lineage.spark, shown)) if shown.num_rows else []
    return {
        "constraint": verdict.constraint,
        "kind": verdict.kind,
        "holds": verdict.holds,
        "table": verdict.table,
        "version": verdict.version,
        "violations": verdict.count,
        "rows": verdict.rows().cardinality,
        "saved": verdict.saved_as,
        "first": [json.loads(line) for line in lines],
    }


def _first(verdict: Verdict, limit: int) -> pa.Table:
    """The first violations: each as a row, and the values of its rows in the attributes on the right."""
    shown = verdict.violations.slice(0, limit)
    values = [verdict.values(place) for place in range(shown.num_rows)]
    columns = {"violation": shown.to_struct_array()}
    if values and values[0]:
        listed = {name: _lists([each[name] for each in values]) for name in values[0]}
        columns["values"] = pa.StructArray.from_arrays(listed.values(), list(listed))
    return pa.table(columns)


def _lists(tables: Sequence[pa.Table]) -> pa.Array:
    """Each table as a list of its rows."""
    ends = itertools.accumulate((each.num_rows for each in tables), initial=0)
    rows = pa.concat_tables(tables).combine_chunks().to_struct_array()
    return pa.ListArray.from_arrays(pa.array(list(ends), pa.int32()), pa.concat_arrays(rows.chunks))


def _show(verdicts: Sequence[Verdict], limit: int) -> None:
    console = Console()
    found = plain_table("constraint", "holds", "violations", "rows", right=("violations", "rows"))
    for verdict in verdicts:
        rows = verdict.rows().cardinality
        found.add_row(cell(verdict.constraint), "yes" if verdict.holds else "no", f"{verdict.count:,}", f"{rows:,}")
    console.print(found)
    for verdict in verdicts:
        if not verdict.holds and limit:
            console.print()
            console.print(_violations(verdict, limit))
            if verdict.count > limit:
                click.echo(f"the first {limit:,} of {verdict.count:,}; --limit shows more")
        if verdict.saved_as is not None:
            click.echo(in_one_line(f"saved {verdict.saved_as}: {counted(verdict.count, 'row')}"))


def _violations(verdict: Verdict, limit: int) -> Table:
    shown = verdict.violations.slice(0, limit).to_pylist()
    told = verdict.values(0)
    users = [name for name in verdict.violations.column_names if name not in verdict.counts]
    numbers = [name for name in users if pa.types.is_integer(verdict.violations.schema.field(name).type)]
    table = plain_table(*users, *told, right=numbers, title=verdict.constraint)
    for place, row in enumerate(shown):
        values = verdict.values(place)
        table.add_row(*(cell(show(row[name])) for name in users), *(cell(_listed(values[name])) for name in told))
    return table


def _listed(values: pa.Table) -> str:
    """Values with their numbers of rows."""
    first = values.slice(0, _VALUES).to_pylist()
    more = f", … {values.num_rows - len(first):,} more" if values.num_rows > len(first) else ""
    return ", ".join(f"{show(each['value'])} ({each['rows']:,})" for each in first) + more
