"""Settings on which values of expressions depend, for those who ask before every answer."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.spark.settings import settings_of_values


class Settings:
    """The settings of a session, asked in one call where none was changed since.

    Args:
        spark: the session.

    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._all: Any = spark._jsparkSession.sessionState().conf().settings()
        self._before = ""
        self._known: tuple[str, ...] = ()

    def now(self) -> tuple[str, ...]:
        """Return what `settings_of_values` does."""
        said = str(self._all.toString())
        if said != self._before:
            self._before, self._known = said, settings_of_values(self._spark)
        return self._known
