"""Settings of the session on which values of expressions may depend besides the row."""

from __future__ import annotations

from pyspark.sql import SparkSession

_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")


def settings_now(spark: SparkSession) -> tuple[str, ...]:
    """Return them as they are."""
    return tuple(str(spark.conf.get(name, None)) for name in _SETTINGS)
