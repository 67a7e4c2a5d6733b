"""The thesis' queries beside Spark, from files: ``python -m tests.bench.approximate.sizes [size] [folder] [cubes]``.

F1–F9, T1, T2, P1 and P2 at δ = 10⁻¹⁵, over generated Parquet of `size` times 121, 50 and 6 million rows (1), none of
them twice. A folder that has the tables already is read, and kept; else they are made there, and deleted at the end.
All is asked through `lineage`, as a user does. Spark and DuckDB give the exact answers from the same files, warm: the
median of three times after the first. Of each the clock and the processor's seconds are printed; with other programs
beside, believe the latter. Spark has two cores, so at best its clock shows half of these. Rows are all of a group where
adding them up takes less time; `queries` compares rows. With `cubes` linked views are made as well, and asked (see
there). It ends with 1 where one is wrong.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.views.linked import LinkedViews
from tests.bench.approximate.cubes import VIEWS, looked
from tests.bench.approximate.generated import ROWS, written
from tests.bench.approximate.queries import GROUPS, INDEXES, QUERIES, is_right
from tests.bench.approximate.timing import CORES, Timer, Took, session, warm

_COLUMNS = {"flights": ["dep_delay", "dep_time"], "taxi": ["distance", "fare"], "police": ["violations"]}


def main() -> int:
    size = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    there = given if given is not None and all((given / name).is_dir() for name in ROWS) else None
    folder = Path(tempfile.mkdtemp(prefix="sizes-", dir=given))
    spark = session()
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
        views = None
        if "cubes" in sys.argv[3:]:
            views, made = timer.of(lambda lineage=lineage, name=name: lineage.views(VIEWS[name]))
            print(f"{name}: views made in {made}", flush=True)
        for query in (query for query, (of_table, _, _) in QUERIES.items() if of_table == name):
            right, times = _tried(query, lineage, spark, files, timer, views)
            done += 1
            faster += times >= 10
            slower += [query] if times < 1 / 1.1 else []
            wrong += [] if right else [query]
        del of, lineage, views
        if there is None:
            shutil.rmtree(files)
    print(f"10 times as fast as Spark, by CPU over {CORES} cores: {faster} of {done}")
    print(f"slower than 1.1 times Spark: {', '.join(slower) or 'none'}; wrong: {', '.join(wrong) or 'none'}")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB in Python")
    return 1 if wrong else 0


def _tried(
    query: str, lineage: ForwardLineage, spark: SparkSession, files: Path, timer: Timer, views: LinkedViews | None
) -> tuple[bool, float]:
    name, sql, error = QUERIES[query]
    exact, by_spark = warm(timer, lambda: [row.asDict() for row in spark.sql(sql).collect()])
    with duckdb.connect(config={"threads": CORES}) as database:
        database.sql(f"CREATE VIEW {name} AS FROM '{files}/*.parquet'")
        _, by_duckdb = warm(timer, lambda: database.sql(sql).fetchall())
    answers: dict[str, ApproximateAnswer] = {}
    taken: dict[str, Took] = {}
    for bounder in ("betting", "bernstein+rt"):
        answers[bounder], taken[bounder] = warm(
            timer, lambda bounder=bounder: lineage.approximate(sql, error=error, bounder=bounder)
        )
    right = all(is_right(answer, exact, sql) for answer in answers.values())
    times = by_spark.cpu / CORES / max(taken["betting"].cpu, 1e-3)
    print(
        f"{query}  {answers['betting'].rows_read:>11,} rows, "
        f"Bernstein + RT {answers['bernstein+rt'].rows_read:>11,}  "
        f"betting {taken['betting']}  Bernstein + RT {taken['bernstein+rt']}  Spark {by_spark}  DuckDB {by_duckdb}  "
        + (f"cube {warm(timer, lambda: looked(views, query))[1]}  " if views is not None else "")
        + f"{times:6.1f} times  {'right' if right else 'WRONG'}",
        flush=True,
    )
    return right, times


if __name__ == "__main__":
    sys.exit(main())
