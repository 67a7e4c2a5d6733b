"""Features as an array, a model, saved predictions, and questions about them, beside what each costs without lineage.

    python -m tests.bench.models [--rows 1000000] [--columns 20]

Ratios are of seconds by the clock: run it on a quiet machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from pyspark.sql import SparkSession
from sklearn.linear_model import Ridge

from forward_lineage import ForwardLineage


@click.command(help=__doc__)
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--columns", default=20, show_default=True)
@click.option("--runs", default=3, show_default=True, help="Of each; the median counts.")
def main(rows: int, columns: int, runs: int) -> None:
    """Measure, and print."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.maxResultSize", "2g")
        .getOrCreate()
    )
    with TemporaryDirectory() as folder:
        lineage = ForwardLineage(spark, Path(folder) / "home")
        names = [f"f{at}" for at in range(columns)]
        numbers = [f"(id * {7919 + at} % 100003) / 100003D AS {name}" for at, name in enumerate(names)]
        spark.range(rows).selectExpr("id AS c_id", *numbers).write.parquet(f"{folder}/customers")
        lineage.register("customers", path=f"{folder}/customers")
        lineage.save("SELECT * FROM customers", "features")
        _arrays(lineage, names, runs)
        _predictions(lineage, names, Path(folder), runs)
        _questions(lineage, rows, runs)


def _arrays(lineage: ForwardLineage, names: list[str], runs: int) -> None:
    def collected() -> Any:
        table = lineage.result("features").select(*names).toArrow()
        return np.stack([column.to_numpy() for column in table.columns], axis=1)

    plain = _timed(collected, runs)
    tracked = _timed(lambda: lineage.to_array("features", names), runs)
    _tell("collect the rows", plain)
    _tell("to_array", tracked, f"{tracked.clock / plain.clock:.2f} times; at most 1.3")


def _predictions(lineage: ForwardLineage, names: list[str], folder: Path, runs: int) -> None:
    x = lineage.to_array("features", names)
    half = len(x) // 2
    model = lineage.fit(Ridge(), x[:half], x[:half, 0], name="churn")
    scores = model.predict(x)

    def plainly(*, synced: bool) -> None:
        for name, array in (("scores", scores.values), ("ids", np.arange(len(x)))):
            with (folder / f"{name}.npy").open("wb") as file:
                np.save(file, array)
                if synced:
                    file.flush()
                    os.fsync(file.fileno())

    plain = _timed(partial(plainly, synced=False), runs)
    durable = _timed(partial(plainly, synced=True), runs)
    saved = _timed(lambda: lineage.save(scores, "scores"), runs)
    _tell("np.save of scores and ids", plain)
    _tell(
        "the same, brought to the disk as ours is", durable, f"save of scores takes {saved.clock / durable.clock:.2f}"
    )
    _tell(
        "save of scores",
        saved,
        f"{saved.clock / plain.clock:.2f} times, {saved.cpu / plain.cpu:.2f} of CPU; at most 1.3",
    )


def _questions(lineage: ForwardLineage, rows: int, runs: int) -> None:
    questions = lineage._parts.questions
    for through in ("row", "model", "all"):
        asked = partial(lineage.backward_ids, "scores", cells=np.s_[rows // 3], table="customers", through=through)
        _tell(f"backward of a cell, {through}", _timed(asked, 5 * runs))
    ids = range(rows // 4, rows // 4 + 1000)
    _tell("impact of 1,000 rows", _timed(lambda: questions.impacted("customers", ids=ids), 5 * runs))
    _tell("impact of 1,000 rows, as a frame", _timed(lambda: lineage.impact("customers", ids=ids).collect(), runs))
    words = ["backward", "scores", "--rows", "5", "--table", "churn", "--home", str(lineage.home)]
    command = [sys.executable, "-m", "forward_lineage", *words]
    _tell(
        "a question from the command line",
        _timed(lambda: subprocess.run(command, check=True, capture_output=True), runs),
    )


class Seconds(NamedTuple):
    """What a call takes, by the clock and of this process's CPU; that of Spark and of other programs is not in it."""

    clock: float
    cpu: float


def _timed(call: Callable[[], Any], runs: int) -> Seconds:
    """Time a call, in the median; the first one warms up."""
    call()
    found = []
    for _ in range(runs):
        before, cpu = time.perf_counter(), time.process_time()
        call()
        found.append((time.perf_counter() - before, time.process_time() - cpu))
    return Seconds(*(statistics.median(each) for each in zip(*found, strict=True)))


def _tell(what: str, took: Seconds, more: str = "") -> None:
    click.echo(f"{what:40} {1000 * took.clock:10.1f} ms {1000 * took.cpu:10.1f} ms of CPU  {more}")


if __name__ == "__main__":
    main()
