"""`forward-lineage graph`: pictures of the saved results and of one row's lineage."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers
from forward_lineage.cli.plain_text import plain
from forward_lineage.drawing import check_installed


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help=".svg, .pdf, .png")
@click.option("--impact", metavar="'TABLE WHERE …'", help="Paint in what these rows touch: sales WHERE t_id = 4")
@click.option("--result", help="Draw the roBDD of rows of this saved result instead.")
@click.option("--row", "rows", type=Numbers(), help="The rows, by number from 0; some share their nodes.")
@click.option("--table", help="The base table.  [default: the only one]")
@session_options
def graph(
    *,
    output: Path,
    impact: str | None,
    result: str | None,
    rows: list[int] | None,
    table: str | None,
    opening: Opening,
) -> None:
    """Draw which results were made of which tables, with an impact painted in; or the roBDD of some rows' lineage.

    \b
    forward-lineage graph -o pipeline.svg
    forward-lineage graph --impact "lineitem WHERE l_orderkey = 7" -o impact.svg
    forward-lineage graph --result revenue --row 3 --table lineitem -o row.svg
    """  # noqa: D301 - \b keeps click from joining lines
    if (result is None) != (rows is None):
        raise click.UsageError("--result and --row go together: whose lineage is to be drawn")
    if result is not None and impact is not None:
        raise click.UsageError("--impact is about all results, --result about one: give one of the two")
    where = _split(impact)
    check_installed()
    from forward_lineage.cli import pictures  # noqa: PLC0415 - it needs what only drawing needs, an extra

    with opening.session("graph") as lineage:
        if result is not None and rows is not None:
            picture = pictures.row_picture(lineage, result, rows, table)
        else:
            picture = pictures.pipeline_picture(lineage, *where)
        picture.save(output)
    click.echo(plain(str(output)))


def _split(impact: str | None) -> tuple[str | None, str | None]:
    """Take `TABLE WHERE …` or `TABLE` apart."""
    if impact is None:
        return None, None
    table, _, rest = impact.strip().partition(" ")
    word, _, where = rest.strip().partition(" ")
    if not table or (rest and (word.upper() != "WHERE" or not where.strip())):
        raise click.BadParameter(f"{impact!r} is not TABLE WHERE …, e.g. sales WHERE t_id = 4", param_hint="--impact")
    return table, where.strip() or None
