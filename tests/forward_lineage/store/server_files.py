"""A file system of Hadoop's over the tests' server, under the scheme that Hadoop's own for S3 has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.file_systems import with_classes

_SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))


@contextmanager
def s3a_known(spark: SparkSession, endpoint: str, folder: Path) -> Iterator[None]:
    """Let Spark read `s3a:`; the classes are compiled into a folder, which is new."""
    hadoop = with_classes(spark, _SOURCES, folder)
    settings = {
        "fs.s3a.impl": "forwardlineage.tests.ServerFileSystem",
        "fs.s3a.impl.disable.cache": "true",
        "fs.s3a.endpoint": endpoint,
    }
    before = {name: hadoop.getRaw(name) for name in settings}
    _set(hadoop, settings)
    try:
        yield
    finally:
        _set(hadoop, before)


def _set(hadoop: Any, settings: Mapping[str, str | None]) -> None:
    """Set each, or take it away; what unset took away would be Hadoop's own default, too."""
    for name, value in settings.items():
        if value is None:
            hadoop.unset(name)
        else:
            hadoop.set(name, value)
