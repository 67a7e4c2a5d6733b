"""Under Spark Connect: whether the home is a folder that the server sees, too."""

from __future__ import annotations

from pathlib import Path
from tempfile import NamedTemporaryFile

from pyspark.sql import SparkSession

from forward_lineage.spark.far_files import near_files_there
from udafs.attach import is_remote
from udafs.errors import SetupError


def check_shared_home(spark: SparkSession, home: Path) -> None:
    """Check that a home is where the server can read and write it, under the same path; it is made if need be.

    The server's tasks write rows and lineage there, its scans read manifests; questions are answered here.

    Args:
        spark: a session with the kernel attached; nothing is checked of one with a JVM.
        home: folder of registrations and results.

    Raises:
        SetupError: the server does not see it, or it cannot be made.

    """
    if not is_remote(spark):
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=home, prefix=".seen-") as probe:
            there = near_files_there(spark, [probe.name])  # a name that nobody else gives
    except OSError as error:
        raise SetupError(
            f"{home} cannot be written: {error.strerror}", instead="Pass home= a folder that you may write."
        ) from None
    if not there:
        raise SetupError(
            f"the Spark Connect server does not see the home {home} of this machine",
            instead="Pass home= a folder that server, executors and this machine share under one path.",
        )
