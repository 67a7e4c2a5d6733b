"""Saved results over columns of every type, under names that are hard to read: kept, opened again, asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.questions import Questions
from tests.oracle.kinds import KINDS, NAMES, OTHER_SETTINGS, Tables, Typed, cast_type, keys_of, quoted, session_apart
from tests.oracle.spark_answers import FAILURES
from tests.spark_settings import DEFAULTS, configure
from tests.tiers import every_day
from udafs.errors import NotTracedError

pytestmark = pytest.mark.timeout(1800)

ALL = [(kind, NAMES[place % len(NAMES)]) for place, kind in enumerate(KINDS)]
DAILY = ("CHAR(3)",)


@pytest.fixture(scope="module")
def opened(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    with session_apart(spark, tmp_path_factory.mktemp("typed"), OTHER_SETTINGS) as session:
        yield session


def again(lineage: ForwardLineage) -> ForwardLineage:
    """The same home, opened by somebody else, who has the settings of the first session."""
    session = lineage.spark.newSession()
    session.catalog.setCurrentDatabase(lineage.spark.catalog.currentDatabase())
    configure(session, DEFAULTS)  # Spark 4.3 cannot read a VARIANT without generated code
    return ForwardLineage(session, home=Path(str(lineage.home)))


def conditions(kind: str, name: str) -> list[str]:
    """No value, one that is there twice, another one; whether there is one, where values cannot be compared."""
    column, (first, *_, last) = quoted(name), [value for value in KINDS[kind] if value != "NULL"]
    if kind.startswith(("MAP", "VARIANT")):
        return [f"{column} IS NULL", f"{column} IS NOT NULL"]
    return [f"{column} IS NULL", *(f"{column} = CAST({value} AS {cast_type(kind)})" for value in (first, last))]


def rows(frame: DataFrame, *columns: str) -> list[str]:
    return sorted(keys_of(frame.select(*map(quoted, columns))))


@pytest.mark.parametrize(("kind", "name"), every_day(ALL, lambda each: each[0] in DAILY))
def test_kept_opened_again_and_asked(opened: ForwardLineage, kind: str, name: str) -> None:
    column, tables = quoted(name), Tables(opened, Typed("rows", kind, name))
    query, copied = f"SELECT {column}, max(k) AS m FROM x GROUP BY {column}", f"SELECT {column}, k AS m FROM x"
    try:
        try:
            rows(opened.spark.sql(query), name, "m")
        except FAILURES:  # Spark cannot group such values
            query = copied
        try:
            opened.save(query, "kept")
        except NotTracedError as refusal:  # a name that is ours, a type that Arrow lacks
            assert refusal.instead is not None
            return
        opened.save(f"SELECT {column} FROM kept WHERE m >= 0", "second")
        lineage = again(opened)
        assert rows(lineage.result("kept"), name, "m") == rows(lineage.spark.sql(query), name, "m")
        for condition in conditions(kind, name):
            _check(lineage, condition, name)
        opened.drop("second")
        opened.drop("kept")
    finally:
        tables.drop()


def _check(lineage: ForwardLineage, condition: str, name: str) -> None:
    """Rows of one value are made of the base rows of that value, in one step and in two."""
    base = rows(lineage.spark.table("x").filter(condition), "id", name)
    touched = {row.result: row.rows_touched for row in lineage.impact("x", condition).collect()}
    for result in ("kept", "second"):
        assert rows(lineage.backward(result, condition), "id", name) == base, condition
        reached = rows(lineage.result(result).filter(condition), name)
        assert rows(lineage.forward("x", condition, result=result), name) == reached, condition
        assert touched.get(result, 0) == len(reached), condition
    ids = lineage.backward_ids("second", condition, table="kept")
    with suppress(NeedsSpark):  # or it gives the same
        assert list(Questions(lineage.home).backward("second", condition, table="kept").ids) == list(ids)


@pytest.mark.parametrize(("kind", "name"), every_day(ALL, lambda each: each[0] in DAILY))
def test_rows_are_known_by_such_a_key(opened: ForwardLineage, kind: str, name: str) -> None:
    column, tables = quoted(name), Tables(opened, Typed("rows", kind, name))
    opened.spark.sql("DROP TABLE IF EXISTS u")
    try:
        # equal values are one, of which the first is kept
        firsts = opened.spark.table("x").filter(f"{column} IS NOT NULL").dropDuplicates([name])
        firsts.write.saveAsTable("u")
    except FAILURES:
        return tables.drop()
    try:
        opened.register("u", key=[name])
    except LineageError:
        return tables.drop()
    try:
        opened.save("SELECT k, count(*) AS n FROM u GROUP BY k", "counted")
        lineage = again(opened)
        everything = rows(lineage.spark.table("u"), "id", name)
        assert rows(lineage.backward("counted"), "id", name) == everything
        for condition in conditions(kind, name)[1:]:
            chosen = lineage.spark.table("u").filter(condition)
            try:
                affected = lineage.affected(f"SELECT id, {column} FROM u", "u", condition)
            except NotTracedError as refusal:  # a name that is ours
                assert refusal.instead is not None
                return None
            assert rows(affected, "id", name) == rows(chosen, "id", name), condition
            reached = lineage.forward("u", condition, result="counted")
            assert rows(reached, "k") == rows(chosen.select("k").distinct(), "k"), condition
    finally:
        opened.drop("counted")
        opened.unregister("u")
        opened.spark.sql("DROP TABLE IF EXISTS u")
        tables.drop()


def test_names_that_are_equal_but_for_case_are_refused_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    """The rules take such names for one; what they would read wrongly is not read."""
    setting = "spark.sql.caseSensitive"
    with session_apart(spark, tmp_path / "home", {setting: "true"}) as lineage:
        data = "VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'b') AS t(id, v, V)"
        lineage.spark.sql(f"SELECT * FROM {data}").createOrReplaceTempView("cased")
        lineage.register("cased", key="id")
        query = "SELECT v, max(V) AS V FROM cased GROUP BY v"
        asked: list[Callable[[], object]] = [
            lambda: lineage.sql(query),
            lambda: lineage.save(query, "kept"),
            lambda: lineage.rewrite(query),
            lambda: lineage.trace(lineage.spark.sql(query)),
            lambda: lineage.affected(query, "cased", "V = 'a'"),
        ]
        for ask in asked:
            with pytest.raises(NotTracedError, match=setting):
                ask()
        assert lineage.results() == []
        lineage.unregister("cased")
        lineage.spark.catalog.dropTempView("cased")
