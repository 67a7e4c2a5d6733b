"""The way to the JVM that started this process: its gateway, its Spark context, its sessions."""

from __future__ import annotations

import os
import threading
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from udafs.build import kernel_sources
from udafs.errors import SetupError
from udafs.requests import ask
from udafs.versions import check_version

_JAR = "Write its jar with this one, `forward-lineage kernel --output …`, and start the application anew."


class Connection:
    """A Spark that runs elsewhere, and that this process did not start and does not stop.

    Args:
        port: of the gateway, on the loopback interface.
        secret: which the gateway asks for.

    Attributes:
        desk: where questions are and answers go, `udafs/scala/door/Desk.scala`.
        context: Spark's.

    Raises:
        SetupError: it is another version of Spark than that of the PySpark here.

    """

    def __init__(self, port: int, secret: str) -> None:
        os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = secret
        self._gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        self._lock = threading.Lock()
        self.desk: Any = self._gateway.entry_point
        running: Any = self.desk.context()
        if check_version(str(running.version())) != check_version(pyspark.__version__):
            raise SetupError(
                f"Spark is {running.version()}, and this interpreter has PySpark {pyspark.__version__}",
                instead=f'Install that one for it: pip install "pyspark=={running.version()}".',
            )
        java = self._gateway.jvm.org.apache.spark.api.java.JavaSparkContext(running)
        self.context = SparkContext(conf=SparkConf(_jconf=java.getConf()), gateway=self._gateway, jsc=java)
        self.desk.greet()

    def session(self, java: Any) -> SparkSession:
        """Return a session of the JVM's as PySpark has them; what is the application's default stays so.

        Args:
            java: the session, which is active in this thread.

        Raises:
            SetupError: its kernel is not that of this release.

        """
        with self._lock:
            if SparkSession._instantiatedSession is None:  # the first that is made here becomes the default there
                default = self.desk.defaultSession()
                SparkSession(self.context, default if default is not None else java)
                self.desk.setDefaultSession(default)
                self.desk.setActiveSession(java)
        spark = SparkSession(self.context, java)
        if ask(spark, "kernel") != kernel_sources(spark.version):
            raise SetupError("Spark has the kernel of another release of forward_lineage", instead=_JAR)
        return spark

    def leave(self) -> None:
        """Let the thread over there go that stands for this one."""
        connection = self._gateway._gateway_client.get_thread_connection()
        if connection is not None:
            connection.close()
