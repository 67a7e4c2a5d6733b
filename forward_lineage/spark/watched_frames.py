"""Notices what a piece of Python takes out of DataFrames while it runs, other than another DataFrame.

A function that only builds a query gives the same query each time. One that collects rows on its way may have drawn by
chance, or read what nobody watches, and its query does not show it. Python tells a profiler of each call in a thread;
calls of PySpark's classes that are not known to be lazy are noted. Nothing is patched, and it works the same through
Spark Connect, whose classes have the same names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLASSES = _words(
    """
    DataFrame GroupedData DataFrameNaFunctions DataFrameStatFunctions DataFrameWriter DataFrameReader
    DataFrameWriterV2 MergeIntoWriter SparkSession Catalog UDFRegistration RDD SparkContext
    PandasConversionMixin DataStreamWriter
    """
)
#: What makes another frame of frames, or tells what is known of one before it runs. What else there is
#: counts as taking. A session leads on to calls that are watched themselves.
_LAZY = _words(
    """
    agg alias asTable coalesce colRegex columns crossJoin cube distinct drop dtypes dropDuplicates
    dropDuplicatesWithinWatermark drop_duplicates dropna exceptAll exists explain fill fillna filter groupBy
    groupby groupingSets hint intersect intersectAll join isStreaming lateralJoin limit mapInArrow mapInPandas
    melt metadataColumn na nearestByJoin offset orderBy printSchema repartition repartitionById
    repartitionByRange replace rollup sameSemantics scalar schema select selectExpr semanticHash sort
    sortWithinPartitions stat subtract to toDF union unionAll unionByName unpivot where withColumn
    withColumnRenamed withColumns withColumnsRenamed withMetadata withWatermark apply applyInArrow
    applyInPandas avg cogroup max mean min pivot sum
    active conf getActiveSession sparkContext sparkSession
    """
)
_LAZY_OF_GROUPS = "GroupedData.count"
_CALLS_ARGUMENTS = "DataFrame.transform"  # lazy itself; what it calls may not be
_OURS = __name__.partition(".")[0]
_SPARK = ("pyspark.", "py4j.")
_PASS, _ENTER = "", "enter"  # a call of no interest; one within which nothing is noted


@contextmanager
def watched_frames() -> Iterator[list[str]]:
    """Watch this thread; the list says what was taken, in the order of the calls.

    Examples:
        >>> with watched_frames() as taken:
        ...     frame = spark.table("sales").filter("amount > 3")
        >>> taken
        ['SparkSession.table']
        >>> with watched_frames() as taken:
        ...     most = frame.groupBy().max("amount").first()
        >>> taken
        ['DataFrame.first']

    """
    taken: list[str] = []
    before = sys.getprofile()
    if before is not None:  # one of Python's own cannot be put back
        taken.append("something behind another profiler")
        yield taken
        return
    sys.setprofile(_watcher(taken))
    try:
        yield taken
    finally:
        sys.setprofile(None)


def _watcher(taken: list[str]) -> Any:
    kinds: dict[CodeType, str] = {}
    within: list[FrameType] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return":
            if within and within[-1] is frame:
                within.pop()
        elif event == "call" and not within:
            code = frame.f_code
            kind = kinds.get(code)
            if kind is None:
                kind = kinds[code] = _kind(frame)
            if kind == _ENTER:
                within.append(frame)
            elif kind and not (kind.startswith("Java") and _is_called_by_spark(frame)):
                taken.append(kind)
                within.append(frame)

    return watch


def _kind(frame: FrameType) -> str:
    """Return what a call is: of no interest, lazy or ours, or the name of what takes something out."""
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
    if module.startswith(f"{_OURS}.") and module != __name__:
        return _ENTER
    if module.startswith("py4j.") and name in ("JavaMember.__call__", "JavaClass.__call__"):
        return name
    of, _, method = name.partition(".")
    if not module.startswith("pyspark.") or of not in _CLASSES or method.startswith("_") or name == _CALLS_ARGUMENTS:
        return _PASS
    return _ENTER if method in _LAZY or name == _LAZY_OF_GROUPS else name


def _is_called_by_spark(frame: FrameType) -> bool:
    caller = frame.f_back
    return caller is not None and str(caller.f_globals.get("__name__", "")).startswith(_SPARK)
