"""The context of the suite and of campaigns: Spark's, without what makes each job dear (scala/TestContext.scala).

Its cleaner of closures takes a tenth of what a Java process of the suite does, settings of Hadoop a fifth, and nothing
of ours depends on either. Programs that tests start have Spark's own context.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from udafs.build import compile_scala, spark_version

_SOURCE = Path(__file__).parent / "scala" / "TestContext.scala"
_CLASS = "org.apache.spark.TestContext"


@contextmanager
def for_small_jobs(folder: Path) -> Iterator[None]:
    """Let PySpark start the suite's context; ``folder`` keeps its class for all processes of the suite."""
    classes = compiled(folder)
    sparks = SparkContext._initialize_context

    def start(context: SparkContext, conf: Any) -> Any:
        jvm: Any = context._jvm
        urls = _array(context, jvm.java.net.URL, jvm.java.io.File(str(classes)).toURI().toURL())
        parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        found = jvm.java.net.URLClassLoader(urls, parent).loadClass(_CLASS)
        made = found.getConstructor(_array(context, jvm.java.lang.Class, conf.getClass()))
        return jvm.JavaSparkContext(made.newInstance(_array(context, jvm.java.lang.Object, conf)))

    SparkContext._initialize_context = start  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        SparkContext._initialize_context = sparks  # type: ignore[method-assign]


def _array(context: SparkContext, kind: Any, element: Any) -> Any:
    gateway: Any = context._gateway
    array = gateway.new_array(kind, 1)
    array[0] = element
    return array


def compiled(folder: Path) -> Path:
    """Return the folder with the class, compiled first when there is none for this Spark."""
    state = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
    classes = folder / f"test-context-{spark_version()}-{state}"
    if not classes.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / "classes"
            fresh.mkdir()
            compile_scala([_SOURCE], fresh)
            if not classes.exists():
                fresh.rename(classes)
    return classes
