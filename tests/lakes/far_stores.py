"""Stores that are far away, on this machine: S3 by moto, HDFS by Hadoop's mini cluster, each a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from forward_lineage.spark.java import find_java
from tests.cluster.processes import die_with_parent
from tests.lakes.engines import fetched, hadoop_version, s3a_jars
from tests.object_server import BUCKET, ObjectServer

STORES = ("s3a", "hdfs")
SECRET = "of-this-machine-alone"
_PROGRAM = Path(__file__).with_name("MiniHdfs.java")


@dataclass(frozen=True)
class Store:
    """A store.

    Attributes:
        root: the address of a folder in it, in which anybody may write.
        spark: a session that reaches it.
        server: what was asked of it; None: nobody counts.

    """

    root: str
    spark: SparkSession
    server: ObjectServer | None = None

    @property
    def catalog(self) -> str:
        """The name of a catalog of Iceberg's in it."""
        return f"far_{self.root.partition(':')[0]}"

    def session(self) -> SparkSession:
        """Return a session that knows nothing of what others have read, and knows the catalog."""
        made = self.spark.newSession()
        self.know(made)
        return made

    def know(self, spark: SparkSession) -> None:
        """Tell a session of the catalog."""
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "hadoop",
            ".warehouse": f"{self.root}/iceberg",
        }
        for name, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.{self.catalog}{name}", value)

    def remove(self, address: str) -> None:
        """Take a file or a folder away."""
        path = self._path(address)
        assert path.getFileSystem(_settings(self.spark)).delete(path, True)

    def files(self, folder: str) -> list[str]:
        """Return the addresses of all files below a folder."""
        path = self._path(folder)
        found = path.getFileSystem(_settings(self.spark)).listFiles(path, True)
        listed = []
        while found.hasNext():
            listed.append(str(found.next().getPath().toString()))
        return sorted(listed)

    def allow(self, address: str, mode: str) -> None:
        """Let nobody, or who is said, read or write: `000`, `755`."""
        path, jvm = self._path(address), self.spark.sparkContext._jvm
        assert jvm is not None
        permission = jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
        path.getFileSystem(_settings(self.spark)).setPermission(path, permission)

    def _path(self, address: str) -> Any:
        jvm: Any = self.spark.sparkContext._jvm
        return jvm.org.apache.hadoop.fs.Path(address)


def _settings(spark: SparkSession) -> Any:
    session: Any = spark._jsparkSession
    return session.sparkContext().hadoopConfiguration()


@contextmanager
def s3a(spark: SparkSession, folder: Path) -> Iterator[Store]:
    """Run a server that speaks S3, and tell a session of it, which was started `with_s3a`.

    Raises:
        NoEngineError: Hadoop's jars for S3 are not to be had.

    """
    s3a_jars()
    server = ObjectServer(folder / "requests.log")
    try:
        said = {
            "endpoint": server.environment["AWS_ENDPOINT"],
            "endpoint.region": "us-east-1",
            "access.key": "tests",
            "secret.key": SECRET,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "attempts.maximum": "1",
            "retry.limit": "1",
        }
        for name, value in said.items():
            _settings(spark).set(f"fs.s3a.{name}", value)
        yield Store(f"s3a://{BUCKET}/lake", spark, server)
    finally:
        server.close()


@contextmanager
def hdfs(spark: SparkSession, folder: Path) -> Iterator[Store]:
    """Run Hadoop's mini cluster; its superuser is another than the session's, for whom permissions count.

    Raises:
        NoEngineError: it cannot be fetched.
        RuntimeError: it does not start; the message has what it says.

    """
    jar = fetched(f"org.apache.hadoop:hadoop-client-minicluster:{hadoop_version()}")
    classes = f"{jar}:{Path(pyspark.__file__).parent / 'jars'}/*"
    program = [str(find_java()), "-Xmx512m", "-DHADOOP_USER_NAME=superuser", "-cp", classes, str(_PROGRAM)]
    said = folder / "hdfs.log"
    with said.open("w") as log:
        cluster = subprocess.Popen(
            [*program, str(folder / "hdfs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it does one call of the C library
        )
        assert cluster.stdout is not None and cluster.stdin is not None
        try:
            address = cluster.stdout.readline().strip()
            if not address.startswith("hdfs:"):
                raise RuntimeError(f"Hadoop's mini cluster does not start: {said.read_text()[-2000:]}")
            yield Store(f"{address}/lake", spark)
        finally:
            cluster.stdin.close()
            cluster.terminate()
            cluster.wait()
            cluster.stdout.close()
