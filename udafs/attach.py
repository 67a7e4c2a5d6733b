"""Bring the kernel into a running Spark session."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from udafs.build import build_kernel
from udafs.errors import LineageError

_ENTRY = "forwardlineage.Kernel"


def attach(spark: SparkSession) -> None:
    """Register ``dlunion`` and the ``dl_*`` functions in ``spark``; a second call does no harm.

    The jar is compiled when need be (`build_kernel`), sent to the executors, and loaded through the class loader that
    all sessions of the application share. Functions belong to a session: attach each ``newSession()`` of its own.

    Raises:
        LineageError: the session is a Spark Connect client, which has no JVM here, or the kernel does not build.

    """
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        raise LineageError(
            "this is a Spark Connect session, and the kernel needs the driver's JVM",
            instead="Start the server with the kernel's jar and spark.sql.extensions=forwardlineage.LineageExtensions.",
        )
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    loader = session.sharedState().jarClassLoader()
    try:
        entry = loader.loadClass(_ENTRY)
    except Py4JJavaError:  # not there yet
        jar = str(build_kernel())
        session.sessionState().resourceLoader().addJar(jar)  # what ADD JAR does
        # To its class loader Spark gives a path with a space twice encoded; this one is right.
        loader.addURL(gateway.jvm.java.io.File(jar).toURI().toURL())
        entry = loader.loadClass(_ENTRY)
    no_types = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    no_arguments = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    entry.getConstructor(no_types).newInstance(no_arguments).attach(session)
