"""A text that was rewritten before is not rewritten again while all its names mean what they meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ChangedError, ForwardLineage, NotRegisteredError
from forward_lineage.frontend import parse
from forward_lineage.frontend.rewriting import RewrittenStatement
from forward_lineage.spark.planning import Planner
from forward_lineage.tracing import remembered, statements
from forward_lineage.tracing.remembered import Memory, Noted, Remembered
from rewrites.tables import Source, View
from udafs.attach import attach
from udafs.requests import ask, ask_json


class Names:
    """Names that mean what the test says."""

    def __init__(self, **views: str) -> None:
        self.views = views

    def find(self, parts: Sequence[str]) -> Source | None:
        sql = self.views.get(parts[0])
        return None if sql is None else View(parts[0], ("k",), sql)

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        return tuple(parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        return parts[0].isupper()

    def names(self) -> Sequence[str]:
        return list(self.views)


def _remembered(names: Names) -> Remembered:
    noted = Noted(names)
    noted.find(["v"])
    noted.find(["w"])
    noted.is_variable(["LIMIT"])
    return Remembered(parse("SELECT 1"), RewrittenStatement("", "", "", (), {}), noted.answers)


def test_it_holds_while_all_answers_are_the_same() -> None:
    known = _remembered(Names(v="SELECT 1"))
    assert known.holds(Names(v="SELECT 1", x="SELECT 3"))
    assert not known.holds(Names(v="SELECT 2"))
    assert not known.holds(Names(v="SELECT 1", w="SELECT 1"))
    assert not known.holds(Names())


def test_the_ones_that_were_asked_for_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST", 2)
    memory, names = Memory(), Names(v="SELECT 1")
    for key in "ab":
        memory.add(key, _remembered(names))
    assert memory.get("a", lambda: names) is not None
    memory.add("c", _remembered(names))
    assert [memory.get(key, lambda: names) is not None for key in "abc"] == [True, False, True]


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that were rewritten since."""
    texts: list[str] = []
    rewrite = statements.rewrite_statement

    def noting(statement, *given, **named):  # type: ignore[no-untyped-def]
        texts.append(statement.text)
        return rewrite(statement, *given, **named)

    monkeypatch.setattr(statements, "rewrite_statement", noting)
    yield texts


@pytest.fixture
def lineage(spark: SparkSession, tmp_path: Path) -> ForwardLineage:
    session = spark.newSession()
    for name, add in (("a", 0), ("b", 10)):
        session.range(4).selectExpr("id", f"id % 2 + {add} AS k").write.parquet(str(tmp_path / name))
    lineage = ForwardLineage(session, home=tmp_path / "home")
    lineage.register("sales", path=tmp_path / "a")
    return lineage


class TestInASession:
    QUERY = "SELECT k, count(*) AS n FROM sales GROUP BY k"

    def test_a_second_run_rewrites_nothing_and_gives_the_same(
        self, lineage: ForwardLineage, rewritten: list[str]
    ) -> None:
        first = lineage.sql(self.QUERY)
        second = lineage.sql(self.QUERY)
        assert rewritten == [self.QUERY]
        assert first.schema == second.schema
        assert sorted(first.collect()) == sorted(second.collect())

    def test_what_is_said_beside_the_text_counts(self, lineage: ForwardLineage, rewritten: list[str]) -> None:
        lineage.sql(self.QUERY)
        lineage.sql(self.QUERY, semantics="control")
        lineage.rewrite(self.QUERY)
        lineage.affected(self.QUERY, "sales", "id = 1")
        assert rewritten.count(self.QUERY) == 4

    def test_a_view_that_means_something_else_now(self, lineage: ForwardLineage, rewritten: list[str]) -> None:
        asked = "SELECT max(id) AS m FROM v"
        lineage._parts.tables.spark.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM sales WHERE id < 2")
        assert lineage.sql(asked).collect()[0].m == 1
        lineage._parts.tables.spark.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM sales WHERE id < 3")
        assert lineage.sql(asked).collect()[0].m == 2
        assert len(rewritten) == 2

    def test_a_name_that_was_given_to_something_else(self, lineage: ForwardLineage, rewritten: list[str]) -> None:
        lineage.sql(self.QUERY)
        lineage._parts.tables.spark.sql("CREATE OR REPLACE TEMP VIEW sales AS SELECT 1 AS id, 'x' AS k")
        with pytest.raises(ChangedError, match="dropped or replaced"):
            lineage.sql(self.QUERY)

    def test_a_table_that_was_registered_again(
        self, lineage: ForwardLineage, rewritten: list[str], tmp_path: Path
    ) -> None:
        assert {row.k for row in lineage.sql(self.QUERY).collect()} == {0, 1}
        lineage.unregister("sales")
        with pytest.raises(NotRegisteredError):
            lineage.sql(self.QUERY)
        lineage.register("sales", path=tmp_path / "b")
        assert {row.k for row in lineage.sql(self.QUERY).collect()} == {10, 11}

    def test_parameters_have_other_values_each_time(self, lineage: ForwardLineage, rewritten: list[str]) -> None:
        asked = "SELECT :x AS x, id FROM sales WHERE id = :x"
        assert [row.x for x in (1, 2) for row in lineage.sql(asked, args={"x": x}).collect()] == [1, 2]
        assert lineage.sql(asked, args={"x": "3"}).schema["x"].dataType.simpleString() == "string"
        assert len(rewritten) == 1


class TestAnalysedOnce:
    """What Spark made of a text is taken again only while it would make the same of it."""

    QUERY = "SELECT k, sum(id) AS s FROM sales GROUP BY k"

    @pytest.fixture
    def again(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
        """Whether each text that was kept was taken as it was."""
        said: list[bool] = []
        ask = statements.analysed_again

        def noting(*asked: object) -> object:
            found = ask(*asked)  # type: ignore[arg-type]
            said.append(found is not None)
            return found

        monkeypatch.setattr(statements, "analysed_again", noting)
        yield said

    @staticmethod
    def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, frame.selectExpr("k", "s", "dl_ids(DL.sales)").collect()))

    def test_a_text_that_was_seen_before(self, lineage: ForwardLineage, again: list[bool]) -> None:
        found = [lineage.sql(self.QUERY) for _ in range(3)]
        assert again == [True, True]
        assert [self._rows(each) for each in found] == [[(0, 2, [0, 2]), (1, 4, [1, 3])]] * 3
        assert len({each.schema.json() for each in found}) == 1

    def test_each_has_columns_of_its_own(self, lineage: ForwardLineage, again: list[bool]) -> None:
        one, two, three = (lineage.sql(self.QUERY) for _ in range(3))
        both = one.join(two, one.k == two.k + 1).join(three, three.s == two.s)
        assert [tuple(row) for row in both.select(one.s, two.k, three.k).collect()] == [(4, 0, 0)]
        mixed = two.join(one, two.k < one.k).select(two.k.alias("a"), one.k.alias("b"))
        assert [tuple(row) for row in mixed.collect()] == [(0, 1)]
        assert again == [True, True]

    def test_each_with_stages_has_stages_of_its_own(self, lineage: ForwardLineage, again: list[bool]) -> None:
        lineage._parts.tables.spark.conf.set("spark.forward_lineage.by_reference", "true")
        asked = f"SELECT a.k, b.s FROM ({self.QUERY}) AS a JOIN ({self.QUERY}) AS b ON a.k >= b.k"
        one, two = lineage.sql(asked), lineage.sql(asked)
        alone = self._rows(one)
        assert alone == self._rows(two) == [(0, 2, [0, 2]), (1, 2, [0, 1, 2, 3]), (1, 4, [1, 3])]
        both = one.join(two, (one.k == two.k) & (one.s < two.s)).select(one.s, two.s, one.k, one.DL.sales, two.DL.sales)
        found = both.toDF("s", "t", "k", "a", "b").selectExpr("s", "t", "dl_ids(a)", "dl_ids(b)").collect()
        assert [tuple(row) for row in found] == [(2, 4, [0, 1, 2, 3], [1, 3])]
        assert again == [True]

    def test_it_is_cached_as_one_query(self, lineage: ForwardLineage, again: list[bool]) -> None:
        lineage.sql(self.QUERY).cache()
        second = lineage.sql(self.QUERY)
        assert again == [True]
        assert "InMemoryTableScan" in second._jdf.queryExecution().executedPlan().toString()
        lineage._parts.tables.spark.catalog.clearCache()

    @pytest.mark.parametrize(
        ("change", "back"),
        [
            ("SET spark.sql.ansi.enabled = false", "RESET spark.sql.ansi.enabled"),
            ("SET spark.sql.session.timeZone = Asia/Tokyo", "RESET spark.sql.session.timeZone"),
            ("SET spark.forward_lineage.encoding = set", "RESET spark.forward_lineage.encoding"),
            ("USE other", "USE default"),
        ],
    )
    def test_what_its_meaning_depends_on(
        self, lineage: ForwardLineage, again: list[bool], change: str, back: str
    ) -> None:
        spark = lineage._parts.tables.spark
        spark.sql("CREATE DATABASE IF NOT EXISTS other")
        lineage.sql(self.QUERY)
        spark.sql(change)
        lineage.sql(self.QUERY)
        spark.sql(back)
        lineage.sql(self.QUERY)
        assert True not in again
        spark.sql("DROP DATABASE other")

    def test_functions_of_the_user_are_looked_up_each_time(self, lineage: ForwardLineage, again: list[bool]) -> None:
        asked = "SELECT id, times(k) AS k FROM sales"
        for factor in (2, 3):
            lineage._parts.tables.spark.udf.register("times", lambda value, by=factor: value * by, "bigint")
            assert {row.k for row in lineage.sql(asked).collect()} == {0, factor}
        assert again == []

    def test_a_function_that_came_since(self, lineage: ForwardLineage, again: list[bool]) -> None:
        asked = "SELECT id, abs(k) AS k FROM sales"
        lineage.sql(asked)
        lineage._parts.tables.spark.udf.register("abs", lambda value: value, "bigint")
        assert {row.k for row in lineage.sql(asked).collect()} == {0, 1}  # whichever of the two Spark takes
        assert again == [False]

    def test_a_view_of_the_same_text_that_was_made_anew(self, lineage: ForwardLineage, again: list[bool]) -> None:
        first = self._rows(lineage.sql(self.QUERY))
        spark = lineage._parts.tables.spark
        view = spark.sql("SELECT id + 1 AS id, k, __dl_id FROM __dl_ids_sales")
        text = ask_json(spark, "view text", name="__dl_ids_sales")
        view.createOrReplaceTempView("copied")
        ask(spark, "make view", name="__dl_ids_sales", query="SELECT * FROM copied", text=text)
        assert [row[1] for row in self._rows(lineage.sql(self.QUERY))] == [each[1] + 2 for each in first]
        assert again == [False]

    @pytest.mark.parametrize("drawn", ["rand()", "uuid()", "x", "shuffle(array(1, 2, 3))"])
    def test_what_is_drawn_or_set_is_asked_for_each_time(
        self, lineage: ForwardLineage, again: list[bool], drawn: str
    ) -> None:
        spark = lineage._parts.tables.spark
        spark.sql("DECLARE OR REPLACE VARIABLE x = 1")
        asked = f"SELECT id, {drawn} AS drawn FROM sales"
        first = lineage.sql(asked)
        spark.sql("SET VARIABLE x = 2")
        second = lineage.sql(asked)
        assert again == []
        assert drawn.startswith("shuffle") or first.collect() != second.collect()


@pytest.mark.parametrize(
    ("text", "other", "alike"),
    [
        (
            "SELECT a AS b, (SELECT 1) FROM t WHERE EXISTS (SELECT 2)",
            "select a b, (select 1) from t where exists (select 2)",
            True,
        ),
        ("WITH w AS (SELECT 1 AS x) SELECT x FROM w", "WITH w AS (SELECT 2 AS x) SELECT x FROM w", False),
        ("WITH w AS (SELECT 1 AS x) SELECT x FROM w", "WITH w AS (SELECT 1 AS x)  SELECT x FROM w", True),
        ("SELECT CAST(a AS INT) FROM t", "SELECT a :: INT FROM t", True),
        ("SELECT a FROM t GROUP BY a", "SELECT a FROM t GROUP BY b", False),
        ("SELECT sum(a) OVER (ORDER BY b) FROM t", "SELECT sum(a) OVER (ORDER BY b DESC) FROM t", False),
        ("SELECT * FROM t AS x JOIN u USING (k)", "SELECT * FROM t AS x LEFT JOIN u USING (k)", False),
        ("SELECT 1.0", "SELECT 1.00", False),
        ("SELECT DISTINCT a FROM t", "SELECT a FROM t", False),
        ("SELECT (", "SELECT (", False),
    ],
)
def test_what_the_parser_reads_alike(spark: SparkSession, text: str, other: str, alike: bool) -> None:
    attach(spark)
    assert Planner(spark).reads_alike(text, other) is alike
