"""Sizes, encoding and questions of array lineage beside the paper's figures.

    python -m tests.bench.arrays [--paper] [--only PART] [--operation NAME] [--json FILE]

By default arrays are so large that it takes some minutes. With --paper they have the paper's sizes: rivals write 82
million pairs and ask 250 million, which takes most of an hour, 4 GB of memory and 15 GB of disk.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from tests.bench.arrays import chains, encoding, questions, reuse, sizes


@click.command(help=__doc__)
@click.option("--most-cells", default=1_000_000, show_default=True, help="Of Fig. 7.")
@click.option("--most-pairs", default=2_000_000, show_default=True, help="Rivals are measured up to so many.")
@click.option("--rows", default=200_000, show_default=True, help="Matched rows of the relational pipeline of Fig. 8.")
@click.option("--paper", is_flag=True, help="The paper's sizes for all three.")
@click.option("--runs", default=5, show_default=True, help="Of each question; the median counts.")
@click.option("--only", type=click.Choice(["sizes", "encoding", "questions", "pipelines", "reuse"]), help="One part.")
@click.option("--operation", "names", multiple=True, help='Of Table VII, such as "group by"; all by default.')
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write all figures to this file.")
def main(
    most_cells: int,
    most_pairs: int,
    rows: int,
    paper: bool,
    runs: int,
    only: str | None,
    names: tuple[str, ...],
    file: Path | None,
) -> None:
    """Measure, and print."""
    if paper:
        most_cells, most_pairs, rows = 10_000_000, 100_000_000, 6_280_000
    console = Console(width=160)
    found: dict[str, object] = {}
    if only in (None, "sizes"):
        found["sizes"] = sizes.measure(most_pairs, names)
        sizes.show(console, found["sizes"])
    if only in (None, "encoding"):
        found["encoding"] = encoding.measure(most_cells, runs)
        encoding.show(console, found["encoding"])
    if only in (None, "questions"):
        found["questions"] = questions.measure(rows, runs)
        questions.show(console, found["questions"])
    if only in (None, "pipelines"):
        found["pipelines"] = chains.measure(runs)
        chains.show(console, found["pipelines"])
    if only in (None, "reuse"):
        found["reuse"] = reuse.measure()
        reuse.show(console, found["reuse"])
    if file:
        file.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
