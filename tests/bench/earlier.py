"""What reading and saving cost beside an earlier commit of this project, in turns.

    python -m tests.bench.earlier COMMIT [--scale 1] [--rounds 4] [--runs 5]

The commit is checked out beside this one. Each round starts a process of either, in changing order: it registers tables
in a new home, scans them with ids, saves queries and asks for the lineage of a row, through public names alone. The
ratio of a round is this checkout's median over the earlier one's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from tests.bench.commits import tree_of
from tests.bench.row_ids import split
from tests.structure import REPOSITORY
from tpch_queries.data import generate

_STEPS = Path(__file__).with_name("earlier_steps.py")
BAR = 1.05

Seconds = dict[str, list[float]]


@click.command()
@click.argument("commit")
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--files", default=1000, show_default=True, help="Small files that the rows of lineitem are in, too.")
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(1), help="Processes of either.")
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Runs of each step in a process.")
def main(commit: str, scale: float, files: int, rounds: int, runs: int) -> None:
    """Measure and print."""
    tables = generate(scale)
    with tempfile.TemporaryDirectory(prefix="earlier-") as folder, tree_of(commit) as earlier:
        scratch = Path(folder)
        small = split(tables / "lineitem.parquet", scratch / "small", files)
        # The steps are started as a file of their own: a module's folder would come before the checkout's.
        steps = Path(shutil.copy(_STEPS, scratch))
        taken: dict[Path, list[Seconds]] = defaultdict(list)
        for number in range(rounds):
            checkouts = (earlier, REPOSITORY) if number % 2 == 0 else (REPOSITORY, earlier)
            for checkout in checkouts:
                taken[checkout].append(steps_of(checkout, steps, [tables, small, scratch, runs]))
    Console().print(table(taken[earlier], taken[REPOSITORY]))


def steps_of(checkout: Path, steps: Path, arguments: list[object]) -> Seconds:
    """Return the seconds of each step's runs, in a process that imports that checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, str(steps), *map(str, arguments)]
    # Python workers of Spark look into the working folder first, which must be no checkout.
    done = subprocess.run(command, env=environment, cwd=steps.parent, stdout=subprocess.PIPE, check=True, text=True)
    told: dict[str, object] = json.loads(done.stdout)
    assert told["code"] == str(checkout), f"{told['code']} was imported, not {checkout}"
    return told["seconds"]  # type: ignore[return-value]


def table(before: list[Seconds], now: list[Seconds]) -> Table:
    """Return a row a step: milliseconds of either, and the ratios within a round."""
    drawn = Table("step", "before, ms", "now, ms", "ratio", "of the rounds", "bar", box=None)
    for step in now[0]:
        pairs = [(median(one[step]), median(other[step])) for one, other in zip(before, now, strict=True)]
        ratios = sorted(after / earlier for earlier, after in pairs)
        drawn.add_row(
            step,
            *(f"{1000 * median(side):,.1f}" for side in zip(*pairs, strict=True)),
            f"{median(ratios):.2f}",
            f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
            "kept" if median(ratios) <= BAR else f"above {BAR}",
        )
    return drawn


if __name__ == "__main__":
    main()
