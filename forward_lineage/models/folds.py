"""Cross-validation: each row is predicted by the model of its fold, which was fitted on the rows of the others."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from forward_lineage.arrays.graph import Node
from forward_lineage.arrays.tracked import TrackedArray, constant
from forward_lineage.models.fitted import Fitted, Together, Traced, fitted_of
from forward_lineage.models.model import Array, Model, check_fits, traced, tracked
from udafs.errors import BadArgumentError, NotTracedError


class Folds(Together):
    """The models of a cross-validation; none of them predicts for all."""

    def trained(self, x: Traced, y: Traced | None) -> Node:
        """See `Fitted`; `cross_val_predict` joins them itself."""
        raise NotImplementedError

    def apply(self, method: str, x: Traced, parts: Node) -> Traced:
        """See `Fitted`."""
        raise NotTracedError(
            f"{method} of a cross-validation, which has {len(self.each)} models, each for the rows of its fold",
            instead="Fit one model on all rows: lineage.fit(estimator, X, y, name=…).",
        )


def folds_of(estimators: list[Any]) -> Folds:
    """Return the models of a saved cross-validation."""
    return Folds([fitted_of(each) for each in estimators])


def cross_val_predict(
    estimator: Any, x: Array, y: Array | None, name: str, *, cv: Any = None, method: str = "predict"
) -> tuple[Model, TrackedArray]:
    """Predict each row by a model that was fitted on the rows of other folds.

    Args:
        estimator: of scikit-learn, not fitted; it stays as it is.
        x: of shape (rows, columns).
        y: of shape (rows,) or (rows, targets).
        name: what answers call the models.
        cv: a number of folds, or a splitter of scikit-learn whose test folds have each row once; None: 5 folds.
        method: which method predicts.

    Returns:
        the models as one, and the predictions, tracked.

    Raises:
        LineageError: as for `fit`; or the folds do not have each row once.

    """
    check_fits(estimator, x, y)
    from sklearn.base import clone, is_classifier  # noqa: PLC0415 - comes with an extra
    from sklearn.model_selection import check_cv  # noqa: PLC0415

    wholes = [each if isinstance(each, TrackedArray) else constant(each) for each in (x, y) if each is not None]
    plain = [each.values for each in wholes] + [None] * (y is None)
    splits = list(check_cv(cv, plain[1], classifier=is_classifier(estimator)).split(*plain))
    tests = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tests), np.arange(len(wholes[0]))):
        raise BadArgumentError("the folds do not have each row once", instead="Give a partition, e.g. KFold(5).")
    fitted: list[Fitted] = []
    trained = []
    for train, _ in splits:
        parts = [each[train] for each in wholes]
        own = clone(estimator).fit(*(each.values for each in parts))
        fitted.append(fitted_of(own))
        trained.append(fitted[-1].trained(traced(parts[0], "X"), traced(parts[1], "y") if y is not None else None))
    folds = Folds(fitted)
    node = folds.joined(trained, "cross_val_predict")
    made = [
        fitted[number].apply(method, traced(wholes[0][test], "X"), folds.apart(node, number))
        for number, (_, test) in enumerate(splits)
    ]
    if len({each.values.shape[1:] for each in made}) > 1:
        raise BadArgumentError(
            "the models of the folds know different classes", instead="Give fewer folds, or StratifiedKFold(…)."
        )
    together = cast(TrackedArray, np.concatenate([tracked(each) for each in made]))
    own_models = [each.estimator for each in fitted]
    return Model(name, own_models, folds, node), together[np.argsort(tests)]
