"""A file system of our own, in the tests' session: local files as a store that is far away, its requests counted."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from udafs.attach import _add_jar, kernel_object
from udafs.build import compile_scala

_SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))
_CLASSES = {"counted": "CountedFileSystem", "flat": "FlatFileSystem"}


class CountedFiles:
    """What was asked of `counted:` and `flat:`, and what happens then; see scala/CountedFileSystem.scala.

    Args:
        spark: a session; file systems are one for all sessions.
        folder: where the classes are compiled.

    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        classes = folder / "classes"
        classes.mkdir()
        compile_scala(_SOURCES, classes)
        jar = Path(shutil.make_archive(str(folder / "counted"), "zip", classes)).rename(folder / "counted.jar")
        _add_jar(spark, str(jar))
        session: Any = spark._jsparkSession
        hadoop = session.sparkContext().hadoopConfiguration()
        hadoop.setClassLoader(session.sharedState().jarClassLoader())
        for scheme, name in _CLASSES.items():
            hadoop.set(f"fs.{scheme}.impl", f"forwardlineage.tests.{name}")
        self.plan = kernel_object(spark, "forwardlineage.tests.RequestsControl")

    def requests(self) -> Counter[str]:
        """Return how often each kind of request was made since the last time: status, list, open, checksum."""
        said = str(self.plan.made())
        self.plan.forget()
        return Counter(line.split(" ", 1)[0] for line in said.splitlines())
