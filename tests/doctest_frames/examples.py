"""Run the doctests of a module of PySpark, the data in tables, and hand on each DataFrame that they evaluate."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from forward_lineage import ForwardLineage, LineageError

# Whose methods run: from 4.0 on there is a class of its own for sessions with a JVM.
_PLACE = "pyspark.sql.classic.dataframe" if importlib.util.find_spec("pyspark.sql.classic") else "pyspark.sql.dataframe"
DataFrame = importlib.import_module(_PLACE).DataFrame

MODULES = ("dataframe", "functions.builtin", "window", "group", "column")
# What runs a DataFrame.
ACTIONS = (
    "show", "collect", "toPandas", "toArrow", "count", "first", "head", "take", "tail", "toLocalIterator", "foreach",
    "foreachPartition", "isEmpty",
)  # fmt: skip

_OF_VALUES = re.compile(r"\s*SELECT\s+\*\s+FROM\s+VALUES\b", re.IGNORECASE)


class TablesOfData:
    """A session for examples: DataFrames that are made of data are registered first, and read as tables.

    Args:
        lineage: of the session.

    Attributes:
        refused: why data became no table, in the order in which they came.

    """

    KEPT = 40  # tables that the next doctests may find

    def __init__(self, lineage: ForwardLineage) -> None:
        self.lineage = lineage
        self.refused: list[str] = []
        self._names: dict[str, str] = {}
        self._registered = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lineage.spark, name)

    def createDataFrame(self, *given: Any, **named: Any) -> Any:  # noqa: N802 - PySpark's name
        return self._table(self.lineage.spark.createDataFrame, given, named)

    def range(self, *given: Any, **named: Any) -> Any:
        return self._table(self.lineage.spark.range, given, named)

    def sql(self, text: str, *given: Any, **named: Any) -> Any:
        """Rows that stand in the text are data, too."""
        if _OF_VALUES.match(text):
            return self._table(self.lineage.spark.sql, (text, *given), named)
        return self.lineage.spark.sql(text, *given, **named)

    def _table(self, make: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        data = repr(
            (make.__name__, given, named)
        )  # of objects it says where they are, so that only equal data are equal
        if data not in self._names:
            frame = make(*given, **named)
            self._registered += 1
            name = f"given_{self._registered}"
            try:
                self.lineage.register(name, source=frame)
            except LineageError as refusal:
                self.refused.append(str(refusal))
                return frame
            self._names[data] = name
        return self.lineage.spark.table(self._names[data])

    def clear(self) -> None:
        """Forget what a doctest left behind, and the oldest tables."""
        self.refused.clear()
        for data in list(self._names)[: -self.KEPT]:
            self.lineage.unregister(self._names.pop(data))
        catalog = self.lineage.spark._jsparkSession.sessionState().catalog()
        views = catalog.listLocalTempViews("*")
        for view in [views.apply(place).table() for place in range(views.size())]:
            if not view.startswith(("given_", "__dl_")):
                self.lineage.spark.catalog.dropTempView(view)
        self.lineage.spark.catalog.clearCache()


@dataclass
class Example:
    """One example of a doctest that was run.

    Attributes:
        test: the name of the doctest, e.g. ``pyspark.sql.dataframe.DataFrame.agg``.
        source: what was run.
        frames: what it evaluated.
        error: what it ended with, if that was not expected.

    """

    test: str
    source: str
    frames: list[Any] = field(default_factory=list)
    error: str | None = None


class Watch:
    """Notes each DataFrame on which one of `ACTIONS` is called by an example, not by PySpark itself."""

    def __init__(self) -> None:
        self._frames: list[Any] = []
        self._within = False

    def taken(self) -> list[Any]:
        """Return what was evaluated since the last call, each once."""
        found, self._frames = self._frames, []
        return list({id(each): each for each in found}.values())

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        before = {name: getattr(DataFrame, name) for name in ACTIONS}
        for name, action in before.items():
            setattr(DataFrame, name, self._noted(action))
        try:
            yield
        finally:
            for name, action in before.items():
                setattr(DataFrame, name, action)

    def _noted(self, action: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(action)
        def noted(frame: Any, *given: Any, **named: Any) -> Any:
            if self._within:
                return action(frame, *given, **named)
            self._within = True
            self._frames.append(frame)
            try:
                return action(frame, *given, **named)
            finally:
                self._within = False

        return noted


def doctests(modules: Sequence[str] = MODULES) -> list[doctest.DocTest]:
    """The doctests of some modules of PySpark that have examples, sorted by name."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [each for name in modules for each in finder.find(importlib.import_module(f"pyspark.sql.{name}"))]
    return sorted((each for each in found if each.examples), key=lambda each: each.name)


def run(test: doctest.DocTest, spark: TablesOfData, seconds: int = 0) -> Iterator[Example]:
    """Run the examples of a doctest, one after another, each with what it evaluated; output is not compared.

    Args:
        test: the doctest.
        spark: what its examples call ``spark``.
        seconds: for one example, some of which wait for a stream; 0: no limit.

    """
    session = spark.lineage.spark
    names = {**test.globs, "spark": spark, "sc": session.sparkContext}
    watch = Watch()
    for example in test.examples:
        if example.options.get(doctest.SKIP):
            continue
        done = Example(test.name, example.source.strip())
        with watch.watching():
            error = _executed(example.source, names, seconds)
        done.frames = watch.taken()
        if error is not None and example.exc_msg is None:
            done.error = f"{type(error).__name__}: {error}"
        yield done


def _executed(source: str, names: dict[str, Any], seconds: int) -> Exception | None:
    """Run a statement; what it says is thrown away."""
    shown, sys.displayhook = sys.displayhook, repr
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), _within(seconds):
            warnings.simplefilter("ignore")
            exec(compile(source, "<example>", "single"), names)
    except Exception as error:
        return error
    finally:
        sys.displayhook = shown
    return None


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    def too_long(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
