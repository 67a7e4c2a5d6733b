"""The lists of function names against the function registry of a live session, so that they cannot drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rewrites.spark_functions import (
    AGGREGATES,
    BARE_CONSTANTS,
    GENERATORS,
    GROUPING_MARKERS,
    NONDETERMINISTIC,
    TABLE_VALUED,
    UNIT_FIRST,
    UNITS,
    WINDOW_ONLY,
)

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def _iterate(scala_collection: Any) -> Iterator[Any]:
    iterator = scala_collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


class _Registry:
    """Builds the expression behind a function name, with as many arguments as it takes."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        state = spark._jsparkSession.sessionState()
        self._registry = state.functionRegistry()
        self._parser = state.sqlParser()
        self.identifiers = list(_iterate(self._registry.listFunction()))
        self._tries = [
            self._arguments([argument.format(i) for i in range(count)])
            for count in (1, 2, 0, 3, 4, 5, 6)
            for argument in ("a{}", "1", "'x'")
        ]

    def _arguments(self, texts: list[str]) -> Any:
        arguments = self._jvm.java.util.ArrayList()
        for text in texts:
            arguments.add(self._parser.parseExpression(text))
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(arguments).toSeq()

    def build(self, identifier: Any) -> Any:
        for arguments in self._tries:
            try:
                return self._registry.lookupFunction(identifier, arguments)
            except (Py4JJavaError, PySparkException):
                continue
        return None  # needs literals of a certain form, e.g. from_json

    def those_that_are(self, built: dict[str, Any], trait: str) -> set[str]:
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = self._jvm.java.lang.Class.forName(_EXPRESSIONS + trait, True, loader)
        return {name for name, expression in built.items() if kind.isInstance(expression)}


@pytest.fixture(scope="module")
def registry(spark: SparkSession) -> _Registry:
    return _Registry(spark)


@pytest.fixture(scope="module")
def built(registry: _Registry) -> dict[str, Any]:
    functions = {identifier.funcName(): registry.build(identifier) for identifier in registry.identifiers}
    return {name: expression for name, expression in functions.items() if expression is not None}


def test_nearly_every_function_could_be_built(registry: _Registry, built: dict[str, Any]) -> None:
    missing = {identifier.funcName() for identifier in registry.identifiers} - set(built)
    assert _sparks_own(missing) <= {"from_csv", "from_json", "from_xml", "cast", "extract", "datepart", "date_part"}


def _sparks_own(names: set[str]) -> set[str]:
    """Leave out our own kernel's functions: they are there when another test of the run has attached it."""
    return {name for name in names if not name.startswith(("dl_", "dlunion"))}


def test_aggregates_window_functions_and_generators(registry: _Registry, built: dict[str, Any]) -> None:
    folding = _sparks_own(registry.those_that_are(built, "aggregate.AggregateFunction"))
    window = registry.those_that_are(built, "WindowFunction")
    assert folding - window == AGGREGATES
    assert window == WINDOW_ONLY
    assert registry.those_that_are(built, "Generator") == GENERATORS


def test_nondeterministic_functions(built: dict[str, Any]) -> None:
    found = {name for name, e in built.items() if not e.deterministic()}
    assert _sparks_own(found) == _sparks_own(set(NONDETERMINISTIC))
    assert found - _sparks_own(found) <= {"dl_number"} < NONDETERMINISTIC


def test_documented_groups_agree(registry: _Registry) -> None:
    groups: dict[str, set[str]] = {}
    for identifier in registry.identifiers:
        info = registry._registry.lookupFunction(identifier).get()
        groups.setdefault(info.getGroup(), set()).add(identifier.funcName())
    assert groups["window_funcs"] == WINDOW_ONLY
    assert _sparks_own(groups["agg_funcs"]) <= AGGREGATES | GROUPING_MARKERS
    assert groups["agg_funcs"] >= GROUPING_MARKERS


def test_table_valued_functions(spark: SparkSession) -> None:
    registry = spark._jsparkSession.sessionState().tableFunctionRegistry()
    assert _sparks_own({each.funcName() for each in _iterate(registry.listFunction())}) == TABLE_VALUED


def test_functions_that_begin_with_a_unit(spark: SparkSession, registry: _Registry) -> None:
    parser = spark._jsparkSession.sessionState().sqlParser()

    def reads_a_unit(name: str, unit: str) -> bool:
        try:
            return f"'{unit}" not in parser.parseExpression(f"{name}({unit}, 1, x)").toString()
        except (Py4JJavaError, PySparkException):
            return False  # has a grammar of its own

    names = {identifier.funcName() for identifier in registry.identifiers}
    candidates = {name for name in names if name.isidentifier()} | UNIT_FIRST
    assert {name for name in candidates if reads_a_unit(name, "MONTH")} == UNIT_FIRST
    for name in UNIT_FIRST:
        assert all(reads_a_unit(name, unit) for unit in UNITS)


@pytest.mark.long
def test_functions_without_parentheses(spark: SparkSession, registry: _Registry) -> None:
    def stands_alone(name: str) -> bool:
        try:
            spark.sql(f"SELECT {name}").schema  # noqa: B018 - analysis happens here
        except PySparkException:
            return False
        return True

    names = {identifier.funcName() for identifier in registry.identifiers}
    assert {name for name in names if name.isidentifier() and stands_alone(name)} == BARE_CONSTANTS
