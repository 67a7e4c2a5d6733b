"""Rules of estimators: which training cells its parts were made of, and which parts a cell of its output uses.

A *part* is what lineage tells apart in a fitted estimator: the parameter of a column, the value of a leaf, a neighbour.
Choices are held as they fell, as in tracked arrays: which split, which neighbour, which support vector. What only chose
is control lineage.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from forward_lineage.models.used import (
    SEEN,
    Ids,
    Trained,
    Use,
    Used,
    Values,
    everything,
    part_boxes,
    rows_of_x,
)
from forward_lineage.relations.box_rows import Interval, Line
from forward_lineage.relations.runs import RunsRelation
from udafs.errors import NotTracedError


@dataclass(frozen=True)
class Training:
    """What an estimator was fitted on.

    Attributes:
        estimator: fitted.
        x: of shape (rows, columns).
        y: of shape (rows,) or (rows, outputs); None: there is none.
        parts: how many parts the estimator has, with those of `SEEN`.

    """

    estimator: Any
    x: Values
    y: Values | None
    parts: int


class Rule(ABC):
    """What is known of a class of estimators."""

    @abstractmethod
    def parts(self, estimator: Any) -> int:
        """How many parts a fitted one has, those of `SEEN` left out."""

    @abstractmethod
    def trained(self, training: Training) -> Trained:
        """What the parts were made of."""

    @abstractmethod
    def used(self, use: Use) -> Used:
        """What the cells of an output were made of."""

    def check(self, estimator: Any) -> None:
        """Check that the rule holds for the parameters of an estimator.

        Raises:
            NotTracedError: it does not.

        """
        return


class Everything(Rule):
    """Each cell of its own row, and of all rows that the estimator was fitted on: linear models, PCA, and others."""

    def parts(self, estimator: Any) -> int:
        """One, of all."""
        return 1

    def trained(self, training: Training) -> Trained:
        """All cells."""
        y = training.y
        of_y = None if y is None else everything(training.parts, 0, 0, y.shape)
        return Trained(everything(training.parts, 0, 0, training.x.shape), of_y)

    def used(self, use: Use) -> Used:
        """The whole row, and the only part."""
        return Used(use.whole_row(), use.parts_between(0, 0))


class Unsupervised(Everything):
    """The same of what does not look at y: PCA."""

    def trained(self, training: Training) -> Trained:
        """All cells of X."""
        return Trained(everything(training.parts, 0, 0, training.x.shape))


class ByTarget(Everything):
    """The same, with a part for each column of y."""

    def parts(self, estimator: Any) -> int:
        """One for each column of y."""
        return int(np.atleast_2d(estimator.coef_).shape[0])

    def trained(self, training: Training) -> Trained:
        """Each part of all of X, and of its column of y."""
        last, y = training.parts - SEEN - 1, training.y
        assert y is not None, "sklearn asks for it"
        if y.ndim == 1:
            return super().trained(training)
        of_y = part_boxes(training.parts, y.shape, [((0, last), [(0, len(y) - 1), (Line(0), Line(0))])])
        return Trained(everything(training.parts, 0, last, training.x.shape), of_y)

    def used(self, use: Use) -> Used:
        """The whole row, and the part of the column."""
        if len(use.out) == 1:
            return super().used(use)
        return Used(use.whole_row(), use.parts_of_columns(range(use.out[1])), decided_by_y=use.out[1] > 1)


class ByColumn(Rule):
    """Parameter j of column j of X; a cell of its own cell and the parameter of its column: scalers, imputers."""

    def parts(self, estimator: Any) -> int:
        """One for each column."""
        return int(estimator.n_features_in_)

    def trained(self, training: Training) -> Trained:
        """Each of its column."""
        last = training.parts - SEEN - 1
        column: list[Interval] = [(0, len(training.x) - 1), (Line(0), Line(0))]
        return Trained(part_boxes(training.parts, training.x.shape, [((0, last), column)]))

    def used(self, use: Use) -> Used:
        """Its cell, and the part of its column."""
        columns = self.columns(use.estimator, use.out[1])
        return Used(use.own_columns([(each,) for each in columns]), use.parts_of_columns(columns))

    def columns(self, estimator: Any, width: int) -> list[int]:
        """Return the column of X behind each column of the output."""
        return list(range(width))


class Imputer(ByColumn):
    """An imputer leaves columns out that were empty, and may add indicators."""

    def columns(self, estimator: Any, width: int) -> list[int]:
        """See `ByColumn`."""
        empty = np.array([isinstance(each, float) and np.isnan(each) for each in estimator.statistics_.tolist()])
        kept = np.flatnonzero(~empty) if not estimator.keep_empty_features else np.arange(empty.size)
        told = estimator.indicator_.features_ if estimator.indicator_ is not None else np.empty(0, np.int64)
        return [*kept.tolist(), *told.tolist()]


class OneHot(ByColumn):
    """A column of the output for each value of a column of X."""

    def columns(self, estimator: Any, width: int) -> list[int]:
        """See `ByColumn`."""
        return [column for column, count in enumerate(estimator._n_features_outs) for _ in range(count)]


class Stateless(Rule):
    """Nothing is learned."""

    def parts(self, estimator: Any) -> int:
        """None."""
        return 0

    def trained(self, training: Training) -> Trained:
        """Nothing."""
        return Trained()

    def used(self, use: Use) -> Used:
        """The whole row: `Normalizer`."""
        return Used(use.whole_row())


class OwnCell(Stateless):
    """Each cell of its own: `Binarizer`, and what passes columns through."""

    def used(self, use: Use) -> Used:
        """Its cell."""
        return Used(use.own_columns([(each,) for each in range(use.out[1])]))

    def check(self, estimator: Any) -> None:
        """A function of the user's may do anything."""
        if getattr(estimator, "func", None) is not None or getattr(estimator, "inverse_func", None) is not None:
            raise NotTracedError(
                f"{type(estimator).__name__} calls a function, of which nothing is known",
                instead="Compute it of the tracked array with numpy first.",
            )


class Polynomial(Stateless):
    """Each cell of the columns whose powers it multiplies."""

    def used(self, use: Use) -> Used:
        """By the powers."""
        return Used(use.own_columns([np.flatnonzero(each).tolist() for each in use.estimator.powers_]))


@dataclass(frozen=True)
class Selector(Stateless):
    """A cell that is taken over; which columns, all of X decided, and y where it is looked at."""

    by_y: bool = True

    def used(self, use: Use) -> Used:
        """Its cell."""
        columns = use.estimator.get_support(indices=True)
        return Used(use.own_columns([(int(each),) for each in columns]), None, True, self.by_y)


@dataclass(frozen=True)
class Neighbours(Rule):
    """A cell of the y of its neighbours; with weights by distance of their X, too.

    Attributes:
        of_classes: y is classes, of which all are known.

    """

    of_classes: bool

    def parts(self, estimator: Any) -> int:
        """One for each training row."""
        return int(estimator.n_samples_fit_)

    def check(self, estimator: Any) -> None:
        """Weights that the user computes may look at anything."""
        if callable(estimator.weights) or callable(estimator.metric):
            raise NotTracedError(
                f"{type(estimator).__name__} with a function for weights or metric",
                instead='Give weights="uniform" or "distance", and a metric by its name.',
            )
        if estimator.metric in ("seuclidean", "mahalanobis"):
            raise NotTracedError(
                f"{type(estimator).__name__} with metric={estimator.metric!r}, which scales by all training rows",
                instead="Scale X first, e.g. with StandardScaler, and leave metric= out.",
            )

    def trained(self, training: Training) -> Trained:
        """Part t of row t."""
        y, rows = _one_target(training), len(training.x)
        by_row = part_boxes(training.parts, training.x.shape, [((0, rows - 1), _own_row(training.x))])
        own: list[Interval] = [(Line(0), Line(0)), *((0, size - 1) for size in y.shape[1:])]
        of_y = part_boxes(training.parts, y.shape, [((0, rows - 1), own)])
        return Trained(by_row if training.estimator.weights == "distance" else None, of_y)

    def used(self, use: Use) -> Used:
        """The parts of its neighbours."""
        found = use.estimator.kneighbors(use.values, return_distance=False) if use.rows else np.empty((0, 1), np.int64)
        return Used(use.whole_row(), use.parts_of_rows(found.astype(np.int64)), True, self.of_classes)


def _own_row(x: Values) -> list[Any]:
    return [(Line(0), Line(0)), (0, x.shape[1] - 1)]


class Trees(Rule):
    """A cell of the y of those rows that fell into its leaf when the tree was fitted, over all trees."""

    def parts(self, estimator: Any) -> int:
        """One for each node of each tree."""
        return int(sum(each.tree_.node_count for each in _trees(estimator)))

    def check(self, estimator: Any) -> None:
        """Weights of classes come from all of y, and bounds between leaves from other leaves."""
        for name in ("class_weight", "monotonic_cst"):
            if getattr(estimator, name, None) is not None:
                raise NotTracedError(
                    f"{type(estimator).__name__} with {name}=, by which a leaf is made of more than its rows",
                    instead=f"Leave {name}= out, or register a class of your own: forward_lineage.models.register.",
                )

    def trained(self, training: Training) -> Trained:
        """Each leaf of the y of its rows."""
        y, estimator = _one_target(training), training.estimator
        width = 1 if y.ndim == 1 else y.shape[1]
        samples = getattr(estimator, "estimators_samples_", None) if hasattr(estimator, "estimators_") else None
        x32 = np.ascontiguousarray(training.x, np.float32)
        parts, rows, first = [], [], 0
        for number, tree in enumerate(_trees(estimator)):
            bag = np.arange(len(x32)) if samples is None else np.unique(samples[number])
            parts.append(first + tree.tree_.apply(x32[bag]))
            rows.append(bag)
            first += tree.tree_.node_count
        found = RunsRelation.from_pairs(np.concatenate(parts), np.concatenate(rows) * width)
        return Trained(None, found)

    def used(self, use: Use) -> Used:
        """The leaves that its row falls into."""
        x32, first, found = np.ascontiguousarray(use.values, np.float32), 0, []
        for tree in _trees(use.estimator):
            found.append(first + tree.tree_.apply(x32))
            first += tree.tree_.node_count
        return Used(use.whole_row(), use.parts_of_rows(np.stack(found, axis=1).astype(np.int64)), True, True)


def _trees(estimator: Any) -> list[Any]:
    return list(np.ravel(estimator.estimators_)) if hasattr(estimator, "estimators_") else [estimator]


def _one_target(training: Training) -> Values:
    """The y of an estimator whose rule knows one target only."""
    y = training.y
    if y is None or (y.ndim == 2 and y.shape[1] != 1):
        raise NotTracedError(
            f"{type(training.estimator).__name__} of several targets at once", instead="Fit one for each target."
        )
    return y


class SupportVectors(Rule):
    """A cell of the support vectors: other rows could be left out, and the solution would be the same.

    That is so while one of them is strictly within its bounds, for the intercept comes from those; else all rows count,
    and of more than two classes. With ``gamma="scale"`` the kernel is scaled by the variance of all of X; probabilities
    are fitted on all rows. Then these count, too.
    """

    def parts(self, estimator: Any) -> int:
        """One of the support vectors, one of all rows."""
        return 2

    def trained(self, training: Training) -> Trained:
        """Part 0 of the support vectors; part 1 of everything."""
        support, x = np.sort(training.estimator.support_).astype(np.int64), training.x
        every_x = everything(training.parts, 1, 1, x.shape)
        if self._scaled(training.estimator) or self._all_count(training.estimator):
            of_x: Any = everything(training.parts, 0, 1, x.shape)
        else:
            mine = rows_of_x(np.zeros_like(support), support, x.shape[1])
            of_x = RunsRelation.united([mine, RunsRelation.of(every_x)])
        if training.y is None:
            return Trained(of_x)
        y = _one_target(training)
        if self._all_count(training.estimator):
            return Trained(of_x, everything(training.parts, 0, 1, y.shape))
        of_support = RunsRelation.from_pairs(np.zeros_like(support), support)
        return Trained(
            of_x, RunsRelation.united([of_support, RunsRelation.of(everything(training.parts, 1, 1, y.shape))])
        )

    def used(self, use: Use) -> Used:
        """The support vectors; of probabilities everything."""
        part = 1 if "proba" in use.method else 0
        return Used(use.whole_row(), use.parts_between(part, part), True, True)

    @staticmethod
    def _all_count(estimator: Any) -> bool:
        """Whether rows that support nothing count: by weights of classes, or by the intercept.

        It follows from vectors strictly between the bounds; where there are none, from the others, too.
        """
        if getattr(estimator, "class_weight", None) is not None or estimator.dual_coef_.shape[0] != 1:
            return True
        free = np.abs(estimator.dual_coef_) < estimator.C * (1 - 1e-6)
        return not bool(np.any(free))

    @staticmethod
    def _scaled(estimator: Any) -> bool:
        return bool(estimator.kernel != "linear" and estimator.gamma == "scale")


def all_ids(count: int) -> Ids:
    """Return 0 … count − 1."""
    return np.arange(count, dtype=np.int64)
