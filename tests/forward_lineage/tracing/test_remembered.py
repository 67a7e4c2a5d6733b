"""A text that was rewritten before is not rewritten again while all its names mean what they meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ChangedError, ForwardLineage, NotRegisteredError
from forward_lineage.frontend import parse
from forward_lineage.frontend.rewriting import RewrittenStatement
from forward_lineage.tracing import remembered, statements
from forward_lineage.tracing.remembered import Memory, Noted, Remembered
from rewrites.tables import Source, View


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
