"""Object stores as a session of Spark knows them: through which of Hadoop's file systems, if any."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from udafs.attach import is_remote

#: Of a store's scheme, those that Hadoop may know it by, the best first.
_SCHEMES = {"s3": ("s3a", "s3"), "az": ("wasbs", "abfss")}


def address_in(spark: SparkSession, address: str) -> str | None:
    """Return the address of something in a store as the session's Hadoop reads it; None: it does not.

    The session's settings say so (``fs.s3a.impl``, or the jars that bring a file system along). A server of Spark
    Connect is not asked: what its sessions read of a home they read in a folder.

    Args:
        spark: the session.
        address: e.g. ``s3://bucket/prefix``.

    """
    if is_remote(spark):
        return None
    scheme, _, rest = address.partition(":")
    for known in _SCHEMES.get(scheme, (scheme,)):
        if _is_known(spark, known):
            return f"{known}:{rest}"
    return None


def is_one_machine(spark: SparkSession) -> bool:
    """Tell whether driver and tasks have one disk: the session is local."""
    return not is_remote(spark) and (spark.sparkContext.master or "").startswith("local")


def _is_known(spark: SparkSession, scheme: str) -> bool:
    session: Any = spark._jsparkSession
    settings = session.sessionState().newHadoopConf()
    jvm: Any = spark.sparkContext._jvm
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, settings)
    except Py4JJavaError:
        return False
    return True
