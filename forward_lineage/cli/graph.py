"""`forward-lineage graph`: pictures of the saved results and of one row's lineage."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import click

from forward_lineage.cli.checks import check_asked_about, check_result
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers
from forward_lineage.cli.plain_text import plain
from forward_lineage.cli.question_executors import ask
from forward_lineage.drawing import PAGE, check_format, check_installed
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.store.library.library import Library


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=".svg, .pdf, .png, or .html")
@click.option("--impact", metavar="'TABLE WHERE …'", help="Paint in what these rows touch: sales WHERE t_id = 4")
@click.option("--result", help="Draw the roBDD of rows of this saved result instead.")
@click.option("--row", "rows", type=Numbers(), help="The rows, by number from 0; some share their nodes.")
@click.option("--table", help="The base table.  [default: the only one]")
@click.option("--open", "open_it", is_flag=True, help="Open it in this machine's browser; without -o, as a page.")
@session_options
def graph(
    *,
    output: Path | None,
    impact: str | None,
    result: str | None,
    rows: list[int] | None,
    table: str | None,
    open_it: bool,
    opening: Opening,
) -> None:
    """Draw the pipeline of results and tables, with an impact painted in; or the roBDD of some rows' lineage.

    As .html the pipeline is a page, one file, on which results and rows can be clicked.

    \b
    forward-lineage graph --open --impact "lineitem WHERE l_orderkey = 7"
    forward-lineage graph -o pipeline.svg
    forward-lineage graph --result revenue --row 3 --table lineitem -o row.svg
    """  # noqa: D301 - \b keeps click from joining lines
    if (result is None) != (rows is None):
        raise click.UsageError("--result and --row go together: whose lineage is to be drawn")
    if result is not None and impact is not None:
        raise click.UsageError("--impact is about all results, --result about one: give one of the two")
    file = _file(output, result, open_it)
    where = _split(impact)
    if result is not None:
        check_result(opening, result)
    elif where[0] is not None:
        check_asked_about(opening, where[0])
    check_installed()
    from forward_lineage.cli import pictures  # noqa: PLC0415 - it needs what only drawing needs, an extra

    if result is not None and rows is not None:
        with opening.session("graph") as lineage:
            pictures.row_picture(lineage, result, rows, table).save(file)
    else:
        library = Library(home_folder(opening.home))
        ask(opening, "graph", lambda asked: pictures.save_pipeline(asked, library, where, file), where[1])
    click.echo(plain(str(file)))
    if open_it:
        webbrowser.open(file.absolute().as_uri())


def _file(output: Path | None, result: str | None, open_it: bool) -> Path:
    """The place of the picture: the one you gave, else a folder of temporary files."""
    if output is None:
        if not open_it:
            raise click.UsageError("say where it goes, with -o, or --open it")
        return Path(tempfile.mkdtemp(prefix="forward_lineage-")) / ("pipeline.html" if result is None else "row.svg")
    if result is not None and output.suffix.lower() == PAGE:
        raise click.UsageError("the page is of all results; a row is a picture: .svg, .pdf, .png")
    check_format(output, or_page=result is None)
    return output


def _split(impact: str | None) -> tuple[str | None, str | None]:
    """Take `TABLE WHERE …` or `TABLE` apart."""
    if impact is None:
        return None, None
    table, _, rest = impact.strip().partition(" ")
    word, _, where = rest.strip().partition(" ")
    if not table or (rest and (word.upper() != "WHERE" or not where.strip())):
        raise click.BadParameter(f"{impact!r} is not TABLE WHERE …, e.g. sales WHERE t_id = 4", param_hint="--impact")
    return table, where.strip() or None
