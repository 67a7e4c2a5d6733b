"""Pipelines with models by the thousand, and their lineage against brute force.

python -m tests.models --cases 2000 --seed 1
python -m tests.models --case 17 --seed 1
"""

from __future__ import annotations

import sys

import click

from tests.models.brute import Found, try_case
from tests.models.cases import case_of


@click.command(help=__doc__)
@click.option("--cases", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--case", "number", type=int, help="This one only.")
def main(cases: int, seed: int, number: int | None) -> None:
    """Try cases, and print what is missing."""
    found = Found()
    for each in range(cases) if number is None else [number]:
        try_case(case_of(each, seed), found)
        if each % 100 == 99:
            click.echo(f"{each + 1} cases, {len(found.missing)} missing", err=True)
    for name, count in sorted(found.counts.items()):
        click.echo(f"{count:10,} {name}")
    for name, count in found.refused.most_common():
        click.echo(f"{count:10,} refused: {name}")
    for each in found.missing[:20]:
        click.echo(f"missing: {each}")
    click.echo(f"{cases if number is None else 1} cases, {len(found.missing)} missing")
    sys.exit(bool(found.missing))


main()
