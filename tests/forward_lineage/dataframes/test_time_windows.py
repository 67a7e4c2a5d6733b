"""Windows of time, as SQL has them: a group is made of the rows in its window."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import rows_with_lineage

pytestmark = pytest.mark.slow

Frame = Callable[[DataFrame], DataFrame]


def by(window: str, *columns: str) -> str:
    selected = ", ".join(["w.start", "w.end", *columns])
    return f"SELECT {selected} FROM (SELECT {window} AS w, kind, amount FROM visits) GROUP BY w"


def grouped(rows: DataFrame, window: object, name: str = "window") -> DataFrame:
    totals = rows.groupBy(window).agg(F.sum("amount").alias("sum"))  # type: ignore[arg-type]
    return totals.select(f"{name}.start", f"{name}.end", "sum")


CASES: dict[str, tuple[Frame, str]] = {
    "one after another": (
        lambda rows: grouped(rows, F.window("at", "10 minutes")),
        by("window(at, '10 minutes')", "sum(amount) AS sum"),
    ),
    "that begin later": (
        lambda rows: grouped(rows, F.window("at", "1 hour", startTime="7 minutes 30 seconds")),
        by("window(at, '1 hour', '1 hour', '450 seconds')", "sum(amount) AS sum"),
    ),
    "that overlap": (
        lambda rows: grouped(rows, F.window("at", "20 minutes", "10 minutes")),
        by("window(at, '20 minutes', '10 minutes')", "sum(amount) AS sum"),
    ),
    "that overlap, and not evenly": (
        lambda rows: grouped(rows, F.window(F.col("at") + F.expr("INTERVAL 1 MINUTE"), "25 minutes", "10 minutes")),
        by("window(at + INTERVAL 1 MINUTE, '25 minutes', '10 minutes')", "sum(amount) AS sum"),
    ),
    "sessions": (
        lambda rows: grouped(rows, F.session_window("at", "11 minutes"), "session_window"),
        by("session_window(at, '11 minutes')", "sum(amount) AS sum"),
    ),
    "sessions, long or short by kind": (
        lambda rows: grouped(
            rows,
            F.session_window("at", F.when(F.col("kind") == "a", "20 minutes").otherwise("5 minutes")),
            "session_window",
        ),
        by("session_window(at, CASE WHEN kind = 'a' THEN '20 minutes' ELSE '5 minutes' END)", "sum(amount) AS sum"),
    ),
    "beside a key": (
        lambda rows: rows.groupBy("kind", F.window("at", "30 minutes")).count().select("kind", "window.start", "count"),
        "SELECT kind, window.start, count(*) AS count FROM visits GROUP BY kind, window(at, '30 minutes')",
    ),
    "a column of its own": (
        lambda rows: rows.select("v_id", F.window("at", "10 minutes").alias("w")).select("v_id", "w.end"),
        "SELECT v_id, w.end FROM (SELECT v_id, window(at, '10 minutes') AS w FROM visits)",
    ),
    "windows of windows": (
        lambda rows: (
            rows.groupBy(F.window("at", "10 minutes"))
            .agg(F.sum("amount").alias("sum"))
            .groupBy(F.window(F.window_time("window"), "30 minutes"))
            .agg(F.max("sum").alias("most"))
            .select("window.start", "most")
        ),
        "SELECT w.start, max(sum) AS most FROM (SELECT window(window_time(w), '30 minutes') AS w, sum FROM"
        " (SELECT w, sum(amount) AS sum FROM (SELECT window(at, '10 minutes') AS w, amount FROM visits) GROUP BY w))"
        " GROUP BY w",
    ),
    "the time of a window": (
        lambda rows: (
            rows.groupBy(F.window("at", "10 minutes")).count().select(F.window_time("window").alias("time"), "count")
        ),
        "SELECT window_time(w) AS time, count FROM (SELECT w, count(*) AS count FROM"
        " (SELECT window(at, '10 minutes') AS w FROM visits) GROUP BY w)",
    ),
}


@pytest.fixture(scope="module")
def diary(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """Visits, minutes apart; of one nobody knows when it was."""
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("diary") / "home")
    minutes = (0, 4, 9, 10, 17, 33, 34, 61, 62, 75)
    rows = [
        (v_id, f"2026-03-01 10:{m:02}:30" if m < 60 else f"2026-03-01 11:{m - 60:02}:30")
        for v_id, m in enumerate(minutes)
    ]
    given = lineage.spark.createDataFrame([*rows, (len(rows), None)], "v_id INT, at STRING")
    visits = given.selectExpr(
        "v_id", "CAST(at AS TIMESTAMP) AS at", "IF(v_id % 3 = 0, 'a', 'b') AS kind", "v_id + 1 AS amount"
    )
    lineage.register("visits", source=visits)
    return lineage


@pytest.mark.parametrize("name", CASES)
def test_as_the_same_in_sql(diary: ForwardLineage, name: str) -> None:
    make, sql = CASES[name]
    frame = make(diary.spark.table("visits"))
    plain = sorted(map(tuple, frame.collect()), key=repr)
    for semantics in ("data", "control"):
        found = rows_with_lineage(diary.trace(frame, semantics))
        assert found == rows_with_lineage(diary.sql(sql, semantics)), semantics
        assert [row for row, _ in found] == plain
    assert len(plain) > 1


def test_overlapping_windows_have_a_row_in_each(diary: ForwardLineage) -> None:
    frame = grouped(diary.spark.table("visits"), F.window("at", "20 minutes", "10 minutes"))
    times = [each for _, ids in rows_with_lineage(diary.trace(frame)) for each in ids["visits"]]
    assert sorted(times) == sorted(2 * list(set(times)))
    assert len(set(times)) == 10


def test_sessions_of_a_text_are_those_of_the_time(diary: ForwardLineage) -> None:
    visits = diary.spark.table("visits").withColumn("at", F.col("at").cast("string"))
    cast = visits.withColumn("at", F.col("at").cast("timestamp"))
    sessions = [
        rows_with_lineage(diary.trace(grouped(rows, F.session_window("at", "11 minutes"), "session_window")))
        for rows in (visits, cast)
    ]
    assert sessions[0] == sessions[1] != []
