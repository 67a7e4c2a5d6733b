"""Programs of Spark that tests start from the classes of PySpark: what all of them are started with."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from tests.spark_settings import FEW_WORDS, INTERPRETED
from tests.structure import REPOSITORY

SPARK_HOME = Path(pyspark.__file__).parent
SMALL = {
    **INTERPRETED,
    **FEW_WORDS,
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.buffer.pageSize": "256k",
}


def environment() -> dict[str, str]:
    """What they are started in: their Python imports this package from where the tests do."""
    path = os.pathsep.join([str(REPOSITORY), *sys.path[1:]])
    return {**os.environ, "SPARK_HOME": str(SPARK_HOME), "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}


def interpreted(environment: Mapping[str, str], *, lists_tables: bool = False) -> dict[str, str]:
    """An environment in which programs of Spark that a program starts compile no code, see tests/spark_settings.py.

    For programs in which something else is tried than Spark's plans; they still have what they set themselves.

    Args:
        environment: what there is else.
        lists_tables: whether the program calls Spark's `listTables`, which needs the code of single expressions.

    """
    fast = {**INTERPRETED, **FEW_WORDS, "spark.sql.adaptive.enabled": "false", "spark.buffer.pageSize": "256k"}
    if lists_tables:
        del fast["spark.sql.codegen.factoryMode"]
    given = " ".join(f"-D{key}={value}" for key, value in fast.items())
    return {**environment, "SPARK_SUBMIT_OPTS": f"{environment.get('SPARK_SUBMIT_OPTS', '')} {given}".strip()}
