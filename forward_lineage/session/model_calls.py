"""Calls about models: fitted on tracked arrays, saved with what they were fitted on, and read back."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeGuard

from forward_lineage.session.array_calls import chosen_numbers
from forward_lineage.session.components import Parts
from udafs.errors import NotTracedError

if TYPE_CHECKING:  # most sessions do without models
    from forward_lineage.arrays import TrackedArray
    from forward_lineage.arrays.cells import Chosen
    from forward_lineage.models import Model
    from forward_lineage.models.influence import Influence
    from forward_lineage.models.model import Array, Prediction
    from forward_lineage.store.arrays.models import SavedModels
    from forward_lineage.store.asking.leaks import Leak
    from forward_lineage.store.library.saved_array import SavedArray
    from forward_lineage.store.library.saved_model import SavedModel


class ModelCalls:
    """The calls of `ForwardLineage` about models. docs/models.md says which estimators have which lineage."""

    _parts: Parts

    def fit(
        self,
        estimator: Any,
        x: Array,
        y: Array | None = None,
        *,
        name: str,
        semantics: str = "data",
        mode: str = "overwrite",
        keep_versions: bool = False,
    ) -> Model:
        """Fit a clone of an estimator of scikit-learn on tracked arrays, and save the model.

        Args:
            estimator: not fitted; it stays as it is.
            x: of shape (rows, columns), tracked; or plain, which is made of nothing.
            y: of shape (rows,) or (rows, targets); None: it needs none.
            name: for the saved model.
            semantics: of the lineage of what it is fitted on; ``"control"`` adds what chose the rows.
            mode: ``"overwrite"`` for a new version, ``"error"`` to refuse a name that is there.
            keep_versions: keep the versions before.

        Returns:
            the model: `predict`, `predict_proba`, `decision_function` and `transform` return tracked arrays.

        Raises:
            LineageError: nothing is known of the class, or the name is in use. The extra `models` is missing. An array
                was made of a tracked one that is not saved.

        Examples:
            >>> from sklearn.linear_model import Ridge
            >>> amounts = lineage.to_array("by_item", columns=["amount"])
            >>> model = lineage.fit(Ridge(), amounts, amounts[:, 0], name="line")
            >>> guesses = lineage.save(model.predict(amounts), "guesses")
            >>> lineage.backward_ids("guesses", rows=[1], through="row")
            LineageSet({2})
            >>> lineage.backward_ids("guesses", rows=[1], through="model")
            LineageSet({1, 2, 3})

        """
        from forward_lineage.models.model import check_fits, fit  # noqa: PLC0415 - see above

        check_fits(estimator, x, y)
        models = models_of(self._parts)
        models.check(name, semantics, mode, _nodes(x, y))
        model = fit(estimator, x, y, name)
        save_model(models, model, name, estimator, semantics=semantics, mode=mode, keep_versions=keep_versions)
        return model

    def model(self, name: str, version: int | None = None) -> Model:
        """Return a saved model: what it predicts, and you save, was made of this version.

        Args:
            name: under which it was saved.
            version: one that was kept; the newest when not given.

        Raises:
            LineageError: there is no such model or version, a file of it is damaged, or another release of scikit-learn
                fitted it.

        Examples:
            >>> import numpy as np
            >>> lineage.model("line").predict(np.array([[50.0]])).shape
            (1,)

        """
        return read_model(models_of(self._parts), name, version)

    def cross_val_predict(
        self,
        estimator: Any,
        x: Array,
        y: Array | None = None,
        *,
        name: str,
        cv: Any = None,
        method: str = "predict",
        semantics: str = "data",
        mode: str = "overwrite",
        keep_versions: bool = False,
    ) -> TrackedArray:
        """Predict each row by a model that was fitted on the rows of other folds; the models are saved as one.

        Args:
            estimator: as for `fit`.
            x: as for `fit`.
            y: as for `fit`.
            name: for the saved models.
            cv: a number of folds, or a splitter of scikit-learn whose test folds have each row once; None: 5 folds.
            method: which method predicts.
            semantics: as for `fit`.
            mode: as for `fit`.
            keep_versions: as for `fit`.

        Returns:
            the predictions, in the order of the rows; tracked.

        Raises:
            LineageError: as for `fit`; or the folds do not have each row once.

        Examples:
            >>> amounts = lineage.to_array("by_item", columns=["amount"])
            >>> from sklearn.linear_model import Ridge
            >>> guesses = lineage.cross_val_predict(Ridge(), amounts, amounts[:, 0], name="folds", cv=2)
            >>> guesses = lineage.save(guesses, "guessed")
            >>> lineage.backward_ids("guessed", rows=[1], through="model")
            LineageSet({1, 3})

        """
        from forward_lineage.models.folds import cross_val_predict  # noqa: PLC0415 - see above

        models = models_of(self._parts)
        models.check(name, semantics, mode, _nodes(x, y))
        model, made = cross_val_predict(estimator, x, y, name, cv=cv, method=method)
        folds = len(model.estimator)
        save_model(models, model, name, estimator, folds, semantics=semantics, mode=mode, keep_versions=keep_versions)
        return made

    def leaks(self, name: str) -> list[Leak]:
        """Say which predictions were made of base rows that their model was fitted on, or a transformer on the way.

        A prediction was made of a base row if a path that meets no model leads to it. Every base table is looked at:
        one that you join to all rows, such as a table of countries, is named, too. Selectors of columns only choose:
        save the predictions with ``semantics="control"`` to find these.

        Args:
            name: of saved predictions.

        Returns:
            a leak for each model and base table: the base rows as `ids`, the predictions as `rows`. Rows that a
            predictor was fitted on are not named again of transformers.

        Raises:
            LineageError: there are no such predictions, no model made them, or ids do not mean the same rows.

        Examples:
            >>> print(*lineage.leaks("guesses"), sep="; ")
            2 of guesses were made of 3 rows of sales that line (model) was fitted on
            >>> lineage.leaks("guessed")
            []

        """
        return self._parts.questions.leaks(name)

    def influence(self, name: str, cells: Chosen, *, method: str = "auto") -> list[Influence]:
        """Estimate which training rows move predictions most: by how much each would differ without the row.

        This ranks; it never filters lineage. Ask in the process that fitted and predicted: it keeps both arrays for the
        last predictions that you saved.

        Args:
            name: of saved predictions: what `model.predict` returned, saved as it is.
            cells: which of them, as for `backward`.
            method: ``"loo"`` to fit again without each row. ``"closed"`` for a closed form: Ridge, linear regression
                and near neighbours have one. ``"auto"`` for that where there is one.

        Returns:
            for each cell the training rows, those that move it most first, with their effects.

        Raises:
            LineageError: another process predicted them, or there is no closed form. There are too many rows to fit
                again without each.

        Examples:
            >>> import numpy as np
            >>> (found,) = lineage.influence("guesses", cells=np.s_[1])
            >>> found.method, len(found.rows), found.is_estimate
            ('closed form', 2, True)

        """
        numbers = chosen_numbers(self._parts, name, "rows=", None, cells) or ()
        saved = self._parts.library.saved(name)
        version, prediction = _PREDICTIONS.get((str(self._parts.library.folder), saved.name.lower()), (0, None))
        if prediction is None or version != saved.version:
            raise NotTracedError(
                f"what {saved.name} was predicted of is not known in this process",
                instead="Fit the model, predict and save here: lineage.save(model.predict(X), name).",
            )
        return prediction.influences(list(numbers), method)


def save_model(
    models: SavedModels,
    model: Model,
    name: str,
    given: Any,
    folds: int = 0,
    *,
    semantics: str = "data",
    mode: str,
    keep_versions: bool = False,
) -> SavedModel:
    """Save a model that was fitted.

    Args:
        models: of the session.
        model: the model.
        name: under which.
        given: the estimator that it was fitted as.
        folds: of a cross-validation, how many.
        semantics: as for `ModelCalls.fit`.
        mode: as for `ModelCalls.fit`.
        keep_versions: as for `ModelCalls.fit`.

    """
    from forward_lineage.models.state import written  # noqa: PLC0415 - see above
    from forward_lineage.models.table import name_of  # noqa: PLC0415
    from forward_lineage.store.arrays.models import ModelFacts  # noqa: PLC0415
    from forward_lineage.store.library.saved_model import Member  # noqa: PLC0415

    facts = ModelFacts(
        name_of(type(given)),
        {each: _shortened(repr(value)) for each, value in given.get_params(deep=False).items()},
        model.transforms,
        tuple(Member(estimator, parts) for estimator, parts in model.members),
        folds,
    )
    files = written(model.estimator if folds else [model.estimator])
    return models.save(model.node, name, facts, files, semantics=semantics, mode=mode, keep_versions=keep_versions)


def is_model(given: object) -> TypeGuard[Model]:
    """Tell whether something that is to be saved is a model."""
    module = sys.modules.get("forward_lineage.models.model")
    return module is not None and isinstance(given, module.Model)


_PREDICTIONS: OrderedDict[tuple[str, str], tuple[int, Prediction]] = OrderedDict()
_MOST_PREDICTIONS = 8  # whose arrays are kept


def note_prediction(parts: Parts, array: object, saved: SavedArray) -> None:
    """Note what saved predictions were made of, for `ModelCalls.influence`."""
    module = sys.modules.get("forward_lineage.models.model")
    prediction = None if module is None else module.prediction_of(array)
    key = str(parts.library.folder), saved.name.lower()
    _PREDICTIONS.pop(key, None)
    if prediction is not None:
        _PREDICTIONS[key] = saved.version, prediction
        if len(_PREDICTIONS) > _MOST_PREDICTIONS:
            _PREDICTIONS.popitem(last=False)


def read_model(models: SavedModels, name: str, version: int | None = None) -> Model:
    """See `ModelCalls.model`; no Spark is needed."""
    from forward_lineage.models.fitted import fitted_of  # noqa: PLC0415 - see above
    from forward_lineage.models.folds import folds_of  # noqa: PLC0415
    from forward_lineage.models.model import Model  # noqa: PLC0415
    from forward_lineage.models.state import read  # noqa: PLC0415

    saved, arrays, state, node = models.read(name, version)
    estimators = read(arrays, state, saved.name)
    if saved.folds:
        return Model(saved.name, estimators, folds_of(estimators), node)
    return Model(saved.name, estimators[0], fitted_of(estimators[0]), node)


_LONGEST = 200  # characters of a parameter, as it is shown


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _nodes(*arrays: Any) -> list[Any]:
    return [each.node for each in arrays if hasattr(each, "node")]


def models_of(parts: Parts) -> SavedModels:
    """Return the models of a session's home."""
    from forward_lineage.store.arrays.models import SavedModels  # noqa: PLC0415 - see above

    return SavedModels(parts.library, parts.tables.registrations)
