"""Settings of a Spark session, for as long as something needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

QUICK_VALUES = {"spark.forward_lineage.encoding": "quick"}
"""For queries whose lineage values go into a relation: they are not written as BDDs, to be taken apart again."""


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set these while the block runs; afterwards each is what it was, or unset.

    Args:
        spark: the session.
        settings: values by key, e.g. ``{"spark.sql.adaptive.enabled": "false"}``.

    """
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
