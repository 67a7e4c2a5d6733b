"""From a DataFrame to the SQL that asks for the same rows; Spark itself compares the two."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.results import carries_lineage
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.tables import columns_of
from udafs.errors import BadArgumentError, NotTracedError
from udafs.requests import ask_json


def sql_of(spark: SparkSession, frame: DataFrame, registered: Iterable[str]) -> str:
    """Return a query of the rows of a DataFrame.

    Args:
        spark: the session that the lineage belongs to.
        frame: over tables and views that this session knows; it is analysed, and nothing of it is run.
        registered: names of tables, as SQL writes them; a part of the plan that has no name may be one of these.

    Returns:
        SQL whose optimised plan is that of the DataFrame. Functions of the user's in it are registered in the session.

    Raises:
        BadArgumentError: no DataFrame, or one of another session.
        NotTracedError: something in it has no SQL text, or is not read back as it was; rows that are not registered.

    """
    if not isinstance(frame, DataFrame):
        raise BadArgumentError(f"{type(frame).__name__} is no DataFrame", instead="Give a DataFrame, or SQL to lineage.sql.")
    if frame.sparkSession is not spark:
        raise BadArgumentError(
            "the DataFrame belongs to another Spark session",
            instead="Make it of lineage.spark, the session that the tables are registered in.",
        )
    if frame.isStreaming:
        raise NotTracedError(
            "the DataFrame is a stream, whose rows are never all there",
            instead="Write the stream to a table of files, register that, and trace what is made of it.",
        )
    with spark_errors():
        if carries_lineage(columns_of(frame)):
            raise NotTracedError(
                "the DataFrame carries the lineage of its rows already, in its column DL",
                instead="Trace the DataFrame before, or leave DL out with drop('DL').",
            )
        answer = ask_json(spark, "sql of", frame, registered="\n".join(registered))
    if "what" in answer:
        raise NotTracedError(f"the DataFrame has {answer['what']}", instead=answer["instead"])
    return str(answer["sql"])
