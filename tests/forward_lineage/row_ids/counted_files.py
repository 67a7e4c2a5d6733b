"""A file system of our own, in the tests' session: local files as a store that is far away, its requests counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from tests.file_systems import with_classes
from udafs.attach import kernel_object

_SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))
_CLASSES = {"counted": "CountedFileSystem", "flat": "FlatFileSystem"}


class CountedFiles:
    """What was asked of `counted:` and `flat:`, and what happens then; see scala/CountedFileSystem.scala.

    Args:
        spark: a session; file systems are one for all sessions.
        folder: where the classes are compiled.

    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        hadoop = with_classes(spark, _SOURCES, folder)
        for scheme, name in _CLASSES.items():
            hadoop.set(f"fs.{scheme}.impl", f"forwardlineage.tests.{name}")
        self.plan = kernel_object(spark, "forwardlineage.tests.RequestsControl")

    def requests(self) -> Counter[str]:
        """Return how often each kind of request was made since the last time: status, list, open, checksum."""
        said = str(self.plan.made())
        self.plan.forget()
        return Counter(line.split(" ", 1)[0] for line in said.splitlines())
