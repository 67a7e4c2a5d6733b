"""`Model`: a fitted estimator that tells of each cell it makes which rows and which training rows it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.graph import Node
from forward_lineage.arrays.tracked import TrackedArray
from forward_lineage.models.fitted import Fitted, Traced, fitted_of
from forward_lineage.models.influence import Fitting, Influence, influence_on
from forward_lineage.models.table import COMPOSED, import_sklearn, name_of, rule_of
from udafs.errors import BadArgumentError, NotTracedError

Array = TrackedArray | npt.NDArray[Any]


class Model:
    """A fitted estimator; `fit` makes one.

    Attributes:
        name: what answers call it.
        estimator: scikit-learn's, fitted; what you compute with it yourself has no lineage. Of a cross-validation it is
            a list, one for each fold.
        node: its parts, in the graph of tracked arrays.
        fitted_on: what it was fitted on; None: it was read, or is a cross-validation.

    Example:
        >>> from sklearn.linear_model import Ridge
        >>> x = track(np.array([[1.0], [2.0], [4.0]]), "x")
        >>> y = track(np.array([2.0, 4.0, 8.0]), "y")
        >>> model = fit(Ridge(), x, y, "line")
        >>> backward(model.predict(x[:1]), 0)["y"].indices().ravel()
        array([0, 1, 2])

    """

    def __init__(self, name: str, estimator: Any, fitted: Fitted, node: Node) -> None:
        self.name, self.estimator, self.node = name, estimator, node
        self._fitted = fitted
        self.fitted_on: Fitting | None = None

    def __repr__(self) -> str:
        return f"Model({self.name}, {self.estimator!r})"

    @property
    def parts(self) -> int:
        """How many parts lineage tells apart in it."""
        return self._fitted.parts

    @property
    def members(self) -> list[tuple[str, int]]:
        """Its estimators with a rule of their own: class, and how many parts."""
        return self._fitted.members

    @property
    def transforms(self) -> bool:
        """Whether it is a transformer rather than a predictor."""
        return hasattr(self.estimator, "transform") and not hasattr(self.estimator, "predict")

    def predict(self, x: Array) -> TrackedArray:
        """Return what the estimator predicts of each row, tracked."""
        return self._made("predict", x)

    def predict_proba(self, x: Array) -> TrackedArray:
        """Return the probability of each class, tracked; shape (rows, classes)."""
        return self._made("predict_proba", x)

    def decision_function(self, x: Array) -> TrackedArray:
        """Return the distances from the decision, tracked."""
        return self._made("decision_function", x)

    def transform(self, x: Array) -> TrackedArray:
        """Return what the transformer makes of each row, tracked."""
        return self._made("transform", x)

    def _made(self, method: str, x: Array) -> TrackedArray:
        given = traced(x, "X")
        made = tracked(self._fitted.apply(method, given, self.node))
        if method == "predict" and self.fitted_on is not None:
            _PREDICTED[made.node] = Prediction(self, given.values)
        return made


@dataclass(frozen=True)
class Prediction:
    """What a model predicted of.

    Attributes:
        model: the model.
        x: the array, of shape (rows, columns).

    """

    model: Model
    x: npt.NDArray[Any]

    def influences(self, rows: Iterable[int], method: str) -> list[Influence]:
        """Rank the training rows by how much each of some predictions would move without them.

        Raises:
            LineageError: as for `influence_on`; or classes were predicted, or several targets.

        """
        from sklearn.base import is_classifier  # noqa: PLC0415 - comes with an extra

        on = self.model.fitted_on
        if on is None or is_classifier(self.model.estimator) or (on.y is not None and on.y.ndim != 1):
            raise NotTracedError(
                f"{self.model.name} predicts classes or several targets, and influence is about one number",
                instead="Ask of a model that predicts one number for each row.",
            )
        return [influence_on(self.model.name, self.model.estimator, on, self.x[row], method) for row in rows]


_PREDICTED: WeakKeyDictionary[Node, Prediction] = WeakKeyDictionary()


def prediction_of(array: object) -> Prediction | None:
    """Return what an array was predicted of, if `Model.predict` returned it in this process."""
    return _PREDICTED.get(array.node) if isinstance(array, TrackedArray) else None


def fit(estimator: Any, x: Array, y: Array | None, name: str) -> Model:
    """Fit a clone of an estimator on tracked arrays, in this process.

    Args:
        estimator: of scikit-learn, not fitted; it stays as it is.
        x: of shape (rows, columns).
        y: of shape (rows,) or (rows, targets); None: it needs none.
        name: what answers call the model.

    Raises:
        NotTracedError: nothing is known of the class, or neither array is tracked.
        BadArgumentError: it is no estimator.
        SetupError: scikit-learn is not installed; names the extra.

    """
    check_fits(estimator, x, y)
    from sklearn.base import clone  # noqa: PLC0415 - comes with an extra

    own = clone(estimator)
    known = traced(x, "X"), None if y is None else traced(y, "y")
    own.fit(known[0].values, None if known[1] is None else known[1].values)
    fitted = fitted_of(own)
    model = Model(name, own, fitted, fitted.trained(*known))
    model.fitted_on = Fitting(estimator, known[0].values, None if known[1] is None else known[1].values)
    return model


def check_fits(estimator: Any, x: Array, y: Array | None) -> None:
    """Check, before it is fitted, that an estimator may be fitted on arrays.

    Raises:
        LineageError: as for `fit`.

    """
    import_sklearn()
    from sklearn.base import BaseEstimator  # noqa: PLC0415 - comes with an extra

    if not isinstance(estimator, BaseEstimator):
        raise BadArgumentError(f"{estimator!r} is no estimator of scikit-learn", instead="Give one, e.g. Ridge().")
    if not isinstance(x, TrackedArray) and not isinstance(y, TrackedArray):
        raise NotTracedError(
            "neither array is tracked, so the model would have no lineage",
            instead="lineage.to_array(…) and lineage.array(…) make tracked arrays.",
        )
    for each in _single(estimator):
        rule_of(each)


def _single(estimator: Any) -> Iterator[Any]:
    """The estimators in one that have rules of their own: steps of a `Pipeline`, of a `ColumnTransformer`."""
    if name_of(type(estimator)) not in COMPOSED:
        yield estimator
        return
    for _, step, *_ in [*getattr(estimator, "steps", ()), *getattr(estimator, "transformers", ())]:
        if step is not None and not isinstance(step, str):  # "passthrough", "drop"
            yield from _single(step)


def tracked(made: Traced) -> TrackedArray:
    """Return what a method made, as an array."""
    assert made.node is not None, "what was applied has a node"
    return TrackedArray(made.values, Buffer(made.node))


def traced(given: Any, called: str) -> Traced:
    """Return an array that is handed to an estimator, tracked or plain.

    Raises:
        NotTracedError: it is more than a plain array.
        BadArgumentError: X has no rows and columns.

    """
    if isinstance(given, TrackedArray):
        found = Traced(given.values, given.node)
    elif type(given) is np.ndarray:
        found = Traced(given, None)
    else:
        raise NotTracedError(
            f"{called} is a {type(given).__name__}", instead="Give a tracked array, or a plain one of numpy."
        )
    if called == "X" and found.values.ndim != 2:
        raise BadArgumentError(f"X has shape {found.values.shape}", instead="Give rows and columns: x[:, None].")
    return found
