"""Steps over tables and saved rows of a session, from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage import ForwardLineage, step
from forward_lineage.session.step_rows import StepRows
from forward_lineage.steps import running
from forward_lineage.steps.pipeline import Outcome
from udafs.errors import BadArgumentError, NotTracedError

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


STEPS = (per_item, large, best, hidden, chance, through_a_view, wrong)


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


def test_what_spark_leaves_open_runs_again_and_says_why(sold: ForwardLineage) -> None:
    sold.spark.sql("CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM sales")
    for name, said in (("chance", "rand"), ("through_a_view", "the view seen")):
        for _ in range(2):
            outcome = run(sold, name)
            assert done(outcome) == {name: "compute"}
            assert said in outcome.reasons[name]
    assert [saved.name for saved in sold.results()] == ["step_chance_again", "step_through_a_view_again"]


def test_what_is_no_query_and_no_table_is_refused(sold: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match="step wrong returns a statement that is no query"):
        run(sold, "wrong")
    pipeline = sold.pipeline(step(name="lost")(lambda nothing: nothing))
    with pytest.raises(BadArgumentError, match="reads nothing, which is no step, no parameter and no registered"):
        pipeline.run("lost")
