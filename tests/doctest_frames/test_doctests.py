"""Some of PySpark's doctests, which are traced whole; `python -m tests.doctest_frames` has all of them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.checking.results import collect
from tests.doctest_frames.__main__ import Scores, judge
from tests.doctest_frames.examples import Example, TablesOfData, doctests, run
from tests.doctest_frames.judging import Judged, Verdict, difference
from tests.tiers import every_day

pytestmark = pytest.mark.since("4.0", "the modules of PySpark whose examples are tried")
TRACED = (
    "dataframe.DataFrame.rollup",
    "dataframe.DataFrame.unpivot",
    "dataframe.DataFrameNaFunctions.drop",
    "column.Column.withField",
    "functions.builtin.explode_outer",
    "group.GroupedData.pivot",
)


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("home"))


def found_in(lineage: ForwardLineage, *names: str) -> list[tuple[Example, list[Judged]]]:
    tests = [each for each in doctests() if each.name.removeprefix("pyspark.sql.") in names]
    return list(judge(tests, lineage))


@pytest.mark.parametrize("name", every_day(TRACED, [TRACED[at] for at in (0, 3, 4)]))
def test_all_that_it_evaluates_is_traced(lineage: ForwardLineage, name: str) -> None:
    found = found_in(lineage, name)
    assert [example.error for example, _ in found if example.error] == []
    verdicts = [each for _, verdicts in found for each in verdicts]
    assert verdicts
    assert [each for each in verdicts if each.verdict is not Verdict.TRACED] == []


def test_what_is_left_to_chance_is_refused_by_name(lineage: ForwardLineage) -> None:
    seeded, drawn_again, *_ = [
        each for _, verdicts in found_in(lineage, "dataframe.DataFrame.sample") for each in verdicts
    ]
    assert seeded.verdict is Verdict.TRACED
    assert drawn_again.verdict is Verdict.REFUSED
    assert "left to chance" in drawn_again.why


def test_the_judge_can_tell(lineage: ForwardLineage) -> None:
    rows = lineage.spark.range(3)
    wanted = collect(rows)
    assert difference(wanted, collect(lineage.spark.range(2, -1, -1))) is None
    assert "where plain Spark gives" in str(difference(wanted, collect(lineage.spark.range(4))))
    assert "where plain Spark gives" in str(difference(wanted, collect(lineage.spark.range(1, 4))))
    assert "columns" in str(difference(wanted, collect(rows.selectExpr("id AS other"))))
    assert "columns" in str(difference(wanted, collect(rows.selectExpr("CAST(id AS INT) AS id"))))


def test_the_bar() -> None:
    scores = Scores()
    for verdict in [Verdict.TRACED] * 8 + [Verdict.REFUSED] * 2 + [Verdict.NO_TABLE] * 5:
        scores.add(Judged(verdict))
    assert scores.is_good
    scores.add(Judged(Verdict.REFUSED))
    assert not scores.is_good
    assert "72.7% of 11 over tables" in scores.report()


def test_each_is_noted_once_where_the_example_asks(lineage: ForwardLineage) -> None:
    """`first` takes, and `take` collects: neither of these is the example's own."""
    spark = TablesOfData(lineage)
    test = next(each for each in doctests() if each.name == "pyspark.sql.dataframe.DataFrame.first")
    assert [len(example.frames) for example in run(test, spark)] == [0, 1]
    spark.clear()
