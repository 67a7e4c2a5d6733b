"""The context of the suite and of campaigns: Spark's, without what makes each job dear (scala/).

Spark's cleaner of closures takes a tenth of what a Java process of the suite does, and settings of Hadoop a fifth.
Names that Py4J looks up take a twelfth. Nothing of ours depends on any of them. Programs of tests have Spark's own
context.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j import protocol
from pyspark import SparkContext

from udafs.build import compile_scala, spark_version

_SOURCES = sorted((Path(__file__).parent / "scala").glob("*.scala"))
_CLASS = "org.apache.spark.TestContext"

# A question of Py4J's for a name, and for a static method of a class; the answers that name a class and a method.
_NAME = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_UNKNOWN_SUB_COMMAND_NAME
_MEMBER = protocol.REFLECTION_COMMAND_NAME + protocol.REFL_GET_MEMBER_SUB_COMMAND_NAME
_FOUND = (protocol.SUCCESS_CLASS, protocol.SUCCESS + protocol.METHOD_TYPE)


@contextmanager
def for_small_jobs(folder: Path) -> Iterator[None]:
    """Let PySpark start the suite's context; ``folder`` keeps its class for all processes of the suite."""
    classes = compiled(folder)
    sparks = SparkContext._initialize_context

    def start(context: SparkContext, conf: Any) -> Any:
        jvm: Any = context._jvm
        remember_names(jvm._gateway_client)
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


def remember_names(client: Any) -> None:
    """Ask Java once for each package, class and static method.

    Of `jvm.org.apache.spark.X` Py4J asks for each part, each time, and Java then looks through all of Spark's jars for
    classes with such names.
    """
    ask, known = client.send_command, client.__dict__.setdefault("known_names", {})
    if known:
        return

    def send_command(command: str, retry: bool = True, binary: bool = False) -> Any:
        if command in known:
            return known[command]
        answer = ask(command, retry, binary)
        if command.startswith((_NAME, _MEMBER)) and (answer.startswith(_FOUND) or _is_package(command, answer)):
            known[command] = answer
        return answer

    client.send_command = send_command


def _is_package(command: str, answer: str) -> bool:
    """Whether a name stays a package's, whatever jars come: classes begin with a capital letter."""
    name = command[len(_NAME) :].partition("\n")[0]
    return bool(answer == protocol.SUCCESS_PACKAGE) and name.rpartition(".")[2].islower()


def _array(context: SparkContext, kind: Any, element: Any) -> Any:
    gateway: Any = context._gateway
    array = gateway.new_array(kind, 1)
    array[0] = element
    return array


def compiled(folder: Path) -> Path:
    """Return the folder with the class, compiled first when there is none for this Spark."""
    state = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES)).hexdigest()[:12]
    classes = folder / f"test-context-{spark_version()}-{state}"
    if not classes.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / "classes"
            fresh.mkdir()
            compile_scala(_SOURCES, fresh)
            if not classes.exists():
                fresh.rename(classes)
    return classes
