"""Settings for a while."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage.spark.settings import configured


def test_settings_are_what_they_were(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("a.b", "1")
    with pytest.raises(ZeroDivisionError), configured(session, {"a.b": "2", "a.c": "3"}):
        assert (session.conf.get("a.b"), session.conf.get("a.c")) == ("2", "3")
        raise ZeroDivisionError
    assert (session.conf.get("a.b"), session.conf.get("a.c", None)) == ("1", None)
