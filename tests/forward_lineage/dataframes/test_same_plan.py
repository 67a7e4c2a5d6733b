"""The guard of DataFrames: SQL that asks for other rows than a DataFrame must be seen, however alike it looks."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from udafs.attach import attach
from udafs.requests import ask

pytestmark = pytest.mark.slow

# the text of a DataFrame, then texts that mean something else
OTHERS: dict[str, tuple[str, ...]] = {
    "SELECT id, k FROM a": (
        "SELECT id, v AS k FROM a",
        "SELECT id, k FROM b",
        "SELECT id, k FROM a WHERE id > 0",
        "SELECT DISTINCT id, k FROM a",
        "SELECT id, k FROM a LIMIT 2",
        "SELECT id, upper(k) AS k FROM a",
        "SELECT id, k FROM a UNION ALL SELECT id, k FROM a",
    ),
    "SELECT id FROM a WHERE v > 1 AND k IS NOT NULL": (
        "SELECT id FROM a WHERE v >= 1 AND k IS NOT NULL",
        "SELECT id FROM a WHERE v > 1",
        "SELECT id FROM a WHERE v > 1 OR k IS NOT NULL",
        "SELECT id FROM a WHERE id > 1 AND k IS NOT NULL",
    ),
    "SELECT a.id, b.v FROM a LEFT JOIN b ON a.id = b.id": (
        "SELECT a.id, b.v FROM a JOIN b ON a.id = b.id",
        "SELECT a.id, b.v FROM a RIGHT JOIN b ON a.id = b.id",
        "SELECT b.id, b.v FROM a LEFT JOIN b ON a.id = b.id",
        "SELECT a.id, a.v FROM a LEFT JOIN b ON a.id = b.id",
        "SELECT a.id, b.v FROM a LEFT JOIN b ON a.id = b.v",
        "SELECT a.id, b.v FROM a LEFT JOIN b ON a.id = b.id AND a.v > 0",
    ),
    "SELECT x.id, y.v FROM a x JOIN a y ON x.id = y.v": (
        "SELECT y.id, x.v FROM a x JOIN a y ON x.id = y.v",
        "SELECT x.id, x.v FROM a x JOIN a y ON x.id = y.v",
        "SELECT x.id, y.v FROM a x JOIN a y ON x.v = y.id",
    ),
    "SELECT id FROM a LEFT SEMI JOIN b ON a.id = b.id": ("SELECT id FROM a LEFT ANTI JOIN b ON a.id = b.id",),
    "SELECT k, sum(v) AS s FROM a GROUP BY k": (
        "SELECT k, sum(id) AS s FROM a GROUP BY k",
        "SELECT k, max(v) AS s FROM a GROUP BY k",
        "SELECT k, sum(DISTINCT v) AS s FROM a GROUP BY k",
        "SELECT k, sum(v) FILTER (WHERE v > 0) AS s FROM a GROUP BY k",
        "SELECT k, sum(v) AS s FROM a GROUP BY k, id",
        "SELECT k, sum(v) AS s FROM a GROUP BY k HAVING sum(v) > 0",
        "SELECT first(k) AS k, sum(v) AS s FROM a GROUP BY id",
    ),
    "SELECT k, first(v) AS f FROM a GROUP BY k": ("SELECT k, first(v, true) AS f FROM a GROUP BY k",),
    "SELECT k, v, count(*) AS n FROM a GROUP BY ROLLUP (k, v)": (
        "SELECT k, v, count(*) AS n FROM a GROUP BY CUBE (k, v)",
        "SELECT k, v, count(*) AS n FROM a GROUP BY ROLLUP (v, k)",
        "SELECT k, v, count(*) AS n FROM a GROUP BY GROUPING SETS ((k, v), (k))",
    ),
    "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM a": (
        "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM a",
        "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM a",
        "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY id DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM a",
        "SELECT id, sum(v) OVER (PARTITION BY v ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM a",
        "SELECT id, avg(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM a",
    ),
    "SELECT id, lag(v, 1, 0) OVER (ORDER BY id) AS l FROM a": (
        "SELECT id, lag(v, 2, 0) OVER (ORDER BY id) AS l FROM a",
        "SELECT id, lag(v, 1) OVER (ORDER BY id) AS l FROM a",
        "SELECT id, lead(v, 1, 0) OVER (ORDER BY id) AS l FROM a",
        "SELECT id, lag(v, 1, 0) IGNORE NULLS OVER (ORDER BY id) AS l FROM a",
    ),
    "SELECT id, v FROM a ORDER BY v, id LIMIT 2": (
        "SELECT id, v FROM a ORDER BY v, id LIMIT 3",
        "SELECT id, v FROM a ORDER BY v DESC, id LIMIT 2",
        "SELECT id, v FROM a ORDER BY v NULLS LAST, id LIMIT 2",
        "SELECT id, v FROM a ORDER BY id, v LIMIT 2",
        "SELECT id, v FROM a ORDER BY v, id LIMIT 2 OFFSET 1",
        "SELECT id, v FROM (SELECT * FROM a LIMIT 2) ORDER BY v, id",
    ),
    "SELECT w, count(*) FROM (SELECT window(timestamp_seconds(id), '4 seconds') AS w FROM a) GROUP BY w": (
        "SELECT w, count(*) FROM (SELECT window(timestamp_seconds(id), '5 seconds') AS w FROM a) GROUP BY w",
        "SELECT w, count(*) FROM (SELECT window(timestamp_seconds(id), '4 days', '2 days') AS w FROM a) GROUP BY w",
        "SELECT w, count(*) FROM (SELECT session_window(timestamp_seconds(id), '4 seconds') AS w FROM a) GROUP BY w",
        "SELECT w, count(*) FROM (SELECT window(timestamp_seconds(v), '4 seconds') AS w FROM a) GROUP BY w",
    ),
    "SELECT w, count(*) FROM (SELECT session_window(timestamp_seconds(id), '4 seconds') AS w FROM a) GROUP BY w": (
        "SELECT w, count(*) FROM (SELECT session_window(timestamp_seconds(id), '5 seconds') AS w FROM a) GROUP BY w",
        "SELECT named_struct('start', w.start, 'end', w.end) AS w, count(*) FROM"
        " (SELECT session_window(timestamp_seconds(id), '4 seconds') AS w FROM a) GROUP BY 1",
    ),
    "SELECT id FROM a UNION ALL SELECT id FROM b": (
        "SELECT id FROM a UNION ALL SELECT v FROM b",
        "SELECT id FROM b UNION ALL SELECT id FROM a",
        "SELECT id FROM a UNION SELECT id FROM b",
    ),
    "SELECT id FROM a EXCEPT SELECT id FROM b": (
        "SELECT id FROM b EXCEPT SELECT id FROM a",
        "SELECT id FROM a EXCEPT ALL SELECT id FROM b",
        "SELECT id FROM a INTERSECT SELECT id FROM b",
    ),
    "SELECT id, w FROM a LATERAL VIEW OUTER explode(array(v, id)) AS w": (
        "SELECT id, w FROM a LATERAL VIEW explode(array(v, id)) AS w",
        "SELECT id, w FROM a LATERAL VIEW OUTER explode(array(id, v)) AS w",
    ),
    "SELECT id FROM a WHERE v > (SELECT max(v) FROM b)": (
        "SELECT id FROM a WHERE v > (SELECT min(v) FROM b)",
        "SELECT id FROM a WHERE v > (SELECT max(id) FROM b)",
    ),
    "SELECT id FROM a WHERE id IN (SELECT v FROM b)": (
        "SELECT id FROM a WHERE id NOT IN (SELECT v FROM b)",
        "SELECT id FROM a WHERE id IN (SELECT id FROM b)",
        "SELECT id FROM a WHERE v IN (SELECT v FROM b)",
    ),
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    made = spark.newSession()
    attach(made)
    for name in ("a", "b"):
        rows = f"VALUES (1, '{name}', 2), (2, 'y', NULL), (3, NULL, 1) AS r(id, k, v)"
        made.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM {rows}")
    return made


def difference(frame: DataFrame, sql: str) -> str:
    return ask(frame.sparkSession, "reads otherwise", frame, sql=sql)


@pytest.mark.parametrize("text", OTHERS)
def test_other_rows_are_seen(session: SparkSession, text: str) -> None:
    frame = session.sql(text)
    assert difference(frame, text) == ""
    assert [other for other in OTHERS[text] if difference(frame, other) == ""] == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k AS id, id AS k FROM (SELECT * FROM a)",  # columns are compared by what they are, not by name
        "SELECT id, k FROM (SELECT v AS id, k FROM a)",
    ],
)
def test_columns_that_change_places_are_seen(session: SparkSession, text: str) -> None:
    frame = session.sql("SELECT id, k FROM a")
    assert difference(frame, text)


def test_filters_above_each_other_are_one_with_all_conditions(session: SparkSession) -> None:
    frame = session.table("a").filter("v > 0").filter("id > 1").filter("k IS NOT NULL")
    assert difference(frame, "SELECT * FROM a WHERE k IS NOT NULL AND v > 0 AND id > 1") == ""
    for conditions in ("v > 0 AND id > 1", "v > 0 AND k IS NOT NULL", "id > 1 AND k IS NOT NULL", "v > 0 OR id > 1"):
        assert difference(frame, f"SELECT * FROM a WHERE {conditions}")


def test_a_filter_stays_on_its_side_of_a_limit_and_a_window(session: SparkSession) -> None:
    limited = session.table("a").filter("v > 0").orderBy("id").limit(1).filter("id > 1")
    assert difference(limited, "SELECT * FROM (SELECT * FROM a WHERE v > 0 AND id > 1 ORDER BY id LIMIT 1)")
    numbered = session.sql("SELECT id, row_number() OVER (ORDER BY id) AS n FROM a").filter("id > 1")
    assert difference(numbered, "SELECT id, row_number() OVER (ORDER BY id) AS n FROM a WHERE id > 1")


def test_what_is_chosen_of_values_in_a_list_is_seen(session: SparkSession) -> None:
    frame = session.sql("SELECT id FROM a WHERE (id, v) IN (SELECT v, id FROM b) OR k = 'y'")
    assert difference(frame, "SELECT id FROM a WHERE (id, v) IN (SELECT v, id FROM b) OR k = 'y'") == ""
    assert difference(frame, "SELECT id FROM a WHERE (v, id) IN (SELECT v, id FROM b) OR k = 'y'")
    assert difference(frame, "SELECT id FROM a WHERE (id, v) IN (SELECT id, v FROM b) OR k = 'y'")


def test_the_same_in_other_words_is_not_refused(session: SparkSession) -> None:
    frame = session.table("a").filter("v > 1").selectExpr("id AS n", "k")
    assert (
        difference(frame, "SELECT x.c1 AS n, x.c2 AS k FROM (SELECT id AS c1, k AS c2, v AS c3 FROM a) x WHERE c3 > 1")
        == ""
    )
