"""Steps on many random inputs: ``python -m tests.forward_lineage.steps``, with ``--graphs N`` and the like.

It ends with 1 if a plan costs more than the best of all plans, if keeping costs more than 1.25 of the best in the
median, or if an answer of an edited pipeline is stale. The figures of other ways of keeping stand beside ours.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from forward_lineage.steps import running
from tests.forward_lineage.steps.edit_sequences import (
    best_cost,
    cost_of,
    keep_all,
    keep_nothing,
    marginal,
    random_sequence,
    thesis,
)
from tests.forward_lineage.steps.every_plan import trials
from tests.forward_lineage.steps.sessions import stale_answers

MOST = 1.25


def main() -> int:
    """Try both, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000, help="random graphs of up to 12 steps")
    parser.add_argument("--sequences", type=int, default=1_000, help="random sequences of edits")
    parser.add_argument("--sessions", type=int, default=1_250, help="random pipelines, each edited seven times")
    parser.add_argument("--spark", type=int, default=0, help="random pipelines over tables of Spark, the same")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    wrong = trials(told.graphs, told.seed)
    print(f"{told.graphs:,} graphs, {len(wrong):,} plans that are not the best", *wrong[:20], sep="\n  ")
    good = _keeping_is_good(told.sequences, told.seed)
    return int(bool(wrong) or not good or _stale(told.sessions, told.seed) or _stale_on_spark(told.spark, told.seed))


def _stale(count: int, seed: int) -> bool:
    """Costs are random numbers, so that plans differ; runs so short would keep nothing."""
    costs = random.Random(seed)
    cost = lambda *_: costs.randint(0, 10**6)  # noqa: E731
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(running, "_microseconds", cost),
        patch.object(running, "_time_to_read", cost),
    ):
        wrong, loaded = stale_answers(count, seed, Path(folder))
    print(f"{8 * count:,} runs, {loaded:,} results loaded, {len(wrong):,} stale answers", *wrong[:5], sep="\n")
    return bool(wrong)


def _stale_on_spark(count: int, seed: int) -> bool:
    if not count:
        return False
    from forward_lineage import ForwardLineage  # noqa: PLC0415 - the rest needs no Spark
    from forward_lineage.spark.local import local_session  # noqa: PLC0415
    from tests.forward_lineage.steps.spark_sessions import stale_spark_answers  # noqa: PLC0415

    costs = random.Random(seed)
    cost = lambda *_: costs.randint(0, 10**6)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session(
            "steps", master="local[2]", driver_memory="2g", log=Path(folder) / "spark.log", spark__ui__enabled="false"
        )
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        try:
            with patch.object(running, "_microseconds", cost), patch.object(running, "_time_to_read", cost):
                lineage = ForwardLineage(spark, home=Path(folder) / "home")
                wrong, loaded, updated = stale_spark_answers(lineage, count, seed, Path(folder))
        finally:
            spark.stop()
    said = f"{8 * count:,} runs on Spark, {loaded:,} results loaded, {updated:,} brought up to date"
    print(f"{said}, {len(wrong):,} stale answers", *wrong[:5], sep="\n")
    return bool(wrong)


def _keeping_is_good(count: int, seed: int) -> bool:
    sequences = [random_sequence(random.Random(f"{seed} {number}")) for number in range(count)]
    if not sequences:
        return True
    best = [best_cost(each) for each in sequences]
    medians = {}
    for policy in (marginal, thesis, keep_all, keep_nothing):
        ratios = sorted(cost_of(each, policy) / least for each, least in zip(sequences, best, strict=True))
        medians[policy] = statistics.median(ratios)
        figures = f"median {medians[policy]:.3f}, mean {statistics.mean(ratios):.3f}"
        ninth = ratios[int(0.9 * count)]
        print(f"{count:,} sequences, {policy.__name__}: {figures}, 90 % below {ninth:.3f}, at most {ratios[-1]:.3f}")
    return medians[marginal] <= MOST


if __name__ == "__main__":
    sys.exit(main())
