"""What functions in FROM give, as tables of a statement: asked each time, rewritten once, ids in no text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.tracing import chosen_rows, statements
from tests.forward_lineage.conftest import kinds, rows_with_lineage

ROWS = 20_000


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    home: Path = tmp_path_factory.mktemp("chosen")
    (home / "t").mkdir()
    numbers = np.arange(ROWS)
    table = pa.table({"k": numbers, "g": np.random.default_rng(3).integers(0, 4, ROWS), "late": numbers >= ROWS - 10})
    parquet.write_table(table, home / "t" / "t.parquet", row_group_size=5_000, write_page_index=True)
    lineage = ForwardLineage(spark.newSession(), home / "home")
    lineage.register("t", path=home / "t")
    lineage.save("SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY g", "groups")
    lineage.save("SELECT late, count(*) AS n FROM t GROUP BY late ORDER BY late", "ends")
    return lineage


def traced(lineage: ForwardLineage, sql: str) -> str:
    return lineage._parts.statements.trace(sql, "data").rewritten.sql


def test_ids_are_in_no_text(lineage: ForwardLineage) -> None:
    sql = "SELECT count(*) AS n FROM BACKWARD(groups WHERE g <> 1, t)"
    assert len(traced(lineage, sql)) < 300
    ((n,), ids) = rows_with_lineage(lineage.sql(sql))[0]
    assert n == len(ids["t"]) == lineage.spark.table("t").where("g <> 1").count()


def test_rewritten_once_while_the_answer_is_the_same(lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten: list[str] = []
    rewrite = statements.rewrite_statement

    def noted(statement: object, *args: object, **kwargs: object) -> object:
        rewritten.append(statement.text)  # type: ignore[attr-defined]
        return rewrite(statement, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(statements, "rewrite_statement", noted)
    sql = "SELECT min(k) AS k FROM BACKWARD(again WHERE g = 2, t)"
    lineage.save("SELECT g, count(*) AS n FROM t WHERE k > 100 GROUP BY g", "again")
    first = lineage.sql(sql).first()
    rewritten.clear()
    assert lineage.sql(sql).first() == first
    assert lineage.sql(sql.replace("g = 2", "2 = g")).first() == first  # the same rows
    assert rewritten == []
    lineage.save("SELECT g, count(*) AS n FROM t WHERE k > 10000 GROUP BY g", "again")
    rewritten.clear()
    (k, *_), (before, *_) = lineage.sql(sql).first() or (), first or ()
    assert k > 10_000 > before
    assert len(rewritten) == 1


def test_a_frame_stays_what_it_is(lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_rows, "MOST", 2)
    frames = [
        lineage.sql(f"SELECT g, count(*) AS n FROM BACKWARD(groups WHERE g = {g}, t) GROUP BY g") for g in range(4)
    ]
    assert [[row.g for row in frame.collect()] for frame in frames] == [[0], [1], [2], [3]]
    views = [name for name in kinds(lineage.spark) if name.startswith("__dl_chosen_")]
    assert len(views) == 2


def test_a_sorted_range_of_a_table_named_twice(lineage: ForwardLineage) -> None:
    sql = "SELECT a.k, b.g FROM BACKWARD(ends WHERE late, t) a JOIN t b ON a.k = b.k WHERE a.k > :k"
    found = rows_with_lineage(lineage.sql(sql, args={"k": ROWS - 3}))
    assert [(values[0], ids) for values, ids in found] == [(k, {"t": [k]}) for k in (ROWS - 2, ROWS - 1)]


def test_files_are_asked_for_ids_that_are_values_of_a_column(lineage: ForwardLineage) -> None:
    lineage.register("keyed", key="k", path=lineage.home.parent / "t")
    lineage.save("SELECT late, count(*) AS n FROM keyed GROUP BY late", "keyed_ends")
    frame = lineage.sql("SELECT * FROM BACKWARD(keyed_ends WHERE late, keyed)")
    assert [ids["keyed"] for _, ids in rows_with_lineage(frame)] == [[k] for k in range(ROWS - 10, ROWS)]
    assert f"In(k, [{ROWS - 10}," in frame._jdf.queryExecution().executedPlan().toString()
    assert len(lineage.sql("SELECT * FROM BACKWARD(keyed_ends WHERE NOT late, keyed)").collect()) == ROWS - 10


def test_names_fit_in_the_place_of_a_word() -> None:
    names = [chosen_rows._short_name(number) for number in (0, 1, 35, 36, 46_655)]
    assert names == ["__dl000", "__dl001", "__dl00z", "__dl010", "__dlzzz"]


@pytest.mark.parametrize(
    ("args", "left"),
    [(None, None), ({"a": 1, "b": 2}, {"b": 2}), ({"a": 1}, None), (["x", 1, "y"], ["x", "y"]), ([], [])],
)
def test_parameters_that_are_left(args: object, left: object) -> None:
    named = "SELECT :b FROM BACKWARD(r WHERE a = :a, t)"
    by_place = "SELECT ? FROM BACKWARD(r WHERE a = ?, t) WHERE b = ?"
    sql = by_place if isinstance(args, list) else named
    calls = chosen_rows.find_calls(sql)
    masked = chosen_rows.with_names(sql, calls, ["__dl000"])
    assert chosen_rows._left_over(sql, masked, args, calls) == left  # type: ignore[arg-type]
