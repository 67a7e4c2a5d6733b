"""`forward-lineage check`: is what we say of a folder of SQL true?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from forward_lineage.checking.child import Settings
from forward_lineage.checking.corpus import Run
from forward_lineage.checking.data import tables_in
from forward_lineage.checking.outcomes import Law, Outcome, Rows
from forward_lineage.checking.scoreboard import Scoreboard
from forward_lineage.checking.statements import SqlFile, read_files
from forward_lineage.cli.answers import FOUND
from forward_lineage.cli.checks import check_home
from forward_lineage.cli.home_tables import files_in_home
from forward_lineage.cli.options import home_option, json_option, master_option
from forward_lineage.cli.plain_text import cell, in_one_line, plain, print_objects
from forward_lineage.cli.stopping import STOPPED
from forward_lineage.cli.tables import plain_table
from forward_lineage.row_ids.registration_store import home_folder
from udafs.errors import listed

_SEMANTICS = ("data", "control")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--data",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Tables: each Parquet, CSV, ORC or JSON file, or folder of them, under its name. Nothing is written there.",
)
@home_option
@click.option(
    "--semantics",
    type=click.Choice([*_SEMANTICS, "both"]),
    default="both",
    show_default=True,
    help="Which lineage; witnesses need control.",
)
@click.option("--rows", type=click.IntRange(min=0), default=5, show_default=True, help="Result rows to sample.")
@click.option(
    "--continue",
    "continued",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Continuations of each traced frame to try: columns dropped, joined, grouped, counted …",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds for a step of a statement, and for the laws of one; what takes longer is ended and counted.",
)
@click.option("--memory", default="4g", show_default=True, help="Heap of the process that runs the statements.")
@master_option
@json_option
def check(
    *,
    folder: Path,
    data: Path | None,
    home: Path | str | None,
    semantics: str,
    rows: int,
    continued: int,
    timeout: float,
    memory: str,
    master: str,
    as_json: bool,
) -> None:
    """Run every statement of every .sql file in FOLDER with lineage and without, and say what became of it.

    Rows are compared with those of plain Spark, and sampled lineage is tried: base tables cut down to it must give
    the row back. Statements run in processes of their own, in a scratch catalog, over the registered tables, the saved
    results and those of --data. Ends with 0 if nothing failed or differed and every lineage that was tried is right,
    else with 3.
    """
    files = read_files(folder)
    wanted = _SEMANTICS if semantics == "both" else (semantics,)
    tables = _tables(data, home)
    settings = Settings(master, memory, tables, wanted, rows, timeout, continued)
    board = _run(files, settings, as_json)
    if as_json:
        print_objects([{"scoreboard": board.to_json()}])
    else:
        _show(board, wanted)
    if not board.finished:
        raise click.exceptions.Exit(STOPPED)
    if not board.good:
        raise click.exceptions.Exit(FOUND)


def _tables(data: Path | None, home: Path | str | None) -> dict[str, Path]:
    """The tables that statements may read; those of `--data` stand before those of the home."""
    check_home(home)
    given = {} if data is None else tables_in(data)
    known, others = files_in_home(home_folder(home))
    if missing := [name for name in others if name.lower() not in given]:
        what = f"{listed(missing)} of the home cannot be read here: not in Parquet files on this machine"
        click.echo(in_one_line(f"Note: {what}. Copy the rows into a folder, and give it as --data."), err=True)
    return known | given


def _run(files: Sequence[SqlFile], settings: Settings, as_json: bool) -> Scoreboard:
    """Check every statement; Ctrl-C ends it with what there is so far."""
    board = Scoreboard()
    with _progress(sum(len(file.statements) for file in files)) as (now, done):
        entries = Run(files, settings, now).entries()
        try:
            for entry in entries:
                board.add(entry)
                done(entry.sql != "")
                if as_json:
                    print_objects([entry.to_json()])
        except KeyboardInterrupt:
            board.finished = False
        finally:
            entries.close()  # type: ignore[attr-defined]
    return board


@contextmanager
def _progress(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Show how many statements are done and which is run, where somebody can see it."""
    console = Console(stderr=True)
    columns = (
        TextColumn("checking"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[place]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total, place="")
        yield lambda place: bar.update(task, place=escape(plain(place))), lambda count: bar.advance(task, count)


def _show(board: Scoreboard, semantics: Sequence[str]) -> None:
    console = Console()
    console.print(f"{_several(board.statements, 'statement')} of {_several(len(board.files), 'file')}", highlight=False)
    click.echo(f"{board.seconds:,.0f} s", err=True)
    table = plain_table("", *semantics, right=semantics)
    for outcome in Outcome:
        if outcome not in board.outcomes:
            continue
        counts = board.outcomes[outcome]
        table.add_row(outcome, *(f"{counts[each]:,}" for each in semantics))
        for rows in Rows if outcome is Outcome.REWRITTEN else ():
            if rows in board.rows:
                table.add_row(f"  {rows}", *(f"{board.rows[rows][each]:,}" for each in semantics))
    console.print(table)
    _show_laws(console, board)
    for outcome, reasons in board.reasons.items():
        console.print(f"\n{outcome}, by reason", style="bold", highlight=False, markup=False)
        grouped = plain_table("first place", "times", "what", right=("times",))
        for _, reason in sorted(reasons.items(), key=lambda each: -each[1].count):
            grouped.add_row(cell(reason.place), f"{reason.count:,}", cell(reason.why))
        console.print(grouped)
    if board.bad:
        console.print("\nwrong", style="bold")
        wrong = plain_table("place", "what")
        for place, what in board.bad:
            wrong.add_row(cell(place), cell(what))
        console.print(wrong)


def _show_laws(console: Console, board: Scoreboard) -> None:
    laws = [("witness", board.laws.witness), ("necessity", board.laws.necessity)]
    if board.laws.frames != Law():
        laws.append(("frames", board.laws.frames))
    for name, law in laws:
        console.print(cell(f"{name}: {_said(law)}"))
    mean = board.minimality
    if mean is not None:
        count = len(board.laws.minimality)
        tried = _several(count, "row")
        console.print(f"minimality: lineage is {mean:.2f} times the smallest found, {tried}", highlight=False)
    if board.without_base_rows:
        console.print(f"without base rows: {_several(board.without_base_rows, 'rewritten statement')}", highlight=False)
    if not board.finished:
        console.print("interrupted: not every statement was tried", style="bold")


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _said(law: Law) -> str:
    skipped = "; ".join(f"{count:,} not tried: {why}" for why, count in sorted(law.not_tried.items()))
    return f"{law.held:,} held, {len(law.failed):,} failed" + (f"; {skipped}" if skipped else "")
