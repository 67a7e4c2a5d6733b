"""The sessions in which the variants of a query run: the tables as they are, with row numbers, with lineage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.bench.workloads import Workload

_ENCODING = "spark.forward_lineage.encoding"


@dataclass(frozen=True)
class Sessions:
    """Sessions of one Spark application over the same files.

    Attributes:
        workload: the tables and queries.
        spark: the application's own session, to which the lineage is attached.
        plain: a session that has the tables as they are.
        numbered: a session whose tables also have a column `<table>_id`, the position of the row in its file.
        lineage: the tables registered with ids from the position of the row.

    """

    workload: Workload
    spark: SparkSession
    plain: SparkSession
    numbered: SparkSession
    lineage: ForwardLineage

    @classmethod
    def over(cls, workload: Workload, spark: SparkSession, folder: Path, home: Path) -> Sessions:
        """Set the sessions up over a folder of the workload's tables; the lineage's registrations go into `home`."""
        sessions = cls(workload, spark, spark.newSession(), spark.newSession(), ForwardLineage(spark, home=home))
        for table in workload.tables:
            file = folder / f"{table}.parquet"
            sessions.plain.read.parquet(str(file)).createOrReplaceTempView(table)
            rows = sessions.numbered.read.parquet(str(file))
            rows.selectExpr("*", f"_metadata.row_index as {table}_id").createOrReplaceTempView(table)
            sessions.lineage.register(table, path=str(file))
        return sessions

    def traced(self, text: str, semantics: str, encoding: str) -> Callable[[], DataFrame]:
        """Return what runs a text with lineage, its sets in that encoding."""

        def prepare() -> DataFrame:
            self.spark.conf.set(_ENCODING, encoding)
            return self.lineage.sql(text, semantics=semantics)

        return prepare
