"""How much a prediction would move without a training row: estimates that rank, and never filter lineage.

Ridge and linear regression have a closed form [Sherman and Morrison 1950; Cook 1977], near neighbours one by the next
neighbour; everything else is fitted again without each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.models.table import name_of
from forward_lineage.models.used import Values
from udafs.errors import BadArgumentError, NotTracedError

MOST_FITS = 2000
"""How often an estimator is fitted again at most; of more training rows you choose a closed form."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fitting:
    """What a model was fitted on, kept in the process that fitted it.

    Attributes:
        given: the estimator, not fitted.
        x: of shape (rows, columns).
        y: of shape (rows,).

    """

    given: Any
    x: Values
    y: Values | None


@dataclass(frozen=True)
class Influence:
    """An estimate of what training rows do to a prediction.

    Attributes:
        model: the name of the model.
        method: ``"closed form"`` or ``"fitted again"``.
        rows: numbers of training rows, in X as it was fitted on, those that move the prediction most first.
        effects: of each, the prediction minus the one without the row; NaN where nothing could be fitted without it.
        is_estimate: always: lineage says what a prediction was made of, this only what moves it most.

    """

    model: str
    method: str
    rows: npt.NDArray[np.int64]
    effects: Floats
    is_estimate: bool = True

    def __str__(self) -> str:
        shown = ", ".join(f"row {row}: {effect:+.4g}" for row, effect in zip(self.rows[:5], self.effects, strict=False))
        return f"estimate by {self.method} of {self.model}: {shown}{', …' if len(self.rows) > 5 else ''}"


def influence_on(name: str, fitted: Any, on: Fitting, row: Values, method: str) -> Influence:
    """Rank the training rows by how much a prediction would move without them.

    Args:
        name: of the model.
        fitted: the estimator that predicted.
        on: what it was fitted on.
        row: of the array that was predicted, of shape (columns,).
        method: ``"closed"``, ``"loo"`` (leave one out and fit again), or ``"auto"`` for the first that there is.

    Raises:
        BadArgumentError: there is no such method.
        NotTracedError: there is no closed form, or there are too many rows to fit again without each.

    """
    if method not in ("auto", "closed", "loo"):
        raise BadArgumentError(f"method={method!r} is not known", instead='Say "auto", "closed" or "loo".')
    closed = None if method == "loo" else _closed(fitted, on, row)
    if closed is None and method == "closed":
        raise NotTracedError(f"{type(fitted).__name__} has no closed form here", instead='Say method="loo".')
    effects = _again(fitted, on, row) if closed is None else closed
    order = np.argsort(-np.abs(np.nan_to_num(effects)), kind="stable").astype(np.int64)
    return Influence(name, "closed form" if closed is not None else "fitted again", order, effects[order])


def _closed(fitted: Any, on: Fitting, row: Values) -> Floats | None:
    name = name_of(type(fitted))
    if on.y is None or on.y.ndim != 1:
        return None
    if name in ("sklearn.linear_model.Ridge", "sklearn.linear_model.LinearRegression"):
        if getattr(fitted, "positive", False):
            return None
        return _of_ridge(fitted, on.x, on.y, row)
    if name == "sklearn.neighbors.KNeighborsRegressor" and fitted.weights == "uniform":
        return _of_neighbours(fitted, on.y, row)
    return None


def _of_ridge(fitted: Any, x: Values, y: Values, row: Values) -> Floats | None:
    """zᵀ (ZᵀZ + αP)⁻¹ zᵢ eᵢ / (1 − hᵢ), where Z has a column of ones for the intercept, which is not penalised."""
    ones = np.ones((len(x), 1)) if fitted.fit_intercept else np.empty((len(x), 0))
    z, at = np.hstack([ones, x]), np.concatenate([ones[0], row])
    penalty = np.full(z.shape[1], float(getattr(fitted, "alpha", 0.0)))
    penalty[: ones.shape[1]] = 0.0
    normal = z.T @ z + np.diag(penalty)
    if np.linalg.matrix_rank(normal) < len(normal):
        return None
    inverse = np.linalg.inv(normal)
    leverage = np.einsum("ij,jk,ik->i", z, inverse, z)
    left = 1 - leverage
    effects = (z @ inverse @ at) * (y - fitted.predict(x)) / np.where(left > 1e-12, left, np.nan)
    return np.asarray(effects, np.float64)


def _of_neighbours(fitted: Any, y: Values, row: Values) -> Floats | None:
    """Without a neighbour the next one comes in."""
    count = fitted.n_neighbors
    if count + 1 > len(y):
        return None
    near = fitted.kneighbors(row[None, :], n_neighbors=count + 1, return_distance=False)[0]
    effects = np.zeros(len(y))
    effects[near[:count]] = (y[near[:count]] - y[near[count]]) / count
    return effects


def _again(fitted: Any, on: Fitting, row: Values) -> Floats:
    from sklearn.base import clone  # noqa: PLC0415 - comes with an extra

    rows = len(on.x)
    if rows > MOST_FITS:
        raise NotTracedError(
            f"{rows:,} training rows, without each of which the model would be fitted again",
            instead=f"Ask of a model with up to {MOST_FITS:,} training rows, or of one with a closed form.",
        )
    before = float(fitted.predict(row[None, :])[0])
    effects = np.full(rows, np.nan)
    for at in range(rows):
        kept = np.arange(rows) != at
        try:
            own = clone(on.given).fit(on.x[kept], None if on.y is None else on.y[kept])
            effects[at] = before - float(own.predict(row[None, :])[0])
        except ValueError:  # e.g. one class is left
            continue
    return effects
