"""The campaign as a command; see `tests.updates`."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import click
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import drop_views
from tests.oracle.session import oracle_session
from tests.updates.campaign import Trial, Verdict
from tests.updates.spoiled import SPOILED

_SHOWN = 3


def verdicts(spark: SparkSession, scratch: Path, first_seed: int) -> Iterator[tuple[int, Verdict]]:
    """Yield (seed, verdict) without end, each seed in a home of its own."""
    for seed in itertools.count(first_seed):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            trial = Trial(ForwardLineage(spark, Path(folder) / "home"), Path(folder) / "t", seed)
            yield from ((seed, verdict) for verdict in trial.verdicts())
        drop_views(spark)


@click.command()
@click.option("--cases", default=300, show_default=True, help="Results × edits.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--spoil", type=click.Choice(list(SPOILED)), help="Disable a rule; it must be caught within --cases.")
def main(cases: int, seed: int, spoil: str | None) -> None:
    """Compare what `update` leaves with the interpreter; exit code 1 if a result is wrong, or a spoilt rule is not."""
    ways: Counter[str] = Counter()
    wrong: list[str] = []
    began = time.monotonic()
    spoilt = SPOILED[spoil]() if spoil else nullcontext()
    with tempfile.TemporaryDirectory() as scratch, oracle_session(Path(scratch)) as spark, spoilt:
        for number, (at, verdict) in enumerate(verdicts(spark, Path(scratch), seed), 1):
            ways[verdict.way] += 1
            if verdict.wrong is not None:
                wrong.append(f"seed {at}: {verdict.wrong}")
                print(wrong[-1], flush=True)
            if number >= cases or len(wrong) >= (1 if spoil else _SHOWN):
                break
            if number % 18 == 0:
                print(f"{number}: {dict(ways)}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{sum(ways.values())} cases, {len(wrong)} wrong, {dict(ways)}, {time.monotonic() - began:.0f} s")
    sys.exit(bool(wrong) != bool(spoil))


main()
