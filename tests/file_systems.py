"""File systems of the tests' own, in a Spark that runs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from udafs.attach import _add_jar
from udafs.build import compile_scala


def with_classes(spark: SparkSession, sources: Sequence[Path], folder: Path) -> Any:
    """Compile sources into a new folder, let Hadoop find what is in them, and return Hadoop's configuration."""
    classes = folder / "classes"
    classes.mkdir(parents=True)
    compile_scala(sources, classes)
    name = sources[0].stem  # another one for each: Spark knows jars by their names
    jar = Path(shutil.make_archive(str(folder / name), "zip", classes)).rename(folder / f"{name}.jar")
    _add_jar(spark, str(jar))
    session: Any = spark._jsparkSession
    hadoop = session.sparkContext().hadoopConfiguration()
    hadoop.setClassLoader(session.sharedState().jarClassLoader())
    return hadoop
