"""Ask the kernel of a session: a name, arguments, an answer, the same for a Spark in this process and behind Connect.

All requests are answered in one place, `udafs/scala/requests/Requests.scala`. A session with a JVM asks through py4j,
one call each. A session of Spark Connect asks through the kernel's plugin on the server, see `udafs.remote`.
"""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from udafs.attach import is_remote, kernel_object

_CLASS = "org.apache.spark.sql.forwardlineage.Requests"


def ask(spark: SparkSession, request: str, frame: DataFrame | None = None, /, **arguments: Any) -> str:
    """Return the kernel's answer, a text whose form is the request's own.

    Args:
        spark: a session with the kernel attached.
        request: its name.
        frame: the DataFrame that it is about, if it is about one.
        arguments: text, truth values, and bytes.

    Raises:
        PySparkException: Spark's own complaint, see `forward_lineage.spark.errors`.
        Py4JJavaError: the same, of a session with a JVM.

    """
    text = _written(request, arguments)
    if is_remote(spark):
        from udafs import remote  # noqa: PLC0415 - needs what only Spark Connect does

        return remote.ask(spark, text, () if frame is None else (frame,))
    kernel, session = kernel_object(spark, _CLASS), spark._jsparkSession
    return str(kernel.answer(session, text) if frame is None else kernel.answer(session, text, frame._jdf))


def ask_json(spark: SparkSession, request: str, frame: DataFrame | None = None, /, **arguments: Any) -> Any:
    """Return an answer that is JSON, read; otherwise as `ask`."""
    return json.loads(ask(spark, request, frame, **arguments))


def ask_frame(request: str, *frames: DataFrame, **arguments: Any) -> DataFrame | None:
    """Return an answer that is a DataFrame, resolved once; None where there is none.

    Args:
        request: its name.
        frames: one or two DataFrames that it is about.
        arguments: as for `ask`.

    Raises:
        PySparkException: as for `ask`.
        Py4JJavaError: as for `ask`.

    """
    spark = frames[0].sparkSession
    if is_remote(spark):
        from udafs import remote  # noqa: PLC0415 - needs what only Spark Connect does

        return remote.ask_frame(spark, _written(request, {**arguments, "frame": True}), frames)
    text = _written(request, arguments)
    found = kernel_object(spark, _CLASS).frame(spark._jsparkSession, text, *(each._jdf for each in frames))
    return None if found is None else DataFrame(found, spark)


def resolved_once(frame: DataFrame) -> DataFrame:
    """Return a DataFrame that stays the same query, whatever it is joined with.

    Names mean what they mean now: those of Spark Connect are resolved at each use. The stages of its query, if it has
    any, are its own where it is joined with itself.
    """
    return cast(DataFrame, ask_frame("as it is", frame))


def describing_last(frame: DataFrame, metadata: dict[str, Any]) -> DataFrame:
    """Return a DataFrame with metadata on its last column, as `withMetadata` does, and nothing analysed again."""
    if is_remote(frame.sparkSession):
        return frame.withMetadata(frame.columns[-1], metadata)
    return cast(DataFrame, ask_frame("describing the last column", frame, metadata=json.dumps(metadata)))


def surroundings(spark: SparkSession) -> Any:
    """Return the kernel's note of that on which the meaning of a text depends now, for `keep_analysed`."""
    return None if is_remote(spark) else kernel_object(spark, _CLASS).surroundings(spark._jsparkSession)


def keep_analysed(frame: DataFrame, before: Any) -> Any:
    """Return what the kernel keeps of a DataFrame just made from text, for `analysed_again`; None if it keeps nothing.

    Nothing is kept of what depends on more than the kernel looks at (`KnownQuery.scala`), or behind Spark Connect.

    Args:
        frame: the DataFrame.
        before: the `surroundings` before it was made: if they have changed, nothing is kept.

    """
    spark = frame.sparkSession
    return None if before is None else kernel_object(spark, _CLASS).known(spark._jsparkSession, frame._jdf, before)


def analysed_again(spark: SparkSession, kept: Any) -> DataFrame | None:
    """Return a DataFrame like the one that was kept, with columns of its own, and without analysing its text again.

    None if the text might mean something else now: a view, a function, a setting or the current database changed.
    """
    found = kernel_object(spark, _CLASS).again(spark._jsparkSession, kept)
    return None if found is None else DataFrame(found, spark)


def _written(request: str, arguments: dict[str, Any]) -> str:
    plain = {name: _plain(value) for name, value in arguments.items() if value is not None}
    return json.dumps({"ask": request, **plain})


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes | bytearray | memoryview) else value
