"""The lineage of a case by brute force: change or drop a base row, compute again, and see which cells differ."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone

from forward_lineage.arrays.tracked import TrackedArray
from forward_lineage.models import cross_val_predict, fit
from forward_lineage.models.model import Model
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.store.arrays.models import ModelFacts, SavedModels
from forward_lineage.store.arrays.saving import SavedArrays
from forward_lineage.store.asking.pipeline import Pipeline, Through
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_model import Member
from tests.models.cases import COLUMNS, Case, cross_validation
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet

_ROWS, _CELLS = 4, 6  # that are tried of each case
_HELD: tuple[tuple[str, Through], ...] = (
    *(("data", "row"), ("control", "row"), ("data", "model"), ("control", "model"), ("control", "all")),
)
Rows = set[tuple[str, int]]
STEPS = {"small": 0.01, "some": 0.4, "large": 1e3, "nan": np.nan}


@dataclass
class Found:
    """The outcome of cases.

    Attributes:
        counts: how often a cell changed, by the kind of the change and what must hold it.
        missing: cells that changed, and whose lineage does not have the row; in words.
        refused: cases that are not tracked, or that scikit-learn does not compute, by the reason.

    """

    counts: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


class Home:
    """A home of saved arrays and models.

    Args:
        folder: where it is.

    """

    def __init__(self, folder: Path) -> None:
        home = home_folder(folder)
        self.library = Library(home)
        self.arrays = SavedArrays(self.library, Registrations(home))
        self.models = SavedModels(self.library, Registrations(home))

    def save_model(self, model: Model, folds: int) -> None:
        """Save a model; its state is tried elsewhere."""
        members = tuple(Member(*each) for each in model.members)
        facts = ModelFacts(model.name, {}, model.transforms, members, folds)
        how = {"semantics": "data", "mode": "overwrite", "keep_versions": False}
        self.models.save(model.node, model.name, facts, (b"", b""), **how)

    def rows_behind(self, name: str, cell: int, through: Through) -> set[tuple[str, int]]:
        """Return the base rows and labels behind a cell of a saved array."""
        saved = self.library.saved(name)
        pipeline = Pipeline(self.library, [saved])
        found = set()
        for table, columns in (("base", COLUMNS), ("labels", 1)):
            if table in pipeline.tables():
                ids = pipeline.backward(saved, LineageSet([cell]), table, through).ids
                found |= {(table, row) for row in (ids.ids() // columns).tolist()}
        return found


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder, in memory where there is such a place: saving waits for the disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def try_case(case: Case, found: Found) -> None:
    """Compare the lineage of a case with brute force, and note what is found."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), scratch() as folder:
        warnings.simplefilter("ignore")
        try:
            tried = _Tried(case, Home(folder))
        except (NotTracedError, ValueError) as error:
            found.refused[f"{type(error).__name__}: {str(error)[:60]}"] += 1
            return
        for row, kinds in _changes(case):
            for kind in kinds:
                tried.change(row, kind, found)
            tried.drop(row, found)


def _changes(case: Case) -> Iterator[tuple[int, list[str]]]:
    """Yield some base rows of a case, each with the kinds of its changes; over many cases all come."""
    rng = np.random.default_rng(case.number)
    for row in rng.permutation(len(case.base))[:_ROWS]:
        yield int(row), rng.permutation(list(STEPS))[:2].tolist()


class _Tried:
    """A case that was computed with lineage, saved, and is computed again with other base rows."""

    def __init__(self, case: Case, home: Home) -> None:
        self.case = case
        home.arrays.save(case.base, "base")
        home.arrays.save(case.labels, "labels")
        x, y = case.features(home.arrays.read("base")), case.y_of(home.arrays.read("labels"))
        if case.folds:
            folds = cross_validation(case)
            self.model, made = cross_val_predict(case.estimator, x, y, "model", cv=folds, method=case.method)
        else:
            self.model = fit(case.estimator, x[case.trained], y[case.trained], "model")
            made = getattr(self.model, case.method)(x[case.tested])
        home.save_model(self.model, case.folds)
        self.before = made.values
        self.x = x.values
        home.arrays.save(made, "data", semantics="data")
        home.arrays.save(made, "control", semantics="control")
        self._check_plain(made)
        cells = np.random.default_rng(case.number).permutation(made.size)[:_CELLS].tolist()
        self._behind = {
            (name, through): {cell: home.rows_behind(name, cell, through) for cell in cells} for name, through in _HELD
        }
        self.structure = self._structures(self._fitted(case.base, case.labels), self.x)

    def _check_plain(self, made: TrackedArray) -> None:
        """What is tracked is what scikit-learn computes."""
        plain = self._applied(self._fitted(self.case.base, self.case.labels), self.x)
        assert np.allclose(plain, made.values, equal_nan=True, rtol=1e-9), str(self.case)

    # ------------------------------------------------------------ computing again

    def _splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        if not self.case.folds:
            return [(self.case.trained, self.case.tested)]
        return list(cross_validation(self.case).split(self.x))

    def _fitted(self, base: np.ndarray, labels: np.ndarray, without: int | None = None) -> list[Any]:
        """The estimators of other base rows, without a row of the features."""
        x, y = self.case.features(base), self.case.y_of(labels)
        trains = [train[train != without] for train, _ in self._splits()]
        return [clone(self.case.estimator).fit(x[train], y[train]) for train in trains]

    def _applied(self, estimators: list[Any], x: np.ndarray) -> np.ndarray:
        splits = self._splits()
        made = [getattr(one, self.case.method)(x[test]) for one, (_, test) in zip(estimators, splits, strict=True)]
        if not self.case.folds:
            return made[0]
        return np.concatenate(made)[np.argsort(np.concatenate([test for _, test in splits]))]

    def change(self, row: int, kind: str, found: Found) -> None:
        """Change a base row, or else a label: with the models frozen, and with models that are fitted again."""
        base, labels = self.case.base.copy(), self.case.labels.copy()
        base[row] += STEPS[kind]
        x = self.case.features(base)
        frozen = self.model.estimator if self.case.folds else [self.model.estimator]
        try:
            made = self._applied(frozen, x)
            self._note({("base", row)}, f"{kind}, frozen", made, [("data", "row"), ("control", "row")], found)
            self._again(("base", row), kind, (base, self.case.labels), x, found)
        except ValueError:  # scikit-learn takes no NaN here
            found.counts["not computed"] += 1
        if not np.isnan(STEPS[kind]):
            labels[row] = -labels[row] if self.case.classes else labels[row] + STEPS[kind]
            self._again(("labels", row), kind, (self.case.base, labels), self.x, found)

    def _again(
        self, what: tuple[str, int], kind: str, rows: tuple[np.ndarray, np.ndarray], x: np.ndarray, found: Found
    ) -> None:
        again = self._fitted(*rows)
        same = self._structures(again, x) == self.structure
        held: list[tuple[str, Through]] = [("control", "model"), *([("data", "model")] if same else [])]
        kind = f"{kind} {what[0]}"
        self._note({what}, f"{kind}, fitted again", self._applied(again, self.x), held, found)
        self._note({what}, f"{kind}, all again", self._applied(again, x), [("control", "all")], found)

    def drop(self, row: int, found: Found) -> None:
        """Fit without the feature row at the place of a base row, where features are of their own row only."""
        if self.case.features.__name__ not in ("_plain", "_scaled", "_with_product"):
            return
        try:
            again = self._fitted(self.case.base, self.case.labels, row)
            made = self._applied(again, self.x)
        except ValueError:
            found.counts["not computed"] += 1
            return
        before = self._structures(self._fitted(self.case.base, self.case.labels), self.x, without=row)
        same = self._structures(again, self.x, without=row, dropped=True) == before
        held: list[tuple[str, Through]] = [("control", "model"), *([("data", "model")] if same else [])]
        self._note({("base", row), ("labels", row)}, "dropped", made, held, found)

    def _note(self, what: Rows, kind: str, made: np.ndarray, held: list[tuple[str, Through]], found: Found) -> None:
        """Note which cells differ, and whether their lineage has what was changed: of several rows one at least."""
        if made.shape != self.before.shape:
            found.counts[f"{kind}: other columns"] += 1
            return
        for cell in set(_differing(made, self.before)) & set(self._behind[held[0]]):
            for semantics, through in held:
                found.counts[f"{kind}: {through}, {semantics}"] += 1
                if not what & self._behind[semantics, through][cell]:
                    found.missing.append(f"{self.case}: {sorted(what)} {kind}, cell {cell}, {through}, {semantics}")

    # ------------------------------------------------------------ choices

    def _structures(
        self, estimators: list[Any], fitted_on: np.ndarray, *, without: int | None = None, dropped: bool = False
    ) -> list[Any]:
        """The choices of fitted estimators, and which training rows are near: data lineage holds while they stay."""
        found = []
        for one, (train, test) in zip(estimators, self._splits(), strict=True):
            kept = train[train != without] if dropped else train
            places = [[row for row in leaves if row[0] != without] for leaves in _leaves(one, train, fitted_on[train])]
            found.append([places, *_choices(one, kept, self.x[test])])
        return found


def _leaves(estimator: Any, train: np.ndarray, x: np.ndarray) -> Iterator[list[tuple[int, int]]]:
    """Yield of each tree into which leaf each training row falls."""
    steps = [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    for step in (each for each in steps if not isinstance(each, str)):
        for tree in step.estimators_ if hasattr(step, "estimators_") else [step] * hasattr(step, "tree_"):
            yield list(zip(train.tolist(), tree.tree_.apply(x.astype(np.float32)).tolist(), strict=True))
        if hasattr(step, "transform"):
            x = np.asarray(step.transform(x))


def _choices(estimator: Any, train: np.ndarray, x: np.ndarray) -> Iterator[Any]:
    steps = [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]
    for step in steps:
        if isinstance(step, str):
            continue
        if hasattr(step, "kneighbors"):
            yield train[step.kneighbors(x, return_distance=False)].tolist()
        if hasattr(step, "get_support"):
            yield step.get_support(indices=True).tolist()
        if hasattr(step, "support_") and not hasattr(step, "get_support"):
            yield np.sort(train[step.support_]).tolist()
        for tree in step.estimators_ if hasattr(step, "estimators_") else [step] * hasattr(step, "tree_"):
            nodes = tree.tree_
            yield nodes.feature.tolist(), nodes.children_left.tolist(), nodes.apply(x.astype(np.float32)).tolist()
            yield nodes.threshold.tolist()
        if hasattr(step, "estimators_samples_"):
            yield [sorted(set(train[each].tolist())) for each in step.estimators_samples_]
        if hasattr(step, "transform"):
            x = np.asarray(step.transform(x))


def _differing(one: np.ndarray, other: np.ndarray) -> list[int]:
    same = np.isclose(one, other, rtol=1e-7, atol=1e-9, equal_nan=True)
    return np.flatnonzero(~same).tolist()
