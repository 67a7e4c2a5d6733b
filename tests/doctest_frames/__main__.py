"""How many DataFrames of PySpark's own doctests are traced, and that their rows stay what they are.

    python -m tests.doctest_frames
    python -m tests.doctest_frames --modules window,group --part 1/2 --only DataFrame.agg

Data of the examples are registered as tables first. Each DataFrame that an example evaluates is traced; columns, types
and rows are compared with its own. The exit code is 1 if one fails or differs, or if less than 80 % are traced.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from doctest import DocTest
from pathlib import Path
from typing import TextIO

import click
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from tests.doctest_frames.examples import MODULES, Example, TablesOfData, doctests, run
from tests.doctest_frames.judging import Judged, Verdict, judged
from tests.spark_settings import INTERPRETED

BAR = 0.8
SECONDS = 120  # for one example


@dataclass
class Scores:
    """What was found: verdicts, why, and what of PySpark's own did not run."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: Counter[tuple[Verdict, str]] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, found: Judged) -> None:
        self.verdicts[found.verdict] += 1
        if found.why and found.verdict is not Verdict.CHANCE:
            self.reasons[found.verdict, found.reason] += 1

    @property
    def over_tables(self) -> int:
        outside = self.verdicts[Verdict.NO_TABLE] + self.verdicts[Verdict.BROKEN]
        return self.verdicts.total() - outside

    @property
    def traced(self) -> int:
        return self.verdicts[Verdict.TRACED] + self.verdicts[Verdict.CHANCE]

    @property
    def is_good(self) -> bool:
        wrong = self.verdicts[Verdict.FAILED] + self.verdicts[Verdict.DIFFERENT]
        return wrong == 0 and self.traced >= BAR * self.over_tables

    def report(self) -> str:
        lines = [f"{count:6,} {verdict.value}" for verdict, count in self.verdicts.most_common()]
        lines += ["", "reasons:"]
        lines += [f"{count:6,} {verdict.value}: {why}" for (verdict, why), count in self.reasons.most_common()]
        if self.broken:
            lines += ["", f"examples that ended with an error of their own: {self.broken.total():,}"]
            lines += [f"{count:6,} {error}" for error, count in self.broken.most_common(15)]
        share = self.traced / max(self.over_tables, 1)
        return "\n".join([*lines, "", f"{share:.1%} of {self.over_tables:,} over tables are traced"])


def judge(
    tests: Sequence[DocTest], lineage: ForwardLineage, seconds: int = 0
) -> Iterator[tuple[Example, list[Judged]]]:
    """Run doctests, and judge what each example evaluates."""
    spark = TablesOfData(lineage)
    for test in tests:
        for example in run(test, spark, seconds):
            no_table = spark.refused[-1] if spark.refused else None
            yield example, [judged(frame, lineage, no_table) for frame in example.frames]
        spark.clear()


def _session(scratch: Path) -> SparkSession:
    """Small data, many queries: nothing is compiled."""
    settings = {name.replace(".", "__"): value for name, value in INTERPRETED.items()}
    return local_session(
        "doctests",
        master="local[1]",
        driver_memory="2g",
        log=scratch / "spark.log",
        spark__sql__shuffle__partitions="1",
        spark__sql__adaptive__enabled="false",
        spark__sql__warehouse__dir=str(scratch / "warehouse"),
        **settings,
    )


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--modules", default=",".join(MODULES), show_default=True)
@click.option("--part", default="1/1", show_default=True, help="2/3: every third doctest, from the second on.")
@click.option("--only", default="", help="What the name of a doctest has in it.")
@click.option("--after", default="", help="The last doctest that need not be run: to go on with what was stopped.")
@click.option("--out", type=click.File("w"), help="A line of JSON for each DataFrame.")
def main(modules: str, part: str, only: str, after: str, out: TextIO | None) -> None:
    """Trace and compare."""
    place, parts = map(int, part.split("/"))
    tests = [each for each in doctests(modules.split(",")) if only in each.name and each.name > after][
        place - 1 :: parts
    ]
    scores, start = Scores(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="doctests-") as scratch:
        spark = _session(Path(scratch))
        try:
            for example, verdicts in judge(tests, ForwardLineage(spark, Path(scratch) / "home"), SECONDS):
                _note(scores, example, verdicts, out)
        finally:
            spark.stop()
    print(f"{len(tests):,} doctests, {time.monotonic() - start:,.0f} s\n{scores.report()}")
    sys.exit(not scores.is_good)


def _note(scores: Scores, example: Example, verdicts: list[Judged], out: TextIO | None) -> None:
    if example.error:
        scores.broken[example.error.split("\n", 1)[0][:100]] += 1
    for found in verdicts:
        scores.add(found)
        if found.verdict in (Verdict.FAILED, Verdict.DIFFERENT):
            print(f"{found.verdict.value}: {example.test}: {example.source}\n  {found.why}", flush=True)
    if out:
        for found in verdicts:
            told = {"test": example.test, "source": example.source, "verdict": found.verdict.value, "why": found.why}
            print(json.dumps(told), file=out, flush=True)


if __name__ == "__main__":
    main()
