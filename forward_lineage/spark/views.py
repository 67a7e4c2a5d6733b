"""The meaning of a view's text to Spark, if it is not the meaning in the place of the view's name."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.found_names import FoundName
from forward_lineage.spark.names import in_backticks
from udafs.errors import NotTracedError
from udafs.requests import ask_json


def refuse_other_meaning(spark: SparkSession, view: FoundName, frame: DataFrame, called: str) -> None:
    """Refuse a view whose text cannot be rewritten: Spark reads it as it was read when the view was made.

    Args:
        spark: a session with the kernel attached.
        view: what Spark's catalog says of the view.
        frame: the view, read by its name.
        called: what the user calls it.

    Raises:
        NotTracedError: the view was made under settings that may change what its text means. Or the text has a name
            that is a temporary view's or function's now, and was not then. Or its columns are others now.

    """
    for setting, there, here in ask_json(spark, "view settings", name=view.name, temporary=view.temporary):
        raise NotTracedError(
            f"view {called} was made under another setting of {setting} ({there}; here {here}), by which Spark still "
            "reads its text",
            instead=f"SET {setting} as it was, or make the view again.",
        )
    for name, kind in ask_json(spark, "view names", name=view.name):
        raise NotTracedError(
            f"view {called} uses {in_backticks(name)}, which is the name of a temporary {kind} here, and was not when "
            "the view was made",
            instead=f"Drop the temporary {kind}, or make it under another name.",
        )
    _refuse_other_columns(spark, str(view.text), view.columns, frame, called)


def _refuse_other_columns(spark: SparkSession, text: str, names: Sequence[str], frame: DataFrame, called: str) -> None:
    """Spark finds the columns of a view's text by their names of then, and casts them to the types of then."""
    with spark_errors():
        found = spark.sql(text).schema.fields
    same_names = not names or [each.name.lower() for each in found] == [name.lower() for name in names]
    if not same_names or [each.dataType for each in found] != [each.dataType for each in frame.schema.fields]:
        raise NotTracedError(
            f"view {called} was made when its query had other columns, or columns in another order or of other types",
            instead="Make the view again.",
        )
