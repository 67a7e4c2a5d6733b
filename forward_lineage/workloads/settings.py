"""Settings of the session on which values of expressions may depend besides the row."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
_BESIDES = ("spark.sql.legacy.", "spark.sql.decimalOperations.")


def settings_now(spark: SparkSession) -> tuple[str, ...]:
    """Return them as they are."""
    listed: Any = spark._jsparkSession.conf().getAll().toSeq()
    found = {listed.apply(i)._1(): listed.apply(i)._2() for i in range(listed.size())}
    besides = [f"{name}={found[name]}" for name in sorted(found) if name.startswith(_BESIDES)]
    return (*(str(spark.conf.get(name, None)) for name in _SETTINGS), *besides)


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
        """Return what `settings_now` does."""
        said = str(self._all.toString())
        if said != self._before:
            self._before, self._known = said, settings_now(self._spark)
        return self._known
