"""What follows from a workload: what is captured, what is made, what is said of it; and questions outside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.workloads.deriving import derived
from forward_lineage.workloads.shape import shape_of
from tests.forward_lineage.conftest import rows_with_lineage
from tests.forward_lineage.prepared import Prepared
from tests.forward_lineage.store.saving.test_scope import JOIN, write
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import BadArgumentError, LineageError, NotTracedError

TOOLTIP = "SELECT * FROM BACKWARD(q WHERE g = :g, r)"
FIXED = "SELECT v, count(*) AS n FROM BACKWARD(q WHERE g = :g, r) x WHERE x.V > 2 AND k = :k GROUP BY v"


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """r and s registered, and all lineage of their join saved: no test changes their files."""
    data = tmp_path_factory.mktemp("data")

    def make(lineage: ForwardLineage) -> None:
        write(lineage, data, 7)
        lineage.save(JOIN, "all_of_it")

    return Prepared(tmp_path_factory.mktemp("home"), spark, make)


@pytest.fixture
def tables(spark: SparkSession, registered: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(spark, registered.copy(tmp_path / "home"))
    drop_views(spark)


def rows(lineage: ForwardLineage, question: str, args: dict[str, object] | None = None) -> list[str]:
    return sorted(str(row) for row in lineage.sql(question, args=args).drop("DL").collect())


class TestPruning:
    def test_tables_that_no_question_leads_to(self, tables: ForwardLineage) -> None:
        saved = tables.save(JOIN, "q", workload=[TOOLTIP])
        assert {each.name: each.captured for each in saved.tables} == {"r": Captured.NOW, "s": Captured.NEVER}
        assert rows(tables, TOOLTIP, {"g": 1}) == rows(tables, TOOLTIP.replace("(q", "(all_of_it"), {"g": 1}) != []
        assert not list(saved.home.glob("whole-*"))
        answer = tables.answer(TOOLTIP, {"g": 1})
        assert (answer.by, len(answer.table)) == ("captured", len(rows(tables, TOOLTIP, {"g": 1})))
        outside = "SELECT count(*) AS n FROM BACKWARD(q WHERE g = 1, s)"
        found = tables.answer(outside)
        assert (
            found.by == "recomputed"
            and found.table.to_pylist() == tables.answer(outside.replace("(q", "(all_of_it")).table.to_pylist()
        )

    def test_conditions_that_all_questions_have(self, tables: ForwardLineage) -> None:
        asked = "SELECT k, v FROM BACKWARD(q WHERE n > :n, r) AS x WHERE v > 2 AND x.k >= 1"
        saved = tables.save(JOIN, "q", workload=[asked, FIXED])
        table = saved.traced("r")
        assert table is not None and table.only == "(`v` > 2)"
        assert 0 < saved.pairs < tables.describe("all_of_it").pairs
        for question, args in {asked: {"n": 0}, FIXED: {"g": 1, "k": 3}}.items():
            assert rows(tables, question, args) == rows(tables, question.replace("(q", "(all_of_it"), args)
        assert not list(saved.home.glob("whole-*")), "what was captured was enough"
        wider = asked.replace("v > 2", "v > 1")
        assert rows(tables, wider, {"n": 0}) == rows(tables, wider.replace("(q", "(all_of_it"), {"n": 0}) != []
        assert list(saved.home.glob("whole-*"))

    LESS = (
        "SELECT count(*) AS n FROM BACKWARD(q, r) x JOIN s ON x.k = s.k WHERE v > 2",
        "SELECT count(*) AS n FROM BACKWARD(q, r) AS x(a, b, v) WHERE v > 2",
        "SELECT count(*) AS n FROM (SELECT * FROM BACKWARD(q, r)) WHERE v > 2",
        "SELECT count(*) AS n FROM BACKWARD(q, r) WHERE v > 2 OR k = 1",
        "SELECT count(*) AS n FROM FORWARD(r WHERE v > 2, q)",
    )

    @pytest.mark.parametrize("question", every_day(LESS, [LESS[0], LESS[1], LESS[4]]))
    def test_conditions_that_say_less(self, tables: ForwardLineage, question: str) -> None:
        tables.save(JOIN, "q", where={"r": "v > 2"})
        wanted = question.replace("(q", "(all_of_it").replace(", q)", ", all_of_it)")
        assert rows(tables, question) == rows(tables, wanted)

    def test_control_lineage_reads_all_of_it(self, tables: ForwardLineage) -> None:
        """It may have rows that a condition keeps out."""
        question = "SELECT h FROM s WHERE NOT EXISTS (SELECT 1 FROM BACKWARD(q, r) x WHERE v > 2 AND x.k = s.k)"
        saved = tables.save(JOIN, "q", where={"r": "v > 2"})
        for semantics, read in {"data": [], "control": [f"whole-{saved.version}"]}.items():
            found = rows_with_lineage(tables.sql(question, semantics))
            assert found == rows_with_lineage(tables.sql(question.replace("(q", "(all_of_it"), semantics))
            assert [path.name for path in saved.home.glob("whole-*")] == read

    def test_through_a_step(self, tables: ForwardLineage) -> None:
        tables.save(f"{JOIN} ORDER BY ALL", "step")
        saved = tables.save("SELECT max(x.v) AS v, max(s.h) AS h FROM step x JOIN s ON x.h = s.h", "q",
                            workload=["SELECT * FROM BACKWARD(q, r)"])  # fmt: skip
        assert {each.name: each.captured for each in saved.tables} == {"step": Captured.NOW, "s": Captured.NEVER}

    def test_forward_and_nested(self, tables: ForwardLineage) -> None:
        brush = "SELECT * FROM FORWARD(BACKWARD(q WHERE g = 1, r), other)"
        assert derived("q", [brush], None, None, None).tables == ("r",)
        assert derived("other", [brush], None, None, None).tables == ("r",)
        assert derived("q", ["SELECT * FROM FORWARD(s WHERE h = 1, q)"], None, None, None).tables == ("s",)
        with pytest.raises(BadArgumentError, match="does not ask about p"):
            derived("p", [brush], None, None, None)


class TestExplain:
    def test_what_is_derived(self, tables: ForwardLineage) -> None:
        base = "SELECT g, sum(v) AS v FROM r GROUP BY g"
        said = tables.explain(base, name="q", workload=[FIXED], partition_by={"r": ["k"]})
        assert "r: captured with the rows, in rows with (`v` > 2)" in said
        assert "lineage in r; partitioned by `k`; with `v`; where `v` > 2" in said
        said = tables.explain(JOIN, name="q", workload=[TOOLTIP], capture="later")
        assert "r: captured at the first question" in said and "s: not captured" in said
        said = tables.explain(JOIN, name="q", workload=[TOOLTIP])
        assert f"nothing is made for: {TOOLTIP} (the query has a column that is neither a key nor count" in said
        assert tables.explain(JOIN) == tables.explain(JOIN, name="q").split("\nr: captured")[0]

    def test_what_could_not_be_made(self, tables: ForwardLineage) -> None:
        tables.save("SELECT x.g, count(*) AS n FROM r x JOIN r y ON x.g = y.g GROUP BY x.g, y.k", "q", workload=[FIXED])
        (line,) = tables.prepared("q")
        assert line.endswith("not made, rows of q share base rows")
        assert tables.answer(FIXED, {"g": 1, "k": 3}).by == "captured"

    def test_bad_arguments(self, tables: ForwardLineage) -> None:
        base = "SELECT g, sum(v) AS v FROM r GROUP BY g"
        with pytest.raises(BadArgumentError, match="takes a list of consuming queries"):
            tables.save(base, "q", workload=TOOLTIP)
        with pytest.raises(BadArgumentError, match="one SELECT over that table"):
            tables.save(JOIN, "q", cube={"r": ["k"]})
        with pytest.raises(BadArgumentError, match="does not say which table"):
            tables.save(JOIN, "q", cube=["k"])
        with pytest.raises(BadArgumentError, match="captured later cannot be partitioned"):
            tables.save(base, "q", partition_by=["k"], capture="later")
        with pytest.raises(LineageError, match="nowhere"):
            tables.save(base, "q", partition_by={"nowhere": ["k"]})


@pytest.mark.parametrize(
    ("query", "what"),
    {
        "SELECT g FROM BACKWARD(q, r) GROUP BY g": "no aggregate",
        "SELECT count(DISTINCT g) FROM BACKWARD(q, r)": "DISTINCT",
        "SELECT count(*) FROM BACKWARD(q, r) HAVING count(*) > 1": "HAVING",
        "SELECT count(*) FROM BACKWARD(q, r), s": "a join",
        "SELECT count(*) FROM BACKWARD(q, r) WHERE g IN (SELECT 1)": "a subquery",
        "SELECT count(*) FROM BACKWARD(q, r) WHERE g + :x > 1": "a parameter",
        "SELECT count(*) FROM BACKWARD(q, r) LIMIT 1": "LIMIT",
        "SELECT g, count(*) FROM BACKWARD(q, r) GROUP BY CUBE (g)": "grouping sets",
        "SELECT sum(v) + 1 FROM BACKWARD(q, r)": "neither a key nor",
        "SELECT g AS k, count(*) FROM BACKWARD(q, r) GROUP BY k": "named by an alias",
        "SELECT sum(v) OVER () FROM BACKWARD(q, r)": "neither a key nor",
        "SELECT sum(v) FILTER (WHERE v > 1) FROM BACKWARD(q, r)": "neither a key nor",
        "SELECT count(*) FROM FORWARD(r, q)": "not exactly one BACKWARD",
    }.items(),
)
def test_what_is_no_shape(query: str, what: str) -> None:
    with pytest.raises(NotTracedError, match=what):
        shape_of(query)


def test_shapes_are_the_same_however_they_are_written() -> None:
    one = shape_of("SELECT r.G, sum(R.v * 2) FROM BACKWARD(q, r) WHERE (r.k = :k) AND 3 < h GROUP BY r.g")
    other = shape_of("SELECT `g`, SUM(v * 2) FROM BACKWARD(q, r) x WHERE h > 3 AND x.k = :k GROUP BY 1")
    assert (one.items, one.keys) == (other.items, other.keys)
    assert [(each.expression, each.operator) for each in one.compared] == [("`k`", "="), ("`h`", ">")]
