"""A file system of Hadoop's over the tests' server, under the scheme that Hadoop's own for S3 has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from udafs.attach import _add_jar
from udafs.build import compile_scala

_SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))


@contextmanager
def s3a_known(spark: SparkSession, endpoint: str, folder: Path) -> Iterator[None]:
    """Let Spark read `s3a:`; the classes are compiled into a folder, which is new."""
    classes = folder / "classes"
    classes.mkdir(parents=True)
    compile_scala(_SOURCES, classes)
    jar = Path(shutil.make_archive(str(folder / "files"), "zip", classes)).rename(folder / "files.jar")
    _add_jar(spark, str(jar))
    session: Any = spark._jsparkSession
    hadoop = session.sparkContext().hadoopConfiguration()
    hadoop.setClassLoader(session.sharedState().jarClassLoader())
    settings = {
        "fs.s3a.impl": "forwardlineage.tests.ServerFileSystem",
        "fs.s3a.impl.disable.cache": "true",
        "fs.s3a.endpoint": endpoint,
    }
    for name, value in settings.items():
        hadoop.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            hadoop.unset(name)
