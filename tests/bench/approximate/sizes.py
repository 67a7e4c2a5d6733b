"""The thesis' queries beside Spark, from files: ``python -m tests.bench.approximate.sizes [size] [folder]``.

F1–F9, T1, T2, P1 and P2 at δ = 10⁻¹⁵, over generated Parquet of `size` times 121, 50 and 6 million rows (1), none of
them twice. A folder that has the tables already is read, and kept; else they are made there, and deleted at the end.
All is asked through `lineage`, as a user does. Spark and DuckDB give the exact answers from the same files,
warm: the second time counts. Of each the clock and the processor's seconds are printed; with other programs beside,
believe the latter. Spark has two cores, so at best its clock shows half of these. Rows are all of a group where adding
them up takes less time; `queries` compares rows. It ends with 1 where one is wrong.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.approximate.answer import ApproximateAnswer
from tests.bench.approximate.generated import ROWS, written
from tests.bench.approximate.queries import GROUPS, INDEXES, QUERIES, is_right

_COLUMNS = {"flights": ["dep_delay", "dep_time"], "taxi": ["distance", "fare"], "police": ["violations"]}
_CORES = 2
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Took:
    """How long something took.

    Attributes:
        clock: seconds by the clock.
        cpu: seconds of the processor, of this process and Spark's.

    """

    clock: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.clock:7.2f} s ({self.cpu:7.2f} CPU)"


class Timer:
    """Times calls.

    Args:
        spark: whose process counts, too.

    """

    def __init__(self, spark: SparkSession) -> None:
        handle: Any = spark._jvm
        self._java = Path(f"/proc/{handle.java.lang.ProcessHandle.current().pid()}/stat")

    def of(self, call: Callable[[], Any]) -> tuple[Any, Took]:
        clock, cpu = time.perf_counter(), self._cpu()
        found = call()
        return found, Took(time.perf_counter() - clock, self._cpu() - cpu)

    def _cpu(self) -> float:
        used = self._java.read_text().rpartition(")")[2].split()
        return time.process_time() + (int(used[11]) + int(used[12])) / _TICK


def main() -> int:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    there = given if given is not None and all((given / name).is_dir() for name in ROWS) else None
    folder = Path(tempfile.mkdtemp(prefix="sizes-", dir=given))
    builder = SparkSession.builder.master(f"local[{_CORES}]").config("spark.driver.memory", "2g")
    spark = (
        builder.config("spark.sql.shuffle.partitions", 4)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        return _all(spark, size, folder, there)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _all(spark: SparkSession, size: float, folder: Path, there: Path | None) -> int:
    timer, wrong, done, faster, slower = Timer(spark), [], 0, 0, []
    for name in ROWS:
        files = written(name, size, folder) if there is None else there / name
        spark.read.parquet(str(files)).createOrReplaceTempView(name)
        lineage = ForwardLineage(spark, home=folder / f"home-{name}")
        _, registered = timer.of(
            lambda lineage=lineage, files=files, name=name: lineage.register(name, path=str(files))
        )
        of, took = timer.of(
            lambda lineage=lineage, name=name: lineage.scramble(name, columns=_COLUMNS[name], groups=GROUPS[name])
        )
        _, indexed = timer.of(lambda of=of, name=name: [of.index(columns) for columns in INDEXES[name]])
        disk = sum(file.stat().st_size for file in files.iterdir()) / 1e6
        print(
            f"{name}: {of.rows:,} rows, {disk:,.0f} MB; registered {registered}, scrambled {took}, indexed {indexed}",
            flush=True,
        )
        for query in (query for query, (of_table, _, _) in QUERIES.items() if of_table == name):
            right, times = _tried(query, lineage, spark, files, timer)
            done += 1
            faster += times >= 10
            slower += [query] if times < 1 / 1.1 else []
            wrong += [] if right else [query]
        del of, lineage
        if there is None:
            shutil.rmtree(files)
    print(f"10 times as fast as Spark, by CPU over {_CORES} cores: {faster} of {done}")
    print(f"slower than 1.1 times Spark: {', '.join(slower) or 'none'}; wrong: {', '.join(wrong) or 'none'}")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB in Python")
    return 1 if wrong else 0


def _tried(query: str, lineage: ForwardLineage, spark: SparkSession, files: Path, timer: Timer) -> tuple[bool, float]:
    name, sql, error = QUERIES[query]
    exact, by_spark = _warm(timer, lambda: [row.asDict() for row in spark.sql(sql).collect()])
    with duckdb.connect(config={"threads": _CORES}) as database:
        database.sql(f"CREATE VIEW {name} AS FROM '{files}/*.parquet'")
        _, by_duckdb = _warm(timer, lambda: database.sql(sql).fetchall())
    answers: dict[str, ApproximateAnswer] = {}
    taken: dict[str, Took] = {}
    for bounder in ("betting", "bernstein+rt"):
        answers[bounder], taken[bounder] = _warm(
            timer, lambda bounder=bounder: lineage.approximate(sql, error=error, bounder=bounder)
        )
    right = all(is_right(answer, exact, sql) for answer in answers.values())
    times = by_spark.cpu / _CORES / max(taken["betting"].cpu, 1e-3)
    print(
        f"{query}  {answers['betting'].rows_read:>11,} rows, "
        f"Bernstein + RT {answers['bernstein+rt'].rows_read:>11,}  "
        f"betting {taken['betting']}  Bernstein + RT {taken['bernstein+rt']}  Spark {by_spark}  DuckDB {by_duckdb}  "
        f"{times:6.1f} times  {'right' if right else 'WRONG'}",
        flush=True,
    )
    return right, times


def _warm(timer: Timer, call: Callable[[], Any]) -> tuple[Any, Took]:
    call()
    return timer.of(call)


if __name__ == "__main__":
    sys.exit(main())
