"""The campaign as a command; see `tests.updates`."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.oracle.session import oracle_session
from tests.shared_state import drop_views
from tests.updates.campaign import Trial, Verdict
from tests.updates.spoiled import SPOILED

_SHOWN = 3


def verdicts(
    spark: SparkSession, scratch: Path, first_seed: int, spoilt: Callable[[], Sequence[str]]
) -> Iterator[tuple[int, Verdict]]:
    """Yield (seed, verdict) without end, each seed in a home of its own."""
    for seed in itertools.count(first_seed):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            trial = Trial(ForwardLineage(spark, Path(folder) / "home"), Path(folder) / "t", seed)
            yield from ((seed, verdict) for verdict in trial.verdicts(spoilt()))
        drop_views(spark)


@click.command()
@click.option("--cases", default=300, show_default=True, help="Results × edits.")
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--spoil", is_flag=True, help="Disable each rule on purpose, too; all must be caught.")
@click.option("--state", type=click.Path(path_type=Path), help="A file of what was tried: go on from there.")
def main(cases: int, seed: int, spoil: bool, state: Path | None) -> None:
    """Compare what `update` leaves with the interpreter; exit code 1 if a result is wrong, or a spoilt rule passes."""
    before = json.loads(state.read_text()) if state is not None and state.exists() else {"next": seed, "ways": {}}
    ways: Counter[str] = Counter(before["ways"])
    caught: dict[str, int] = {}
    wrong, began, seed = 0, time.monotonic(), before["next"]

    def at_large() -> list[str]:
        return [rule for rule in SPOILED if spoil and rule not in caught]

    with tempfile.TemporaryDirectory() as scratch, oracle_session(Path(scratch)) as spark:
        for at, verdict in verdicts(spark, Path(scratch), seed, at_large):
            if state is not None and at > before["next"]:
                before = {"next": at, "ways": dict(ways)}
                state.write_text(json.dumps(before))
            if verdict.way in SPOILED:
                if verdict.way not in caught:
                    print(f"caught {verdict.way} by seed {at}: {verdict.wrong}", flush=True)
                caught.setdefault(verdict.way, sum(ways.values()))
                continue
            ways[verdict.way] += 1
            if verdict.wrong is not None:
                wrong += 1
                print(f"seed {at}: {verdict.wrong}", flush=True)
            if sum(ways.values()) >= cases or wrong >= _SHOWN:
                break
            if sum(ways.values()) % 18 == 0:
                print(f"{dict(ways)}, {time.monotonic() - began:.0f} s", flush=True)
        print(f"{sum(ways.values())} cases, {wrong} wrong, {dict(ways)}, {time.monotonic() - began:.0f} s")
        if spoil:
            print(f"caught: {caught}; not caught: {at_large()}")
        sys.exit(bool(wrong or at_large()))


main()
