"""What the text of a view means to Spark, where that is not what it means in the place of the view's name."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.spark.names import in_backticks
from udafs.attach import kernel_object
from udafs.errors import NotTracedError

_CLASS = "org.apache.spark.sql.forwardlineage.ViewMeaning"  # see udafs/scala/session/ViewMeaning.scala


def refuse_other_meaning(spark: SparkSession, view: Any, called: str, *, temporary: bool) -> None:
    """Refuse a view whose text cannot be rewritten as it stands: Spark reads it as it was read when the view was made.

    Args:
        spark: a session with the kernel attached.
        view: what Spark's catalog says of the view.
        called: what the user calls it.
        temporary: whether it is a temporary view.

    Raises:
        NotTracedError: the view was made under settings that may change what its text means; or the text has a name
            that is a temporary view's now, and was not then.

    """
    meaning = kernel_object(spark, _CLASS)
    for setting, there, here in meaning.otherSettings(spark._jsparkSession, view, temporary):
        raise NotTracedError(
            f"view {called} was made under another setting of {setting} ({there}; here {here}), by which Spark reads its "
            "text still",
            instead=f"SET {setting} as it was, or make the view again.",
        )
    for name in meaning.hiddenNames(spark._jsparkSession, view):
        raise NotTracedError(
            f"view {called} reads {in_backticks(name)}, which is the name of a temporary view here, and was not when the "
            "view was made",
            instead="Drop the temporary view, or make it under another name.",
        )
