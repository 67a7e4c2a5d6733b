"""Programs of Spark that tests start from the classes of PySpark: what all of them are started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark

from tests.spark_settings import INTERPRETED
from tests.structure import REPOSITORY

SPARK_HOME = Path(pyspark.__file__).parent
SMALL = {
    **INTERPRETED,
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
