"""What all test files of a process share: each of them finds it as it was at the beginning.

Tests put back what they set. What one forgets would be found by another file, and only where the two meet in one
process: so it is put back behind each file. That is no check, since what is left behind harms nobody any more.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


class SharedState:
    """The environment, the working folder; of Spark the settings, current schema and temporary views, and of Hadoop.

    It is what is there when this is made, and of Spark what is there when it has started.
    """

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._folder = Path.cwd()
        self._spark: SparkSession | None = None

    def started(self, spark: SparkSession) -> None:
        """Take note of the session of all files."""
        self._spark = spark
        # PySpark tells its own processes by these.
        own = {name: value for name, value in os.environ.items() if name.startswith(("PYSPARK_", "SPARK_"))}
        self._environment = own | self._environment
        self._settings, self._settings_listed = _settings(spark), str(_conf(spark).settings().toString())
        self._schema = _current_schema(spark)
        self._hadoop = _jvm(spark).org.apache.hadoop.conf.Configuration(_hadoop(spark))
        self._hadoop_settings = _listed(_hadoop(spark))

    def put_back(self) -> None:
        """Make everything what it was."""
        for name in {*os.environ, *self._environment}:
            if name.startswith("PYTEST_"):
                continue
            if name not in self._environment:
                del os.environ[name]
            elif os.environ.get(name) != self._environment[name]:
                os.environ[name] = self._environment[name]
        os.chdir(self._folder)
        spark = self._spark
        if spark is not None and not spark._jsparkSession.sparkContext().isStopped():
            drop_views(spark)
            self._put_back_settings(spark)
            self._put_back_hadoop(spark)
            if _current_schema(spark) != self._schema:
                catalog, schema = self._schema
                spark.catalog.setCurrentCatalog(catalog)
                spark.catalog.setCurrentDatabase(schema)

    def _put_back_settings(self, spark: SparkSession) -> None:
        conf = _conf(spark)
        if conf.settings().toString() == self._settings_listed:  # to ask for each takes longer
            return
        now = _settings(spark)
        for name in now.keys() - self._settings.keys():
            conf.unsetConf(name)
        for name, value in self._settings.items():
            if now.get(name) != value:
                conf.setConfString(name, value)

    def _put_back_hadoop(self, spark: SparkSession) -> None:
        hadoop = _hadoop(spark)
        now = _listed(hadoop)
        if now == self._hadoop_settings:
            return
        before, after = dict(self._hadoop_settings), dict(now)
        for name in before.keys() | after.keys():
            if before.get(name) == after.get(name):
                continue
            value = self._hadoop.getRaw(name)
            if value is not None:
                hadoop.set(name, value)
            # Hadoop reads further defaults when a class of it is first used: those were set by nobody.
            elif "programmatically" in list(hadoop.getPropertySources(name) or []):
                hadoop.unset(name)


def drop_views(spark: SparkSession) -> None:
    """Drop the session's temporary views, all of them."""
    session: Any = spark._jsparkSession
    session.sessionState().catalog().clearTempTables()  # listing them reads each


def _settings(spark: SparkSession) -> dict[str, str]:
    return {str(name): str(value) for name, value in dict(_conf(spark).settings()).items()}


def _current_schema(spark: SparkSession) -> tuple[str, str]:
    return spark.catalog.currentCatalog(), spark.catalog.currentDatabase()


def _listed(hadoop: Any) -> list[tuple[str, str]]:
    """All that Hadoop knows, in one call."""
    listed = str(hadoop.getPropsWithPrefix("").toString())
    found = (each.partition("=") for each in listed[1:-1].split(", "))
    return sorted((name, value) for name, _, value in found)


def _conf(spark: SparkSession) -> Any:
    session: Any = spark._jsparkSession
    return session.sessionState().conf()


def _hadoop(spark: SparkSession) -> Any:
    session: Any = spark._jsparkSession
    return session.sparkContext().hadoopConfiguration()


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm
