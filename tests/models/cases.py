"""Pipelines by number: how features are made of base rows, which of them train, and what is fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import BayesianRidge, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

Rng = np.random.Generator
Array = Any
"""Tracked or plain: numpy's functions take both."""
COLUMNS = 3
"""Of base rows."""

assert KBinsDiscretizer, "has no rule; tests see that it is refused"


def _plain(base: Array) -> Array:
    return base[:, :3]


def _scaled(base: Array) -> Array:
    return base[:, :3] * 2.0 + 1.0


def _against_mean(base: Array) -> Array:
    x = base[:, :3]
    return x - np.nanmean(x, axis=0)


def _with_product(base: Array) -> Array:
    return np.concatenate([base[:, :3], base[:, :1] * base[:, 1:2]], axis=1)


def _reversed(base: Array) -> Array:
    return base[::-1, :3]


def _differences(base: Array) -> Array:
    x = base[:, :3]
    return np.concatenate([x[:1], x[1:] - x[:-1]], axis=0)


FEATURES: tuple[Callable[[Array], Array], ...] = (
    *(_plain, _scaled, _against_mean, _with_product, _reversed, _differences),
)


@dataclass(frozen=True)
class Case:
    """A pipeline.

    Attributes:
        number: of the case.
        base: rows of `COLUMNS` numbers, from which features are made.
        labels: a number for each row, from which y is made.
        features: makes X of base rows, one row for each.
        estimator: not fitted.
        method: of the estimator, which is applied to the rows of `tested`.
        trained: numbers of the feature rows that are fitted on.
        tested: those that it is applied to.
        classes: y is two classes.
        folds: more than 0: a cross-validation of all rows.

    """

    number: int
    base: np.ndarray
    labels: np.ndarray
    features: Callable[[Array], Array]
    estimator: Any
    method: str
    trained: np.ndarray
    tested: np.ndarray
    classes: bool
    folds: int

    def y_of(self, labels: Array) -> Array:
        """Return y of the labels, in the order of the feature rows."""
        y = labels
        if self.features is _reversed:
            y = y[::-1]
        return (y > 0) * 1 if self.classes else y

    def __str__(self) -> str:
        made = f"{self.features.__name__.lstrip('_')}, {self.estimator!r}.{self.method}".replace("\n", " ")
        return f"case {self.number}: {made}, {len(self.trained)} rows train, {len(self.tested)} tested"


def case_of(number: int, seed: int) -> Case:
    """Return a case; the same numbers give the same."""
    rng = np.random.default_rng((seed, number))
    rows = int(rng.integers(9, 14))
    base, labels = rng.normal(size=(rows, COLUMNS)), rng.normal(size=rows)
    if rng.random() < 0.15:
        base = np.round(base, 1)  # ties
    classes = bool(rng.random() < 0.25)
    if classes:
        labels[:4] = [-1, 1, -1, 1]
        labels[-4:] = [-1, 1, -1, 1]
    order = rng.permutation(rows) if rng.random() < 0.5 else np.arange(rows)
    cut = int(rng.integers(rows - 3, rows))
    trained = order[:cut] if rng.random() < 0.5 else np.sort(order[:cut])
    tested = order[cut:] if rng.random() < 0.5 else np.sort(rng.choice(rows, 4, replace=False))
    estimator, method = _estimator(rng, classes)
    folds = 3 if method in ("predict", "predict_proba") and not classes and rng.random() < 0.15 else 0
    if classes and len(set((labels[trained] > 0).tolist())) < 2:
        trained = np.arange(rows)
    made = _pick(rng, FEATURES)
    return Case(number, base, labels, made, estimator, method, trained, tested, classes, folds)


def _pick(rng: Rng, among: Any) -> Any:
    return among[int(rng.integers(len(among)))]


def _transformer(rng: Rng, *, clean: bool) -> Any:
    kinds = [
        StandardScaler(with_mean=bool(rng.random() < 0.7)),
        MinMaxScaler(clip=bool(rng.random() < 0.3)),
        MaxAbsScaler(),
        RobustScaler(),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=5),
        SimpleImputer(strategy=_pick(rng, ["mean", "median"]), add_indicator=bool(rng.random() < 0.3)),
        "passthrough",
    ]
    if clean:
        kinds += [
            PolynomialFeatures(2, include_bias=bool(rng.random() < 0.5)),
            Normalizer(),
            Binarizer(threshold=0.1),
            PCA(2),
            TruncatedSVD(2, random_state=0),
            SelectKBest(f_regression, k=2),
            VarianceThreshold(0.2),
            KNNImputer(n_neighbors=2),
        ]
    return _pick(rng, kinds)


def _by_columns(rng: Rng) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("one", _transformer(rng, clean=False), [0, 2]),
            ("two", _pick(rng, [PolynomialFeatures(2), Normalizer(), MinMaxScaler(), "drop"]), [1]),
        ],
        remainder=_pick(rng, ["passthrough", "drop"]),
        sparse_threshold=0,
    )


def _regressor(rng: Rng) -> Any:
    small = {"max_depth": int(rng.integers(1, 4)), "random_state": int(rng.integers(100))}
    kinds = [
        Ridge(alpha=float(rng.random() + 0.1)),
        LinearRegression(),
        Lasso(alpha=0.05),
        BayesianRidge(),
        KernelRidge(kernel="rbf"),
        KNeighborsRegressor(int(rng.integers(1, 4)), algorithm=_pick(rng, ["brute", "kd_tree", "ball_tree"])),
        KNeighborsRegressor(2, weights="distance"),
        DecisionTreeRegressor(**small, criterion=_pick(rng, ["squared_error", "absolute_error"])),
        RandomForestRegressor(3, **small),
        ExtraTreesRegressor(3, **small),
        SVR(kernel="linear", tol=1e-9, C=0.3, max_iter=20_000),
        SVR(tol=1e-9, gamma=_pick(rng, ["scale", "auto"]), max_iter=20_000),
        NuSVR(kernel="linear", tol=1e-9, max_iter=20_000),
    ]
    return _pick(rng, kinds)


def _classifier(rng: Rng) -> Any:
    kinds = [
        LogisticRegression(),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        KNeighborsClassifier(3),
        DecisionTreeClassifier(max_depth=2, random_state=0),
        RandomForestClassifier(3, max_depth=2, random_state=0),
        SVC(kernel="linear", tol=1e-9, max_iter=20_000),
    ]
    return _pick(rng, kinds)


def _estimator(rng: Rng, classes: bool) -> tuple[Any, str]:
    if not classes and rng.random() < 0.25:
        kind = _pick(rng, [_by_columns, lambda each: _transformer(each, clean=True)])(rng)
        if isinstance(kind, str):
            kind = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        return kind, "transform"
    last = _classifier(rng) if classes else _regressor(rng)
    if classes and hasattr(last, "predict_proba") and not isinstance(last, SVC) and rng.random() < 0.5:
        method = "predict_proba"
    else:
        method = "decision_function" if isinstance(last, SVC) else "predict"
    if rng.random() < 0.25:
        return last, method
    first = _by_columns(rng) if rng.random() < 0.3 else _transformer(rng, clean=True)
    steps = [("first", first), ("last", last)]
    if rng.random() < 0.3:
        steps.insert(1, ("second", _transformer(rng, clean=True)))
    return Pipeline(steps), method


def cross_validation(case: Case) -> KFold:
    """Return the folds of a case."""
    return KFold(case.folds)
