"""Answers from what was made beforehand, on random tables: every column, type and bit as Spark gives them."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.versions import arrow_table
from tests.tiers import every_day

ROWS = 400
SAVED = "SELECT g, count(*) AS n, sum(v) AS v FROM t WHERE v IS NULL OR v < 90 GROUP BY g"
EVERY = (
    "count(*) AS n, count(v) AS nv, sum(v) AS sv, avg(v) AS av, min(v) AS lv, max(v) AS mv, "
    "sum(p) AS sp, avg(p) AS ap, min(p) AS lp, max(p) AS mp, sum(p * (1 - q)) AS spq, avg(p * (1 - q)) AS apq, "
    "min(s) AS ls, max(d) AS md, min(f) AS lf, max(f) AS mf, count(s) AS ns, max(b) AS mb"
)
QUESTIONS = {
    "no keys": f"SELECT {EVERY} FROM BACKWARD(r WHERE g = :g, t) WHERE s = :s",
    "keys": f"SELECT k, year(d) AS y, {EVERY} FROM BACKWARD(r WHERE g = :g, t) WHERE s = :s AND b = :b "
    "GROUP BY k, year(d)",
    "all rows": f"SELECT d, {EVERY} FROM BACKWARD(r, t) x WHERE x.s = :s GROUP BY 1",
    "a range": f"SELECT s, {EVERY} FROM BACKWARD(r WHERE g >= :g, t) WHERE b = :b AND d BETWEEN :first AND :last "
    "GROUP BY s",
    "fixed": f"SELECT s, k, {EVERY} FROM BACKWARD(r WHERE g = :g, t) WHERE v > 20 AND k = :k GROUP BY ALL",
    "by decimals": f"SELECT q, {EVERY} FROM BACKWARD(r WHERE g <> :g, t) WHERE p < :p GROUP BY q",
}


def table(seed: int) -> pa.Table:
    """Columns of every type that forms know, values that repeat, some of them NULL."""
    chance = random.Random(seed)
    day = datetime.date(2020, 1, 1)

    def column(make: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([None if chance.random() < 0.1 else make() for _ in range(ROWS)], kind)

    return pa.table(
        {
            "g": column(lambda: chance.randint(0, 3), pa.int32()),
            "k": column(lambda: chance.randint(-2, 2), pa.int16()),
            "s": column(lambda: chance.choice(["AIR", "RAIL", "ö", ""]), pa.string()),
            "b": column(lambda: chance.random() < 0.5, pa.bool_()),
            "d": column(lambda: day + datetime.timedelta(chance.randint(0, 900)), pa.date32()),
            "v": column(lambda: chance.randint(-50, 100), pa.int64()),
            "p": column(lambda: Decimal(chance.randint(-500, 5000)).scaleb(-2), pa.decimal128(12, 2)),
            "q": column(lambda: Decimal(chance.randint(0, 9)).scaleb(-2), pa.decimal128(4, 2)),
            "f": column(lambda: chance.choice([float("nan"), 1.5, -2.25, float("inf"), 3.0]), pa.float64()),
        }
    )


BY_KEY = pytest.mark.parametrize("asked", ["by key"], indirect=True)


@pytest.fixture
def asked(request: pytest.FixtureRequest, lineage: ForwardLineage, tmp_path: Path) -> ForwardLineage:
    """A session with the table t, its ids by position in two files, or values of a column (`BY_KEY`)."""
    by_key = getattr(request, "param", "") == "by key"
    register(lineage, tmp_path / "t", by_key)
    return lineage


def register(lineage: ForwardLineage, folder: Path, by_key: bool) -> None:
    folder.mkdir()
    rows = table(3)
    if by_key:
        rows = rows.append_column("id", pa.array(random.Random(4).sample(range(1000), ROWS), pa.int64()))
    other = rows.set_column(rows.schema.get_field_index("s"), "s", rows["s"].cast(pa.string_view()))
    parquet.write_table(other.slice(0, 150), folder / "a.parquet")  # as other writers note text
    parquet.write_table(rows.slice(150), folder / "b.parquet", row_group_size=70)
    lineage.register("t", path=folder, key="id" if by_key else None)


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """The same by position, for tests that make something of their own of it: each saves r anew."""
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("shared") / "home")
    register(lineage, lineage.home.parent / "t", by_key=False)
    return lineage


def arguments(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    day = datetime.date(2020, 1, 1) + datetime.timedelta(chance.randint(0, 500))
    return {
        "g": chance.randint(0, 3),
        "k": chance.randint(-2, 3),
        "s": chance.choice(["AIR", "RAIL", "ö", "", "none"]),
        "b": chance.random() < 0.5,
        "first": day,
        "last": day + datetime.timedelta(chance.randint(-10, 400)),
        "p": Decimal(chance.randint(-100, 4000)).scaleb(-2),
    }


def check(lineage: ForwardLineage, question: str, args: dict[str, Any], by: set[str]) -> None:
    """Compare with Spark's own answer to the same query over the same rows."""
    used = {name: value for name, value in args.items() if f":{name}" in question}
    found = lineage.answer(question, used)
    assert found.by in by, found.why
    wanted = arrow_table(lineage.sql(question, args=used).drop("DL"))
    assert found.table.schema.names == wanted.schema.names
    assert found.table.schema.types == wanted.schema.types
    assert sorted(map(repr, found.table.to_pylist())) == sorted(map(repr, wanted.to_pylist()))


@pytest.mark.parametrize("name", every_day(QUESTIONS, ["keys", "all rows", "a range", "by decimals"]))
def test_a_workload(shared: ForwardLineage, name: str) -> None:
    question = QUESTIONS[name]
    shared.save(SAVED, "r", workload=[question])
    assert shared.prepared("r") and not any("not made" in each for each in shared.prepared("r"))
    for seed in range(2):
        check(shared, question, arguments(seed), {"cube", "partition"})


@BY_KEY
def test_a_workload_over_ids_by_value(asked: ForwardLineage) -> None:
    asked.save(SAVED, "r", workload=[QUESTIONS["keys"], QUESTIONS["by decimals"]])
    for name in ("keys", "by decimals"):
        check(asked, QUESTIONS[name], arguments(5), {"cube", "partition"})


@pytest.mark.parametrize("kind", ["cube", "partition"])
def test_both_forms(asked: ForwardLineage, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forward_lineage.workloads.form_builder.FEW_CELLS", 0 if kind == "cube" else ROWS)
    asked.save(SAVED, "r", workload=[QUESTIONS["keys"], QUESTIONS["a range"]])
    for name in ("keys", "a range"):
        for seed in range(2):
            check(asked, QUESTIONS[name], arguments(seed), {kind})
    fewer = "SELECT max(p) AS mp, k, sum(v) FROM BACKWARD(r WHERE g = 1, t) WHERE b = true GROUP BY k"
    check(asked, QUESTIONS["keys"].replace(":g", "2").replace(":s", "'AIR'"), arguments(0), {kind})
    check(asked, fewer.replace("b = true", "s = 'RAIL'"), {}, {kind})


def test_outside_the_workload(asked: ForwardLineage) -> None:
    asked.save(SAVED, "r", workload=[QUESTIONS["keys"]])
    check(
        asked, QUESTIONS["keys"].replace("k, year(d) AS y", "d").replace("k, year(d)", "d"), arguments(1), {"captured"}
    )
    check(asked, QUESTIONS["keys"].replace("s = :s", "s > lower(:s)"), arguments(1), {"captured"})
    check(asked, "SELECT stddev(v) FROM BACKWARD(r, t)", {}, {"captured"})
    check(asked, "SELECT DISTINCT k FROM BACKWARD(r, t)", {}, {"captured"})
    other_kind = {**arguments(1), "b": "true"}
    check(asked, QUESTIONS["keys"], other_kind, {"captured"})


def test_zeros_of_both_signs(lineage: ForwardLineage, tmp_path: Path) -> None:
    """Equal, and not the same: what is computed from them is computed for each."""
    values = pa.table({"g": pa.array([1, 1, 1], pa.int32()), "f": pa.array([0.0, -0.0, 2.0])})
    parquet.write_table(values, tmp_path / "z.parquet")
    lineage.register("z", path=tmp_path / "z.parquet")
    question = "SELECT min(atan2(f, -1.0)) AS a, max(atan2(f, -1.0)) AS b FROM BACKWARD(r WHERE g = :g, z)"
    lineage.save("SELECT g, count(*) AS n FROM z GROUP BY g", "r", workload=[question])
    check(lineage, question, {"g": 1}, {"cube", "partition"})
    least = "SELECT min(f) AS a FROM BACKWARD(r WHERE g = :g, z)"
    lineage.save("SELECT g, count(*) AS n FROM z GROUP BY g", "r", workload=[least])
    assert lineage.prepared("r") == ["lineage in z; added up by nothing: count(*), min(`f`): not made, `f` has -0.0, "
                                     "and which zero is the least is left to chance"]  # fmt: skip


@pytest.mark.since("4.0", "variables and functions written in SQL")
def test_bars_that_depend_on_the_session(asked: ForwardLineage) -> None:
    """Which they are is asked anew each time: variables and functions may have changed."""
    asked.save(SAVED, "r", workload=[QUESTIONS["keys"]])
    asked.spark.sql("DECLARE OR REPLACE VARIABLE bar INT")
    for bar in range(2):
        asked.spark.sql(f"SET VAR bar = {bar}")
        asked.spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION the_bar() RETURNS INT RETURN {bar + 1}")
        for chosen in ("bar", "the_bar()"):
            check(asked, QUESTIONS["keys"].replace(":g", chosen), arguments(0), {"cube", "partition"})


def test_folders_are_believed(lineage: ForwardLineage, tmp_path: Path) -> None:
    """Spark takes the values of a column from the names of folders, though files have it, too."""
    for year in (2023, 2024):
        (tmp_path / "sold" / f"year={year}").mkdir(parents=True)
        sold = pa.table({"g": pa.array([1, 1, 2], pa.int32()), "year": pa.array([1, 2, 3], pa.int32())})
        parquet.write_table(sold, tmp_path / "sold" / f"year={year}" / "a.parquet")
    lineage.register("sold", path=tmp_path / "sold")
    question = "SELECT year, count(*) AS n FROM BACKWARD(r WHERE g = :g, sold) GROUP BY year"
    lineage.save("SELECT g, count(*) AS n FROM sold GROUP BY g", "r", workload=[question])
    check(lineage, question, {"g": 1}, {"cube", "partition"})


def test_by_hand(asked: ForwardLineage) -> None:
    asked.save(SAVED, "r", cube=["k", "year(d)"])
    by_year = "SELECT g, year(d), sum(v) AS v, count(*) AS n FROM BACKWARD(r WHERE g = :g, t) GROUP BY g, year(d)"
    check(asked, by_year, arguments(1), {"cube"})
    asked.save(SAVED, "r", workload=[QUESTIONS["no keys"]], partition_by={"t": ["S"]})
    check(asked, QUESTIONS["no keys"], arguments(1), {"partition"})


def test_what_was_made_is_not_asked_about_something_else(asked: ForwardLineage, tmp_path: Path) -> None:
    question, args = QUESTIONS["keys"], arguments(2)
    asked.save(SAVED, "r", workload=[question])
    check(asked, question, args, {"cube", "partition"})
    asked.save(f"{SAVED} HAVING count(*) > 80", "r")
    check(asked, question, args, {"captured"})
    asked.save(SAVED, "r", workload=[question])
    parquet.write_table(table(9), tmp_path / "t" / "c.parquet")
    asked.refresh("t")
    check(asked, question, args, {"captured"})
    asked.drop("r")
    assert not list((asked.home / "workloads").glob("r/*"))


def test_another_session_and_damage(asked: ForwardLineage) -> None:
    question, args = QUESTIONS["keys"], arguments(2)
    asked.save(SAVED, "r", workload=[question])
    other = ForwardLineage(asked.spark, asked.home)
    check(other, question, args, {"cube", "partition"})
    (run,) = (asked.home / "workloads").glob("r/*/0.run")
    run.write_bytes(b"x" + run.read_bytes()[1:])
    check(ForwardLineage(asked.spark, asked.home), question, args, {"captured"})
