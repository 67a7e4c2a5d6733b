"""Lineage of generated pipelines against brute force, and that rules which forget something are found by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from forward_lineage.arrays import track
from forward_lineage.models import fit
from forward_lineage.models.fitted import Single
from forward_lineage.models.model import check_fits, prediction_of
from forward_lineage.models.rules import ByColumn, Everything, Neighbours, SupportVectors, Trained, Trees
from forward_lineage.models.state import read, written
from forward_lineage.models.used import Use, boxes
from tests.models.brute import Found, try_case
from tests.models.cases import Case, case_of
from tests.tiers import every_day
from udafs.errors import DamagedError, NotTracedError


@pytest.mark.parametrize("first", every_day(range(0, 200, 5), [30]))
def test_what_changes_is_in_the_lineage(first: int) -> None:
    found = Found()
    for number in range(first, first + 5):
        try_case(case_of(number, 0), found)
    assert not found.missing
    assert sum(found.counts.values()) > 20


# ------------------------------------------------------------ rules that forget something


def _no_training(rule: Any, training: Any) -> Trained:
    return Trained()


def _no_y(rule: Any, training: Any) -> Trained:
    return replace(_EVERYTHING(rule, training), of_y=None)


def _first_tree(rule: Any, use: Any) -> Any:
    used = _TREES(rule, use)
    return replace(used, parts=use.parts_between(0, 0))


def _one_neighbour(rule: Any, use: Any) -> Any:
    near = use.estimator.kneighbors(use.values, return_distance=False)
    return replace(_NEIGHBOURS(rule, use), parts=use.parts_of_rows(near[:, -1:].astype(np.int64)))


def _no_row(use: Any) -> Any:
    return boxes(use.out, use.values.shape, [(0, 0) for _ in use.values.shape])


def _no_control(single: Any, method: str, x: Any, parts: Any) -> Any:
    made = _APPLY(single, method, x, parts)
    made.node.edges = tuple(each for each in made.node.edges if not each.control)
    return made


_EVERYTHING, _TREES, _NEIGHBOURS, _APPLY = Everything.trained, Trees.used, Neighbours.used, Single.apply
SPOILT: dict[str, tuple[type, str, Callable[..., Any], tuple[str, ...]]] = {
    "scalers": (ByColumn, "trained", _no_training, ("Scaler",)),
    "y of linear models": (Everything, "trained", _no_y, ("Ridge(", "LinearRegression", "Lasso")),
    "trees of a forest": (Trees, "used", _first_tree, ("RandomForestRegressor", "ExtraTrees")),
    "neighbours": (Neighbours, "used", _one_neighbour, ("KNeighborsRegressor",)),
    "the row": (Use, "whole_row", _no_row, ("Ridge(", "PCA", "Normalizer")),
    "choices": (Single, "apply", _no_control, ("SelectKBest", "DecisionTree")),
    "support vectors": (SupportVectors, "trained", _no_training, ("SVR(C",)),
}


@pytest.mark.parametrize("name", every_day(SPOILT, ["scalers", "neighbours", "choices"]))
def test_a_rule_that_forgets_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, spoilt, classes = SPOILT[name]
    monkeypatch.setattr(kind, method, spoilt)
    found = Found()
    for number in range(300):
        case = case_of(number, 0)
        if any(each in str(case) for each in classes):
            try_case(case, found)
        if found.missing:
            return
    pytest.fail(f"nobody noticed that {name} are forgotten")


# ------------------------------------------------------------ state


@pytest.mark.parametrize("number", every_day(range(0, 120, 5), [0, 15, 35, 60]))
def test_a_model_predicts_the_same_when_it_was_read(number: int) -> None:
    case: Case = case_of(number, 0)
    x, y = case.features(case.base), case.y_of(case.base)
    try:
        fitted = case.estimator.fit(x[case.trained], y[case.trained])
    except ValueError:  # scikit-learn does not compute it
        return
    (again,) = read(*written([fitted]), "model")
    one, other = (getattr(each, case.method)(x[case.tested]) for each in (fitted, again))
    assert np.array_equal(one, other, equal_nan=True)


def _altered(arrays: bytes, state: bytes, which: str | int, wrong: int) -> bytes:
    """The arrays, with another number at the beginning of one: by its place, or the field of the records."""
    source, made = BytesIO(arrays), BytesIO()
    for at in range(json.loads(state)["arrays"]):
        array = np.load(source)
        if at == which:
            array[0] = wrong
        elif which in (array.dtype.names or ()):
            array[which][0] = wrong
        np.save(made, array)
    return made.getvalue()


def test_state_that_leads_out_of_a_model_is_refused() -> None:
    """scikit-learn and libsvm follow such numbers without looking, into memory that is not theirs."""
    x, y = np.random.default_rng(2).normal(size=(12, 2)), np.arange(12.0)
    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(x, y)
    arrays, state = written([tree])
    for name, wrong in (("left_child", 99), ("right_child", 0), ("feature", 7)):
        with pytest.raises(DamagedError, match="a node"):
            read(_altered(arrays, state, name, wrong), state, "model")
    arrays, state = written([SVR().fit(x, y)])
    told = json.loads(state)["estimators"][0]["state"]["_n_support"]["array"]
    with pytest.raises(DamagedError, match="support vectors"):
        read(_altered(arrays, state, told, 99), state, "model")
    with pytest.raises(NotTracedError, match="is not known here"):
        read(arrays, state.replace(b"sklearn.svm.SVR", b"subprocess.Popen"), "model")
    with pytest.raises(NotTracedError, match="may predict otherwise"):
        read(arrays, state.replace(b'{"sklearn": "', b'{"sklearn": "0.'), "model")


def test_what_is_no_data_is_refused() -> None:
    model = Ridge(random_state=np.random.RandomState(3)).fit(np.eye(3), np.arange(3.0))
    with pytest.raises(NotTracedError, match=r"Ridge\.random_state is a RandomState, which cannot be saved"):
        written([model])
    with pytest.raises(NotTracedError, match="the model would have no lineage"):
        fit(Ridge(), np.eye(3), np.arange(3.0), "plain")


# ------------------------------------------------------------ influence


@pytest.mark.parametrize(
    "estimator", [Ridge(0.7), Ridge(2.0, fit_intercept=False), LinearRegression(), KNeighborsRegressor(3)]
)
def test_closed_forms_are_what_fitting_again_gives(estimator: Any) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(11, 3)), rng.normal(size=11)
    model = fit(estimator, track(x, "x"), track(y, "y"), "model")
    prediction = prediction_of(model.predict(rng.normal(size=(4, 3))))
    assert prediction is not None
    (closed,) = prediction.influences([2], "closed")
    (again,) = prediction.influences([2], "loo")
    effects = [each.effects[np.argsort(each.rows)] for each in (closed, again)]
    assert np.allclose(*effects, atol=1e-9) and closed.rows[0] == again.rows[0]
    assert (closed.method, again.method) == ("closed form", "fitted again")
    assert np.abs(closed.effects).max() > 0.01 and str(closed).startswith("estimate by closed form of model: row")


def test_without_a_closed_form_rows_are_left_out_one_by_one() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    model = fit(DecisionTreeRegressor(max_depth=1, random_state=0), track(x, "x"), track(y, "y"), "model")
    prediction = prediction_of(model.predict(x))
    assert prediction is not None
    with pytest.raises(NotTracedError, match="closed form"):
        prediction.influences([0], "closed")
    (found,) = prediction.influences([0], "auto")
    own = DecisionTreeRegressor(max_depth=1, random_state=0).fit(x[1:], y[1:])
    assert found.effects[found.rows.tolist().index(0)] == pytest.approx(
        model.estimator.predict(x[:1])[0] - own.predict(x[:1])[0]
    )


def test_an_estimator_within_another_is_refused_before_anything_is_fitted() -> None:
    nothing_known = make_pipeline(ColumnTransformer([("n", MLPRegressor(), [0])]), StandardScaler())
    x = track(np.zeros((3, 1)), "x")
    for estimator in (nothing_known, make_pipeline(StandardScaler(), "passthrough", MLPRegressor())):
        with pytest.raises(NotTracedError, match=r"nothing is known of what sklearn\.neural_network"):
            check_fits(estimator, x, None)
    check_fits(make_pipeline(ColumnTransformer([("n", "passthrough", [0])]), StandardScaler()), x, None)
