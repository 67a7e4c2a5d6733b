"""From base rows through features, a scaler and a model to predictions, asked in a session and by commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

from forward_lineage import ForwardLineage
from forward_lineage.arrays import track
from tests.forward_lineage.cli.in_this_process import good, invoke, without_spark
from tests.shared_state import drop_views
from udafs.errors import DamagedError, LineageError, NameTakenError, NotSavedError, NotTracedError, SetupError

ROWS = [(at, float(at % 5), float(at * at % 7), float(at)) for at in range(12)]
READ = """
import sys, numpy as np
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.session.model_calls import read_model
from forward_lineage.store.arrays.models import SavedModels
from forward_lineage.store.library.library import Library
home = home_folder(sys.argv[1])
model = read_model(SavedModels(Library(home), Registrations(home)), "churn")
print(model.predict(np.array([[1.0, 2.0], [3.0, 4.0]])).values.tolist())
"""


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """Twelve rows of `mc_customers`; the first eight train, all are scored."""
    spark.createDataFrame(ROWS, "c_id INT, age DOUBLE, spend DOUBLE, gone DOUBLE").createOrReplaceTempView(
        "mc_customers"
    )
    lineage = ForwardLineage(spark, tmp_path / "home")
    lineage.register("mc_customers", key="c_id")
    lineage.save("SELECT c_id, age, spend, gone FROM mc_customers ORDER BY c_id", "features")
    yield lineage
    drop_views(spark)


def scored(lineage: ForwardLineage) -> None:
    x, y = lineage.to_array("features", ["age", "spend"]), lineage.to_array("features", ["gone"])[:, 0]
    scaler = lineage.fit(StandardScaler(), x[:8], name="scaler")
    churn = lineage.fit(Ridge(), scaler.transform(x[:8]), y[:8], name="churn")
    lineage.save(churn.predict(scaler.transform(x)), "scores")


def test_paths_by_row_and_by_model(shop: ForwardLineage) -> None:
    scored(shop)
    asked = {"cells": np.s_[9], "table": "mc_customers"}
    assert set(shop.backward_ids("scores", through="row", **asked)) == {9}
    assert set(shop.backward_ids("scores", through="model", **asked)) == set(range(8))
    assert set(shop.backward_ids("scores", **asked)) == {*range(8), 9}
    ids = shop.backward_ids("scores", cells=np.s_[9], table="churn")
    assert shop.backward("scores", cells=np.s_[9], table="churn").collect()[0]["estimator"] == "Ridge" and len(ids) == 1

    x, y = shop.to_array("features", ["age", "spend"]), shop.to_array("features", ["gone"])[:, 0]
    plain = shop.fit(Ridge(), x[:8], y[:8], name="plain")
    shop.save(plain.predict(x), "plainly")
    asked = {"cells": np.s_[9], "table": "mc_customers"}
    assert set(shop.backward_ids("plainly", through="row", **asked)) == {9}
    assert set(shop.backward_ids("plainly", through="model", **asked)) == set(range(8))
    assert set(shop.forward_ids("mc_customers", ids=[3], result="plainly", through="row")) == {3}
    assert set(shop.forward_ids("mc_customers", ids=[3], result="plainly", through="model")) == set(range(12))
    assert set(shop.forward_ids("mc_customers", ids=[9], result="plainly", through="model")) == set()

    found = {row["result"]: row for row in shop.impact("mc_customers", ids=[3]).collect()}
    assert found["plainly"]["through"] == "1 cell, by row; all 12 cells, through plain"
    assert found["plain"]["through"] == "1 part, by row" or found["plain"]["through"] == "all 3 parts, by row"
    assert found["features"]["through"] == "1 row, by row"
    assert [row["through"] for row in shop.impact("mc_customers", ids=[9]).where("result = 'plainly'").collect()] == [
        "1 cell, by row"
    ]
    assert {row["result"] for row in shop.impact("plain").collect()} == {"plainly"}
    with pytest.raises(LineageError, match="through"):
        shop.backward_ids("plainly", rows=[1], through="rows")


def test_without_models_an_impact_has_four_columns(shop: ForwardLineage) -> None:
    assert shop.impact("mc_customers", ids=[3]).columns == ["result", "rows_touched", "rows", "path"]


def test_models_are_saved_things(shop: ForwardLineage) -> None:
    scored(shop)
    grid = np.array([[1.0, 2.0], [3.0, 4.0]])
    again = shop.model("churn")
    told = subprocess.run(
        [sys.executable, "-c", READ, str(shop.home)], check=True, capture_output=True, text=True
    ).stdout
    assert json.loads(told.splitlines()[-1]) == again.predict(grid).values.tolist()
    saved = shop.describe("churn")
    assert saved.estimator == "sklearn.linear_model.Ridge" and "alpha=1.0" in saved.text
    assert not list(Path(shop.home).rglob("*.pickle")) and shop.stale().count() == 0
    assert "churn" not in [each.name for each in shop.results()]
    with pytest.raises(LineageError, match=r"lineage\.model\('churn'\) returns it"):
        shop.result("churn")
    with pytest.raises(NotSavedError, match="no array"):
        shop.array("churn")
    with pytest.raises(NotSavedError, match="no model"):
        shop.model("scores")
    with pytest.raises(NameTakenError):
        shop.save("SELECT 1 AS one", "churn")
    x, y = shop.to_array("features", ["age", "spend"]), shop.to_array("features", ["gone"])[:, 0]
    with pytest.raises(NameTakenError):
        shop.fit(Ridge(), x, y, name="features")
    shop.save(again.predict(x), "again")
    shop.fit(Ridge(alpha=2.0), x, y, name="churn", keep_versions=True)
    assert {(row["result"], row["table"], row["saved_with"], row["now"]) for row in shop.stale().collect()} == {
        ("scores", "churn", 1, 2),
        ("again", "churn", 1, 2),
    }
    assert set(shop.backward_ids("again", rows=[9], table="mc_customers", through="model")) == set(range(8))
    shop.drop("churn")
    with pytest.raises(NotSavedError):
        shop.model("churn")
    assert set(shop.backward_ids("again", rows=[9], table="mc_customers", through="model")) == set(range(8))


def test_cross_validated_and_near_neighbours(shop: ForwardLineage) -> None:
    x, y = shop.to_array("features", ["age", "spend"]), shop.to_array("features", ["gone"])[:, 0]
    shop.save(shop.cross_val_predict(Ridge(), x, y, name="folds", cv=3), "guesses")
    asked = {"cells": np.s_[5], "table": "mc_customers"}
    assert set(shop.backward_ids("guesses", through="model", **asked)) == {0, 1, 2, 3, 8, 9, 10, 11}
    assert set(shop.backward_ids("guesses", through="row", **asked)) == {5}
    with pytest.raises(NotTracedError, match="cross-validation"):
        shop.model("folds").predict(x)
    near = shop.fit(KNeighborsRegressor(2), x[:8], y[:8], name="near")
    shop.save(near.predict(x), "nearby")
    places = near.estimator.kneighbors(x.values[[10]], return_distance=False)[0]
    asked["cells"] = np.s_[10]
    assert set(shop.backward_ids("nearby", through="model", **asked)) == set(places.tolist())
    told = shop.forward_ids("mc_customers", ids=[int(places[0])], result="nearby", through="model")
    assert 10 in set(told) and len(told) < 12


def test_from_the_command_line(shop: ForwardLineage, tmp_path: Path) -> None:
    scored(shop)
    home = ("--home", str(shop.home))
    assert "churn" in good(without_spark("ls", *home)) and "Ridge(alpha=1.0" in good(
        without_spark("describe", "churn", *home)
    )
    kinds = [json.loads(line).get("kind") for line in good(without_spark("ls", "--json", *home)).splitlines()]
    assert kinds.count("model") == 2
    back = good(without_spark("backward", "scores", "--rows", "9", "--table", "churn", *home))
    assert "Ridge" in back
    lines = good(
        without_spark("backward", "scores", "--rows", "9", "--table", "scaler", "--through", "model", "--json", *home)
    ).splitlines()
    assert [json.loads(line)["estimator"] for line in lines] == ["StandardScaler"] * 2
    found = good(without_spark("impact", "features", "--ids", "3", *home))
    assert "all 12 cells, through churn" in found
    picture = tmp_path / "pipeline.svg"
    good(invoke(shop.spark, "graph", "-o", str(picture), "--impact", "features", *home))
    assert "churn" in picture.read_text()


def test_a_damaged_model_is_named(shop: ForwardLineage) -> None:
    scored(shop)
    saved = shop.describe("churn")
    place = saved.folder / saved.state.path
    place.write_bytes(place.read_bytes().replace(b"Ridge", b"Lasso"))
    with pytest.raises(DamagedError, match=r"state\.json"):
        shop.model("churn")
    unsaved = track(np.zeros((12, 1)), "unsaved")
    with pytest.raises(NotTracedError, match="not saved"):
        shop.fit(Ridge(), unsaved, np.zeros(12), name="other")


def test_leaks(shop: ForwardLineage) -> None:
    x, y = shop.to_array("features", ["age", "spend"]), shop.to_array("features", ["gone"])[:, 0]
    scaler = shop.fit(StandardScaler(), x, name="scaler")  # before the split
    churn = shop.fit(Ridge(), scaler.transform(x[:8]), y[:8], name="churn")
    shop.save(churn.predict(scaler.transform(x[6:])), "late")
    model, transformer = shop.leaks("late")
    assert (model.model, model.is_transformer, set(model.ids), set(model.rows)) == ("churn", False, {6, 7}, {0, 1})
    assert (transformer.model, set(transformer.ids), set(transformer.rows)) == ("scaler", {8, 9, 10, 11}, {2, 3, 4, 5})
    assert str(model) == "2 of late were made of 2 rows of mc_customers that churn (model) was fitted on"
    scored_apart = shop.fit(Ridge(), x[:8], y[:8], name="apart").predict(x[8:])
    shop.save(scored_apart, "apart_scores")
    assert shop.leaks("apart_scores") == []
    shop.save(shop.cross_val_predict(Ridge(), x, y, name="folds", cv=3), "guesses")
    assert shop.leaks("guesses") == []
    with pytest.raises(NotSavedError, match="by no model"):
        shop.leaks("features")


def test_a_frame_becomes_an_array_with_its_lineage(shop: ForwardLineage) -> None:
    query = "SELECT c_id, age * 2 AS twice FROM mc_customers WHERE age > 1 ORDER BY c_id DESC"
    x = shop.to_array(shop.sql(query), columns=["twice"], name="twice")
    shop.save(x + 1, "more")
    rows = [row.asDict() for row in shop.result("twice").collect()]
    assert [row["twice"] for row in rows] == x.values[:, 0].tolist()
    for at, row in enumerate(rows):
        assert set(shop.backward_ids("more", cells=np.s_[at], table="mc_customers")) == {row["c_id"]}
    with pytest.raises(LineageError, match="name="):
        shop.to_array(shop.sql(query))
    with pytest.raises(LineageError, match="saved already"):
        shop.to_array("twice", name="again")


def test_without_scikit_learn(shop: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """All questions are answered; what needs it names the extra."""
    scored(shop)
    x, ridge = shop.to_array("features", ["age", "spend"]), Ridge()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for call in (lambda: shop.model("churn"), lambda: shop.fit(ridge, x, x[:, 0], name="other")):
        with pytest.raises(SetupError, match=r"models need scikit-learn.*forward_lineage\[models\]"):
            call()
    home = ("--home", str(shop.home))
    assert "Ridge" in good(without_spark("describe", "churn", *home))
    assert "through churn" in good(without_spark("impact", "features", "--ids", "3", *home))
    assert set(shop.backward_ids("scores", cells=np.s_[9], table="mc_customers", through="model")) == set(range(8))
    assert shop.leaks("scores") and shop.impact("mc_customers", ids=[3]).count() > 3
    shop.save(x * 2, "twice")
