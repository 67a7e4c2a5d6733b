"""The one table of estimators: class → rule. What is not in it, and not registered, is refused."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from forward_lineage.extras import import_extra
from forward_lineage.models.rules import (
    ByColumn,
    ByTarget,
    Everything,
    Imputer,
    Neighbours,
    OneHot,
    OwnCell,
    Polynomial,
    Rule,
    Selector,
    Stateless,
    SupportVectors,
    Trees,
    Unsupervised,
)
from udafs.errors import BadArgumentError, NotTracedError

PIPELINE = "sklearn.pipeline.Pipeline"
COLUMN_TRANSFORMER = "sklearn.compose.ColumnTransformer"
COMPOSED = (PIPELINE, COLUMN_TRANSFORMER)
"""Estimators of estimators: `composed` follows their parts."""


def _of(module: str, names: str, rule: Rule) -> dict[str, Rule]:
    return {f"sklearn.{module}.{name}": rule for name in names.split()}


_LINEAR = (
    "RidgeCV Lasso LassoCV ElasticNet ElasticNetCV Lars BayesianRidge HuberRegressor LogisticRegression "
    "RidgeClassifier Perceptron SGDRegressor SGDClassifier PoissonRegressor TweedieRegressor"
)
RULES: dict[str, Rule] = {
    **_of("preprocessing", "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler OrdinalEncoder", ByColumn()),
    **_of("preprocessing", "QuantileTransformer PowerTransformer", ByColumn()),
    **_of("preprocessing", "Normalizer", Stateless()),
    **_of("preprocessing", "Binarizer FunctionTransformer", OwnCell()),
    **_of("preprocessing", "PolynomialFeatures", Polynomial()),
    **_of("preprocessing", "OneHotEncoder", OneHot()),
    **_of("impute", "SimpleImputer", Imputer()),
    **_of("feature_selection", "VarianceThreshold", Selector(by_y=False)),
    **_of("feature_selection", "SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe", Selector()),
    **_of("decomposition", "PCA TruncatedSVD FastICA FactorAnalysis NMF", Unsupervised()),
    **_of("linear_model", "LinearRegression Ridge", ByTarget()),
    **_of("linear_model", _LINEAR, Everything()),
    **_of("neighbors", "KNeighborsClassifier", Neighbours(of_classes=True)),
    **_of("neighbors", "KNeighborsRegressor", Neighbours(of_classes=False)),
    **_of("tree", "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor", Trees()),
    **_of("ensemble", "RandomForestClassifier RandomForestRegressor", Trees()),
    **_of("ensemble", "ExtraTreesClassifier ExtraTreesRegressor", Trees()),
    **_of("svm", "SVC SVR", SupportVectors()),
    # Of these all training rows count: nothing finer is proved. What has a nu weighs by how many there are.
    **_of("svm", "NuSVC NuSVR", Everything()),
    **_of("svm", "OneClassSVM", Unsupervised()),
    **_of("svm", "LinearSVC LinearSVR", Everything()),
    **_of("naive_bayes", "GaussianNB BernoulliNB MultinomialNB", Everything()),
    **_of("discriminant_analysis", "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis", Everything()),
    **_of("cluster", "KMeans MiniBatchKMeans", Unsupervised()),
    **_of("kernel_ridge", "KernelRidge", Everything()),
    **_of("impute", "KNNImputer", Unsupervised()),
}

_REGISTERED: dict[str, tuple[type, Rule]] = {}


def register(estimator: type) -> type:
    """Let `lineage.fit` take a class of your own: each output cell of its own row, and of all training rows.

    You may use it as a decorator. The class must follow scikit-learn's rules: `fit` returns the estimator, and rows of
    an output are made of the same rows of the input.

    Example:
        >>> from sklearn.base import BaseEstimator
        >>> @register
        ... class Mean(BaseEstimator):
        ...     def fit(self, x, y):
        ...         self.mean_ = float(y.mean())
        ...         return self

    Raises:
        BadArgumentError: it is no class, or one whose rule is known already.

    """
    if not isinstance(estimator, type):
        raise BadArgumentError(f"{estimator!r} is no class", instead="Register the class of the estimator.")
    name = name_of(estimator)
    if name in RULES or name in COMPOSED:
        raise BadArgumentError(f"{name} has a rule already", instead="Use it as it is.")
    _REGISTERED[name] = (estimator, Everything())
    return estimator


def name_of(estimator: type) -> str:
    """Return the name under which a class is known: of scikit-learn's the public one."""
    module = estimator.__module__
    if module.startswith("sklearn."):
        module = ".".join(module.split(".")[:2])
    return f"{module}.{estimator.__qualname__}"


def is_known(name: str) -> bool:
    """Tell whether a class has a rule, or is made of others that have."""
    return name in RULES or name in COMPOSED or name in _REGISTERED


def rule_of(estimator: Any) -> Rule:
    """Return the rule of an estimator.

    Raises:
        NotTracedError: there is none, or it does not hold for its parameters.

    """
    name = name_of(type(estimator))
    rule = _REGISTERED[name][1] if name in _REGISTERED else RULES.get(name)
    if rule is None:
        raise NotTracedError(
            f"nothing is known of what {name} makes of its training rows",
            instead="Use one that docs/models.md lists, or register the class: forward_lineage.models.register.",
        )
    rule.check(estimator)
    return rule


def class_of(name: str) -> type:
    """Return the class of a saved model; only those that have a rule are loaded.

    Raises:
        NotTracedError: it is not known here.

    """
    if name in _REGISTERED:
        return _REGISTERED[name][0]
    if not is_known(name):
        raise NotTracedError(
            f"the class {name} is not known here",
            instead="Import the module that registers it: forward_lineage.models.register.",
        )
    module, _, short = name.rpartition(".")
    import_sklearn()
    found: type = getattr(import_module(module), short)
    return found


def import_sklearn() -> Any:
    """Import scikit-learn.

    Raises:
        SetupError: it is not installed; names the extra.

    """
    return import_extra("sklearn", "models", "models need scikit-learn, which is missing. They need")
