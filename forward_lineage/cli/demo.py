"""`forward-lineage demo`: see forward_lineage/demo.py for what it shows."""

from __future__ import annotations

import click
from rich.console import Console


@click.command()
@click.option(
    "--scale", type=click.FloatRange(min=0, min_open=True), default=0.1, show_default=True, help="TPC-H scale factor."
)
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
def demo(scale: float, master: str) -> None:
    """Show the paper's store example and a TPC-H query, with the base rows of their results."""
    from forward_lineage.demo import run_demo  # noqa: PLC0415 - it needs the TPC-H data, an extra

    run_demo(Console(highlight=False), scale, master)
