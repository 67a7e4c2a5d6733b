"""The campaign as a command; see `tests.explaining`."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

from forward_lineage import ForwardLineage
from tests.explaining import sums
from tests.explaining.campaign import Trial
from tests.oracle.session import oracle_session
from tests.shared_state import drop_views

_SHOWN = 5


def _verdicts(what: str, first: int) -> Iterator[tuple[int, str | None]]:
    if what == "sums":
        yield from ((seed, verdict) for seed in itertools.count(first) for verdict in sums.verdicts(seed))
    with tempfile.TemporaryDirectory() as scratch, oracle_session(Path(scratch)) as spark:
        for seed in itertools.count(first):
            trial = Trial(ForwardLineage(spark, Path(scratch) / f"home-{seed}"), seed)
            verdicts = trial.compared() if what == "compare" else trial.followed()
            yield from ((seed, verdict) for verdict in verdicts)
            drop_views(spark)


@click.command()
@click.argument("what", type=click.Choice(["sums", "compare", "why-not"]))
@click.option("--cases", default=200, show_default=True, help="Groups, pairs of versions, or questions.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
def main(what: str, cases: int, seed: int) -> None:
    """Judge reasons; exit code 1 if one is wrong."""
    tried = wrong = 0
    began = time.monotonic()
    for at, verdict in _verdicts(what, seed):
        tried += 1
        if verdict is not None:
            wrong += 1
            print(f"seed {at}: {verdict}", flush=True)
        if tried >= cases or wrong >= _SHOWN:
            break
        if tried % 50 == 0:
            print(f"{tried} cases, {wrong} wrong, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{tried} cases, {wrong} wrong, {time.monotonic() - began:.0f} s")
    sys.exit(bool(wrong))


main()
