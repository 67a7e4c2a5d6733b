"""What drivers of the tests about faults run: two queries over lineitem, saved or not, with lineage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.cluster import trouble
from tests.cluster.answers import questions
from tests.spark_settings import INTERPRETED
from tests.tpch_queries.neutrality import Answer, answer

#: Several tasks on either side of a shuffle, joins that shuffle; no time for compiling.
SETTINGS = {
    **INTERPRETED,
    "spark.sql.files.maxPartitionBytes": "50000",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}

# What `in_map` is asked of is no column of a join: Spark would ask it of the other side's, too.
QUERIES = {
    # By value: a join, a group.
    "grouped": """
        SELECT o_orderpriority, l_shipmode, count(*) AS n, sum(l_linenumber) AS lines
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey
        WHERE in_map(l_partkey) GROUP BY o_orderpriority, l_shipmode HAVING in_reduce(count(*))
    """,
    # By reference: a group's rows meet others, and each other in a window.
    "staged": """
        WITH busy AS (
            SELECT l_suppkey AS supplier, count(*) AS n FROM lineitem WHERE in_map(l_partkey)
            GROUP BY l_suppkey HAVING in_reduce(count(*))
        )
        SELECT s_name, n, sum(n) OVER (PARTITION BY s_nationkey ORDER BY s_suppkey) AS running
        FROM busy JOIN supplier ON s_suppkey = supplier
    """,
}

_LINEAGE: dict[tuple[int, Path | str, Path], ForwardLineage] = {}


def in_many_groups(source: Path, folder: Path) -> Path:
    """Copy some rows of tables, as files with several row groups, so that several tasks read each."""
    folder.mkdir()
    for table in ("lineitem", "orders", "supplier"):
        rows = pq.read_table(source / f"{table}.parquet").slice(0, 12000)
        pq.write_table(rows, folder / f"{table}.parquet", row_group_size=max(rows.num_rows // 6, 10))
    return folder


def lineage_of(spark: SparkSession, data: Path, home: Path | str, told: Path) -> ForwardLineage:
    """Return the lineage of a session, the same for the same arguments."""
    key = (id(spark), home, told)
    if key not in _LINEAGE:
        session = spark.newSession()
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        lineage = ForwardLineage(session, home)
        for path in sorted(data.glob("*.parquet")):
            lineage.register(path.stem, path=path)
        trouble.register(session, told)
        _LINEAGE[key] = lineage
    return _LINEAGE[key]


def traced(spark: SparkSession, data: Path, home: Path, told: Path, query: str) -> Answer:
    """Run a query with lineage."""
    return answer(lineage_of(spark, data, home, told).sql(QUERIES[query]).collect())


def saved(spark: SparkSession, data: Path, home: Path, told: Path, query: str) -> dict[str, object]:
    """Save a query and ask of the result; rows in an order of their own, since numbers of rows may differ."""
    lineage = lineage_of(spark, data, home, told)
    result = lineage.save(QUERIES[query], query)
    rows = [repr(tuple(row)) for row in lineage.result(query).collect()]
    found: dict[str, object] = {"rows": sorted(rows)}
    for table in result.tables:
        pairs = lineage.table(f"lineage_of({query}, {table.name})").collect()
        found[table.name] = sorted((rows[row], each) for row, each in map(tuple, pairs))
    return found


def saved_far(spark: SparkSession, data: Path, home: Path | str, told: Path, query: str) -> dict[str, object]:
    """Save a query, and ask for the ids of each row: Spark need not be able to read the home for that."""
    lineage_of(spark, data, home, told).save(QUERIES[query], query)
    return ids_of_rows(spark, data, home, told, query)


def ids_of_rows(spark: SparkSession, data: Path, home: Path | str, told: Path, query: str) -> dict[str, object]:
    """Return, by table, the ids of each row of a saved result; in an order of their own, since numbers may differ."""
    lineage = lineage_of(spark, data, home, told)
    result = lineage.describe(query)
    return {
        table.name: sorted(
            tuple(lineage.backward_ids(query, rows=[row], table=table.name)) for row in range(result.rows)
        )
        for table in result.tables
    }


def complaint(spark: SparkSession, data: Path, home: Path, told: Path, query: str) -> str:
    """Return what a save says that cannot succeed, with the type of the error."""
    try:
        lineage_of(spark, data, home, told).save(QUERIES[query], query)
    except LineageError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def asked_again(spark: SparkSession, data: Path, home: Path, told: Path, query: str) -> dict[str, object]:
    """Ask of a saved result without saving it."""
    return questions(lineage_of(spark, data, home, told), query)


def stage(spark: SparkSession, number: int) -> dict[str, int]:
    """Return how many records a stage read of files, and how many of a shuffle, all attempts together."""
    attempts = [each for each in _stages(spark) if each.stageId() == number]
    return {
        "read": sum(int(each.inputRecords()) for each in attempts),
        "shuffled": sum(int(each.shuffleReadRecords()) for each in attempts),
    }


def spilled(spark: SparkSession) -> int:
    """Return how many bytes all stages so far have spilled."""
    return sum(int(each.diskBytesSpilled()) for each in _stages(spark))


def _stages(spark: SparkSession) -> list[Any]:
    store: Any = spark._jsc.sc().statusStore()
    defaults = [getattr(store, f"stageList$default${at}")() for at in range(2, 6)]  # Python has none of Scala's
    stages = store.stageList(None, *defaults)
    return [stages.apply(i) for i in range(stages.size())]


_CACHED: dict[tuple[Path, str], Any] = {}


def cached(spark: SparkSession, data: Path, home: Path, told: Path, query: str) -> Answer:
    """Run a query with lineage whose rows are kept in the executors' memory; called again, read them from there."""
    if (home, query) not in _CACHED:
        _CACHED[home, query] = lineage_of(spark, data, home, told).sql(QUERIES[query]).persist()
    return answer(_CACHED[home, query].collect())


def registered(spark: SparkSession, data: Path, home: Path, told: Path) -> None:
    """Register the tables, if that was not done."""
    lineage_of(spark, data, home, told)
