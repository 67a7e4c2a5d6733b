"""Homes that are made once and copied for each test: to register and to save takes seconds, to copy files none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage


class Prepared:
    """A home that nobody works in: each test has a copy of it.

    What registrations say of files is true of all copies, so tests that change such files must put them back. A saved
    result of a copy is read from the copy: a session finds it where its library is.

    Args:
        folder: a new folder, where the home is made.
        spark: the home is made in a new session of it.
        make: registers and saves.

    """

    def __init__(self, folder: Path, spark: SparkSession, make: Callable[[ForwardLineage], object]) -> None:
        self._home = folder / "home"
        make(ForwardLineage(spark.newSession(), self._home))

    def copy(self, home: Path) -> Path:
        """Return a new home with what was registered and saved."""
        return shutil.copytree(self._home, home, symlinks=True)
