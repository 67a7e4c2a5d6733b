"""The process that Spark forks its Python workers from: what they all need is imported there, once for all of them.

Each worker of the suite takes a second of CPU for that otherwise, most of them for the test that a function is from.
"""

from __future__ import annotations

import gc
import importlib

from pyspark.daemon import manager

NEEDED = ("pyspark.sql.pandas.serializers", "tests.conftest")

if __name__ == "__main__":
    for module in NEEDED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a worker looks for garbage after each task
    manager()
