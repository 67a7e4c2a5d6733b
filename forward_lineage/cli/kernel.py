"""`forward-lineage kernel`: the jar for the `spark-sql` shell and for servers."""

from __future__ import annotations

from pathlib import Path

import click

from udafs.build import build_kernel


@click.command()
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to put the jar.")
def kernel(output: Path | None) -> None:
    """Build the jar with dlunion and the dl_* functions, and print its path.

    \b
    Use it without Python:
      spark-sql --jars kernel.jar \\
                --conf spark.sql.extensions=forwardlineage.LineageExtensions
    """  # noqa: D301 - \b keeps click from joining lines
    click.echo(build_kernel(output))
