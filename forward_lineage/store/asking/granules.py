"""Granules of a saved result of LINEAGE ON: values with ids that are the result's own.   [Zhang 2007, §4.3]"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.store.asking.rows import Rows
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, TracedTable
from udafs.lineage_set import LineageSet


def save_dictionary(spark: SparkSession, sql: str, data: Path, place: str, expressions: int) -> tuple[RowFile, ...]:
    """Write the values of a LINEAGE ON clause over one table, each with its id, as Parquet.

    Args:
        spark: the session.
        sql: the dictionary's query, (value_1, …, value_k, __id).
        data: the data folder of the result.
        place: a folder in it, to be made.
        expressions: k.

    Returns:
        the files, brought to the disk.

    """
    columns = ["__id", *(f"value_{i + 1}" for i in range(expressions))]
    with spark_errors(sql):
        spark.sql(sql).select(*columns).write.parquet(str(data / place))
    files, rows = [], 0
    for path in sorted((data / place).glob("*.parquet")):
        file = row_file(data, f"{place}/{path.name}", rows, pq.read_metadata(path).num_rows)
        rows += file.rows
        files.append(file)
    return tuple(files)


def granules_of_rows(rows: DataFrame, values: Rows, table: TracedTable) -> LineageSet:
    """Return the ids of the values that some rows of the table have.

    Args:
        rows: rows of the table, with its columns.
        values: the dictionary.
        table: says the expressions.

    """
    names = [f"__value_{i}" for i in range(len(table.granules))]
    asked = rows.select(
        *(F.expr(each).alias(name) for each, name in zip(table.granules, names, strict=True))
    ).distinct()
    known = values.frame
    same = [known[quoted(each)].eqNullSafe(asked[name]) for each, name in zip(table.granules, names, strict=True)]
    found = known.join(asked, on=same, how="left_semi")
    return Rows(found).where("true")
