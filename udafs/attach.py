"""Bring the kernel into a running Spark session."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from udafs.build import build_kernel
from udafs.versions import check_connect, check_version

_ENTRY = "forwardlineage.Kernel"
_OBJECTS: WeakKeyDictionary[SparkSession, dict[str, Any]] = WeakKeyDictionary()  # to make one takes eight calls


def attach(spark: SparkSession) -> None:
    """Register ``dlunion`` and the ``dl_*`` functions in ``spark``; a second call does no harm.

    The jar is compiled when need be (`build_kernel`), sent to the executors, and loaded through the class loader that
    all sessions of the application share. Functions belong to a session: attach each ``newSession()`` of its own.

    A session of Spark Connect has the kernel of its server, which must have been started with it; from Spark 4.0 on.

    Raises:
        SetupError: its Spark is a version that the kernel is not made for (`udafs.versions`). Or the kernel does not
            build, or the session is one of Spark Connect, whose server does not have this kernel (`udafs.remote`).

    """
    if is_remote(spark):
        check_connect(pyspark.__version__)
        from udafs import remote  # noqa: PLC0415 - needs what only Spark Connect does

        remote.greet(spark)
        return
    session: Any = spark._jsparkSession
    check_version(spark.version)
    try:
        session.sharedState().jarClassLoader().loadClass(_ENTRY)
    except Py4JJavaError:  # not there yet
        _add_jar(spark, str(build_kernel()))
    kernel_object(spark, _ENTRY).attach(session)


def is_remote(spark: SparkSession) -> bool:
    """Tell whether a session is a client of Spark Connect, which has no JVM here."""
    return getattr(spark, "_jsparkSession", None) is None


def _add_jar(spark: SparkSession, jar: str) -> None:
    session: Any = spark._jsparkSession
    gateway: Any = spark.sparkContext._gateway
    session.sessionState().resourceLoader().addJar(jar)  # what ADD JAR does
    # To its class loader Spark gives a path with a space twice encoded; this one is right.
    session.sharedState().jarClassLoader().addURL(gateway.jvm.java.io.File(jar).toURI().toURL())


def kernel_object(spark: SparkSession, class_name: str) -> Any:
    """Return the session's object of a class of the kernel, which must be attached to it."""
    objects = _OBJECTS.setdefault(spark, {})
    if class_name not in objects:
        objects[class_name] = _new_object(spark, class_name)
    return objects[class_name]


def _new_object(spark: SparkSession, class_name: str) -> Any:
    session: Any = spark._jsparkSession
    gateway: Any = spark.sparkContext._gateway
    no_types = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    no_arguments = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    loaded = session.sharedState().jarClassLoader().loadClass(class_name)
    return loaded.getConstructor(no_types).newInstance(no_arguments)
