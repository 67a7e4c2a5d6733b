"""Settings for a while."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from forward_lineage.frontend.settings import refuse_other_readings
from forward_lineage.spark.settings import (
    Settings,
    among_settings,
    configured,
    setting_of,
    settings_in_force,
    settings_of_values,
)
from udafs.attach import attach
from udafs.errors import NotTracedError


def _session(spark: SparkSession) -> SparkSession:
    """One of its own that can be asked, whichever tests have run before in this process."""
    session = spark.newSession()
    attach(session)
    return session


def test_settings_are_what_they_were(spark: SparkSession) -> None:
    session = _session(spark)
    session.conf.set("a.b", "1")
    with pytest.raises(ZeroDivisionError), configured(session, {"a.b": "2", "a.c": "3"}):
        assert (session.conf.get("a.b"), session.conf.get("a.c")) == ("2", "3")
        raise ZeroDivisionError
    assert (session.conf.get("a.b"), session.conf.get("a.c", None)) == ("1", None)


def test_a_time_zone_counts_whoever_said_it(spark: SparkSession) -> None:
    """Nobody set it here, or somebody set what the machine says anyhow: values are the same."""
    session = _session(spark)
    before = settings_of_values(session)
    zone = str(session.conf.get("spark.sql.session.timeZone"))
    with configured(session, {"spark.sql.session.timeZone": zone}):
        assert settings_of_values(session) == before == among_settings(settings_in_force(session))
    assert f"spark.sql.session.timeZone={zone}" in before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.sql.session.timeZone", "Asia/Tokyo"),
        ("spark.sql.ansi.enabled", None),
        ("spark.sql.caseSensitive", "true"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        ("spark.sql.decimalOperations.allowPrecisionLoss", "false"),
        ("spark.sql.legacy.negativeIndexInArrayInsert", "true"),
        ("spark.sql.parser.escapedStringLiterals", "true"),
        ("spark.sql.mapKeyDedupPolicy", "LAST_WIN"),
        ("spark.sql.parquet.inferTimestampNTZ.enabled", "false"),
    ],
)
def test_what_values_depend_on(spark: SparkSession, name: str, value: str | None) -> None:
    session = _session(spark)
    value = value or _other(session, name)
    before = settings_of_values(session)
    settings = Settings(session)
    assert settings.now() == before
    with configured(session, {name: value, "spark.sql.shuffle.partitions": "3"}):
        assert settings_of_values(session) == settings.now() != before
    assert settings_of_values(session) == settings.now() == before
    with configured(session, {"spark.sql.shuffle.partitions": "3"}):
        assert settings_of_values(session) == before


def test_caches_of_the_parser_change_no_value(spark: SparkSession) -> None:
    """3.5 sets them by itself, and nobody else may."""
    caches = {"spark.sql.parser.manageParserCaches": "true", "spark.sql.parser.parserDfaCacheFlushRatio": "20"}
    assert among_settings({**caches, "spark.sql.parser.escapedStringLiterals": "true"}) == (
        "spark.sql.parser.escapedStringLiterals=true",
    )
    assert all(not each.startswith(tuple(caches)) for each in settings_of_values(_session(spark)))


def _other(session: SparkSession, name: str) -> str:
    """The other value than that which holds: what holds anyhow is another one in Spark 3.5."""
    return "false" if session.conf.get(name) == "true" else "true"


def test_what_holds_anyhow_is_what_spark_says(spark: SparkSession) -> None:
    session, name = _session(spark), "spark.sql.ansi.enabled"
    holds = str(session.conf.get(name))
    assert {setting_of(session)(name, default) for default in ("true", "false")} == {holds}
    with configured(session, {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}):
        refused = pytest.raises(NotTracedError, match="double quotes make names")
        with refused if holds == "true" else nullcontext():
            refuse_other_readings(setting_of(session), 'SELECT "a"')
