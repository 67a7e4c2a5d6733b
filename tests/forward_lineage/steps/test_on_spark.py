"""Steps over tables and saved rows of a session, from end to end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from sklearn.linear_model import Ridge

from forward_lineage import ForwardLineage, step
from forward_lineage.arrays import TrackedArray
from forward_lineage.models import Model, fit
from forward_lineage.session.step_rows import RowsOfSteps, StepRows
from forward_lineage.spark.watched_frames import watched_frames
from forward_lineage.steps import running
from forward_lineage.steps.pipeline import Outcome
from forward_lineage.steps.shelf import Shelf
from udafs.errors import BadArgumentError, ChangedError, NotTracedError

LEAST = 1


@step(returns="query")
def per_item(sales: StepRows) -> str:
    return f"SELECT item, sum(amount) AS amount FROM {sales} GROUP BY item"


@step(returns="query")
def large(per_item: StepRows, least: int = LEAST) -> object:
    return per_item.frame().filter(f"amount > {least}")


@step
def best(large: StepRows) -> tuple[str, int]:
    return max(large.rows(), key=lambda row: row[1])


@step(returns="query")
def hidden() -> str:
    return "SELECT count(*) AS n FROM sales"


@step(returns="query")
def chance(sales: StepRows) -> str:
    return f"SELECT item, rand() AS r FROM {sales}"


@step(returns="query")
def through_a_view() -> str:
    return "SELECT item FROM seen"


@step(returns="query")
def wrong() -> str:
    return "CREATE TABLE x AS SELECT 1"


@step(returns="query")
def per_pair(per_item: StepRows) -> str:
    return f"SELECT item, amount FROM {per_item} WHERE amount > 5"


@step(returns="array")
def weights(per_pair: StepRows) -> object:
    amounts = per_pair.to_array(["amount"])
    return amounts / amounts.sum()


@step
def heaviest(weights: TrackedArray) -> float:
    return float(weights.values.max())


@step(returns="array")
def no_array(sales: StepRows) -> object:
    return 1


@step
def drawn(sales: StepRows) -> object:
    return sales.frame().selectExpr("rand()").first()[0]  # type: ignore[index]


@step
def above(drawn: float) -> object:
    return drawn


@step(returns="query")
def above_drawn(sales: StepRows) -> object:
    drawn = sales.frame().selectExpr("40 * rand() AS r").agg({"r": "max"})
    return sales.frame().filter(f"amount > {drawn.first()[0]}")  # type: ignore[index]


@step(returns="query")
def above_drawn_by_pandas(sales: StepRows) -> object:
    drawn = sales.frame().selectExpr("40 * rand() AS r").toPandas()
    return sales.frame().filter(f"amount > {drawn.iloc[0, 0]}")


@step(returns="query")
def only_built(sales: StepRows) -> object:
    frame = sales.frame()
    wide = frame.withColumn("twice", sf.col("amount") * 2).transform(lambda each: each.dropna().distinct())
    joined = wide.alias("a").join(frame.select("t_id").alias("b"), "t_id").where(sf.col("twice") > len(frame.columns))
    return joined.groupBy("item").agg(sf.count("*").alias("n"), sf.max("twice").alias("most"))


STEPS = (
    above_drawn,
    above_drawn_by_pandas,
    only_built,
    per_pair,
    weights,
    heaviest,
    no_array,
    per_item,
    large,
    best,
    hidden,
    chance,
    through_a_view,
    wrong,
    drawn,
    above,
)


@pytest.fixture
def sold(lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForwardLineage:
    """A table of files, and steps that all seem to take a second."""
    monkeypatch.setattr(running, "_microseconds", lambda begun: 1_000_000)
    monkeypatch.setattr(running, "_time_to_read", lambda form, data: 0)
    add(lineage, tmp_path, "(1, 'binder', 40), (2, 'pencil', 30)")
    lineage.register("sales", path=f"{tmp_path}/sales")
    return lineage


def add(lineage: ForwardLineage, folder: Path, rows: str) -> None:
    frame = lineage.spark.sql(f"SELECT * FROM VALUES {rows} AS t(t_id, item, amount)").coalesce(1)
    frame.write.mode("append").parquet(f"{folder}/sales")


def run(lineage: ForwardLineage, *targets: str, **parameters: object) -> Outcome:
    return lineage.pipeline(*STEPS).run(targets, parameters)


def done(outcome: Outcome) -> dict[str, str]:
    return {name: str(action) for name, action in outcome.actions.items()}


def test_steps_run_again_when_rows_settings_or_parameters_change(sold: ForwardLineage, tmp_path: Path) -> None:
    first = run(sold, "best", "large", "hidden")
    assert (first["best"], first["hidden"].rows()) == (("binder", 40), [(2,)])
    assert list(sold.backward_ids(first["large"].name, where="item = 'binder'", table="sales")) == [0]
    again = run(sold, "best", "large", "hidden")
    assert done(again) == {"per_item": "prune", "large": "load", "best": "load", "hidden": "load"}
    assert done(run(sold, "best", least=35)) == {"per_item": "load", "large": "compute", "best": "compute"}
    with_zone = sold.spark.conf.get("spark.sql.session.timeZone")
    sold.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert "compute" in done(run(sold, "hidden")).values()
    finally:
        sold.spark.conf.set("spark.sql.session.timeZone", str(with_zone))
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")
    changed = run(sold, "best", "hidden")
    assert (changed["best"], changed["hidden"].rows()) == (("pencil", 80), [(3,)])
    assert set(done(changed).values()) == {"compute"}


def test_rows_are_brought_up_to_date_where_their_query_allows_it(sold: ForwardLineage, tmp_path: Path) -> None:
    first = run(sold, "per_pair", "per_item")
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")
    changed = run(sold, "per_pair", "per_item")
    assert sorted(changed["per_pair"].rows()) == [("binder", 40), ("pencil", 80)]
    for name in ("per_item", "per_pair"):
        assert "brought up to date, partly" in changed.reasons[name], changed.reasons
        assert changed[name].name == first[name].name  # so that what was made of it can follow
        assert (first[name].version, changed[name].version) == (1, 2)
    assert sorted(sold.backward_ids(changed["per_pair"].name, where="item = 'pencil'", table="sales")) == [1, 2]
    assert done(run(sold, "per_pair", "per_item")) == {"per_item": "load", "per_pair": "load"}
    with pytest.raises(ChangedError, match="by another run"):
        first["per_item"].rows()
    again = sold.pipeline(*STEPS).run("per_item", rerun=["per_item"])
    assert "brought up to date" not in again.reasons["per_item"]
    assert sorted(again["per_item"].rows()) == [("binder", 40), ("pencil", 80)]


class KilledError(BaseException):
    """The process is not there any more."""


@pytest.mark.parametrize("at", ["give_up", "keep"])
def test_a_kill_between_an_update_and_its_record_leaves_nothing_stale(
    sold: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """The rows are updated in the store, and the steps know only the version before; or of none."""
    first = run(sold, "per_pair", "per_item")
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")

    with monkeypatch.context() as patch, pytest.raises(KilledError):

        def killed(*_: object, **__: object) -> None:
            for of, name in ((Shelf, "_put"), (RowsOfSteps, "drop")):  # from now on nothing is written
                patch.setattr(of, name, killed)
            raise KilledError

        patch.setattr(Shelf, at, killed)
        run(sold, "per_pair", "per_item")
    assert sold._parts.library.get(first["per_item"].name).version == 2, "the update was done"
    after = run(sold, "per_pair", "per_item")
    assert done(after)["per_item"] == "compute"
    assert sorted(after["per_item"].rows()) == sorted(after["per_pair"].rows()) == [("binder", 40), ("pencil", 80)]
    assert sorted(sold.backward_ids(after["per_pair"].name, where="item = 'pencil'", table="sales")) == [1, 2]


def test_rows_of_results_that_are_behind_are_not_touched(sold: ForwardLineage, tmp_path: Path) -> None:
    """A run of steps must not bring results up to date that are no steps' own."""
    sold.save("SELECT item, amount FROM sales WHERE amount > 35", "steps_own")
    by_name = step(name="by_name", returns="query")(lambda: "SELECT item FROM steps_own")
    assert sold.pipeline(by_name).run("by_name")["by_name"].rows() == [("binder",)]
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")
    assert sold.pipeline(by_name).run("by_name", rerun=["by_name"])["by_name"].rows() == [("binder",)]
    assert [saved.version for saved in sold.results() if saved.name == "steps_own"] == [1]


def test_arrays_of_steps_are_kept_with_their_lineage(sold: ForwardLineage, tmp_path: Path) -> None:
    first = run(sold, "weights", "heaviest")
    assert (first["weights"].shape, first["heaviest"]) == ((2, 1), 40 / 70)
    (saved,) = (each for each in sold._parts.library.every()[0] if each.name.startswith("step_weights"))
    assert sorted(sold.backward_ids(saved.name, rows=[0], table="sales")) == [0, 1]
    again = run(sold, "weights", "heaviest")
    assert (done(again)["weights"], done(again)["heaviest"]) == ("load", "load")
    assert (again["weights"].values == first["weights"].values).all()
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")
    changed = run(sold, "heaviest", "per_pair")
    assert changed["heaviest"] == 80 / 120 and "partly" in changed.reasons["per_pair"]
    with pytest.raises(BadArgumentError, match="step no_array returns a int and no array"):
        run(sold, "no_array")


@step(returns="model", pure=["sklearn"])
def slope(weights: TrackedArray) -> object:
    return fit(Ridge(random_state=0), weights, weights[:, 0], "slope")


@step(returns="array", pure=["sklearn"])
def guessed(slope: Model, weights: TrackedArray) -> object:
    return slope.predict(weights)


@step(returns="model", pure=["sklearn"])
def free(weights: TrackedArray) -> object:
    return fit(Ridge(), weights, weights[:, 0], "free")


@step(returns="model")
def no_model() -> object:
    return 1


def test_models_of_steps_are_kept_with_their_lineage(sold: ForwardLineage, tmp_path: Path) -> None:
    """Predictions of a model that was loaded lead to the rows that it was fitted on; new rows fit it again."""
    steps = (per_item, per_pair, weights, slope, guessed)
    first = sold.pipeline(*steps).run(["weights", "guessed"])
    (saved,) = (each for each in sold._parts.library.every()[0] if each.name.startswith("step_guessed"))
    behind = sold.backward_ids(saved.name, rows=[0], table="sales", through="model")
    assert list(behind) == [0, 1]
    again = sold.pipeline(*steps).run(["slope", "guessed"])
    assert done(again)["slope"] == done(again)["guessed"] == "load", again.reasons
    assert again["slope"].predict(first["weights"]).values.tolist() == first["guessed"].values.tolist()
    add(sold, tmp_path, "(3, 'pencil', 50)")
    sold.refresh("sales")
    changed = sold.pipeline(*steps).run(["slope"])
    assert done(changed)["slope"] == "compute"
    left_to_chance = sold.pipeline(per_item, per_pair, weights, free).run(["free"])
    assert "its random_state is None" in left_to_chance.reasons["free"]
    with pytest.raises(BadArgumentError, match="step no_model returns a int and no model that was fitted once"):
        sold.pipeline(no_model).run(["no_model"])


def test_what_spark_leaves_open_runs_again_and_says_why(sold: ForwardLineage) -> None:
    sold.spark.sql("CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM sales")
    for name, said in (("chance", "rand"), ("through_a_view", "the view seen")):
        for _ in range(2):
            outcome = run(sold, name)
            assert done(outcome) == {name: "compute"}
            assert said in outcome.reasons[name]
    assert [saved.name for saved in sold.results()] == ["step_chance_again", "step_through_a_view_again"]
    first, again = run(sold, "above"), run(sold, "above")
    assert first["above"] != again["above"]
    assert "computes with the frame of sales" in again.reasons["drawn"]


def test_a_query_made_of_rows_that_were_collected_is_not_kept(sold: ForwardLineage) -> None:
    """The digest of the step says nothing of them: only that it has a frame."""
    for name, said in (("above_drawn", "DataFrame.first"), ("above_drawn_by_pandas", "toPandas")):
        assert "its code, parameters or inputs are new" in sold.pipeline(*STEPS).explain(name)
        assert said in run(sold, name).reasons[name]
        assert said in sold.pipeline(*STEPS).explain(name)
        assert done(run(sold, name)) == {name: "compute"}
    assert "; kept: " in (found := run(sold, "only_built").reasons["only_built"]), found
    assert done(run(sold, "only_built")) == {"only_built": "load"}


BUILDS: dict[str, Callable[[DataFrame], object]] = {
    "conditions": lambda frame: frame.filter("n > 1").where(sf.col("n").isin(1, 2)).limit(3),
    "groups": lambda frame: (frame.groupBy("n").count(), frame.rollup("n").agg(sf.sum("n")), frame.groupBy().max("n")),
    "columns": lambda frame: (frame.columns, frame.schema, frame["n"], frame.n, repr(frame)),
    "functions": lambda frame: frame.select(sf.when(frame.n > 1, 2), sf.udf(lambda n: n, "int")("n"), sf.expr("n + 1")),
    "a function over frames": lambda frame: frame.transform(lambda each: each.na.fill(0).orderBy(sf.desc("n"))),
}
TAKES: dict[str, Callable[[DataFrame], object]] = {
    "DataFrame.collect": lambda frame: frame.collect(),
    "DataFrame.count": lambda frame: frame.groupBy("n").count().count(),
    "DataFrame.describe": lambda frame: frame.describe(),
    "DataFrame.first": lambda frame: frame.transform(lambda each: each.filter(f"n > {each.first()[0]}")),  # type: ignore[index]
    "DataFrame.sample": lambda frame: frame.sample(0.5),
    "DataFrameStatFunctions.corr": lambda frame: frame.stat.corr("n", "n"),
    "SparkSession.sql": lambda frame: frame.sparkSession.sql("SELECT 1"),
    "JavaMember.__call__": lambda frame: frame._jdf.isEmpty(),  # type: ignore[operator]
}


def test_what_a_query_is_made_of_shows(spark: SparkSession) -> None:
    frame = spark.sql("SELECT * FROM VALUES (1), (2) AS t(n)")
    for name, build in BUILDS.items():
        with watched_frames() as taken:
            build(frame)
        assert not taken, name
    for name, take in TAKES.items():
        with watched_frames() as taken:
            take(frame)
        assert taken == [name]
    profiler = lambda *_: None  # noqa: E731
    sys.setprofile(profiler)
    try:
        with watched_frames() as taken:
            frame.filter("n > 1")
        assert taken and sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_what_is_no_query_and_no_table_is_refused(sold: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match="step wrong returns a statement that is no query"):
        run(sold, "wrong")
    pipeline = sold.pipeline(step(name="lost")(lambda nothing: nothing))
    with pytest.raises(BadArgumentError, match="reads nothing, which is no step, no parameter and no registered"):
        pipeline.run("lost")
