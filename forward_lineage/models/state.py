"""The state of fitted estimators as data: JSON, and arrays in numpy's own format. No pickle, and nothing in it is run.

Only classes that have a rule are made again, and a few that scikit-learn keeps within these. A value of any other kind
is refused when the model is saved, by the name of its attribute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.models.table import class_of, import_sklearn, is_known, name_of
from udafs.errors import DamagedError, LineageError, NotTracedError

_INNER = (
    "sklearn.preprocessing.LabelBinarizer",
    "sklearn.preprocessing.LabelEncoder",
    "sklearn.impute.MissingIndicator",
)
"""Estimators that others keep, and that have no rule of their own."""
_SCORES = ("f_classif", "f_regression", "chi2", "mutual_info_classif", "mutual_info_regression", "r_regression")
_LEFT_OUT = {"_tree", "_base_loss", "_random_state", "random_state_", "_loss_function_"}
"""Attributes that are made again, or that only fitting uses."""
_NUMBERS = "biufcUSM m"


def written(estimators: Sequence[Any]) -> tuple[bytes, bytes]:
    """Return fitted estimators as files: the arrays, one ``.npy`` behind the other, and the rest as JSON.

    Raises:
        NotTracedError: an attribute is of a kind that is no data.

    """
    writer = _Writer()
    data: dict[str, Any] = {
        "sklearn": release(),
        "estimators": [writer.estimator(each, type(each).__name__) for each in estimators],
    }
    data["arrays"] = len(writer.arrays)
    file = BytesIO()
    for each in writer.arrays:
        np.save(file, each, allow_pickle=False)
    return file.getvalue(), json.dumps(data, allow_nan=False).encode()


def read(arrays: bytes, state: bytes, name: str) -> list[Any]:
    """Return the estimators that `written` wrote.

    Args:
        arrays: the first file.
        state: the second one.
        name: of the model, for messages.

    Raises:
        NotTracedError: another release of scikit-learn fitted it, or a class is not known here.
        DamagedError: the files are not what `written` writes.

    """
    try:
        data = json.loads(state)
        if data["sklearn"] != release():
            raise NotTracedError(
                f"scikit-learn {data['sklearn']} fitted {name}, and here is {release()}, which may predict otherwise",
                instead=f"Fit it again, or install scikit-learn {data['sklearn']}. Questions about it need neither.",
            )
        file = BytesIO(arrays)
        reader = _Reader([np.load(file, allow_pickle=False) for _ in range(int(data["arrays"]))])
        return [reader.value(each) for each in data["estimators"]]
    except LineageError:
        raise
    except Exception as error:
        raise DamagedError(f"the saved state of {name} cannot be read: {error}", instead="Fit it again.") from None


def release() -> str:
    """Return the release of scikit-learn, without corrections: attributes may change between releases."""
    return ".".join(import_sklearn().__version__.split(".")[:2])


class _Writer:
    """Values as JSON; arrays are put aside."""

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []

    def estimator(self, estimator: Any, at: str) -> dict[str, Any]:
        """A class, and its attributes."""
        name = name_of(type(estimator))
        if not is_known(name) and name not in _INNER:
            raise _no_data(at, estimator)
        kept = {each: value for each, value in vars(estimator).items() if each not in _LEFT_OUT}
        return {"estimator": name, "state": {each: self.value(value, f"{at}.{each}") for each, value in kept.items()}}

    def value(self, value: Any, at: str) -> Any:
        """Any value; `at` says where it is."""
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, (list, tuple)):
            found = [self.value(each, at) for each in value]
            return found if type(value) is list else {"tuple": found}
        if isinstance(value, dict):
            return {"dict": [[self.value(key, at), self.value(each, f"{at}[{key!r}]")] for key, each in value.items()]}
        if isinstance(value, slice):
            return {"slice": [self.value(each, at) for each in (value.start, value.stop, value.step)]}
        return self._numpy(value, at)

    def _numpy(self, value: Any, at: str) -> dict[str, Any]:
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return {"objects": [self.value(each, at) for each in value.ravel().tolist()], "shape": list(value.shape)}
        if isinstance(value, np.ndarray) and (value.dtype.kind in _NUMBERS or value.dtype.names):
            return {"array": self._put(value)}
        if isinstance(value, np.generic):
            return {"scalar": self._put(np.asarray(value))}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"type": np.dtype(value).str}
        return self._object(value, at)

    def _object(self, value: Any, at: str) -> dict[str, Any]:
        if type(value).__module__ == "sklearn.tree._tree":
            return self._tree(value)
        if callable(value) and getattr(value, "__module__", "").startswith("sklearn.feature_selection"):
            if value.__name__ in _SCORES:
                return {"score": value.__name__}
        elif hasattr(value, "get_params"):
            return self.estimator(value, at)
        raise _no_data(at, value)

    def _tree(self, tree: Any) -> dict[str, Any]:
        """The nodes of a decision tree: an array of records, and one of values."""
        state = tree.__getstate__()
        known = {
            "features": tree.n_features,
            "classes": self._put(np.asarray(tree.n_classes)),
            "outputs": tree.n_outputs,
        }
        return {"tree": known | {name: self.value(each, f"tree.{name}") for name, each in state.items()}}

    def _put(self, array: npt.NDArray[Any]) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def _no_data(at: str, value: Any) -> NotTracedError:
    return NotTracedError(
        f"{at} is a {type(value).__name__}, which cannot be saved as data",
        instead="Give a number, a text, a list or an array; as random_state a number.",
    )


class _Reader:
    """What `_Writer` wrote, as values."""

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = arrays
        self._kinds: dict[str, Callable[[Any, Any], Any]] = {
            "float": lambda given, _: float(given),
            "tuple": lambda given, _: tuple(map(self.value, given)),
            "dict": lambda given, _: {self.value(key): self.value(each) for key, each in given},
            "slice": lambda given, _: slice(*map(self.value, given)),
            "array": lambda given, _: self._arrays[given],
            "scalar": lambda given, _: self._arrays[given][()],
            "objects": lambda given, whole: _objects(list(map(self.value, given)), whole["shape"]),
            "dtype": lambda given, _: np.dtype(given),
            "type": lambda given, _: np.dtype(given).type,
            "score": lambda given, _: getattr(import_module("sklearn.feature_selection"), _among(given, _SCORES)),
            "tree": lambda given, _: self._tree(given),
            "estimator": lambda given, whole: self._estimator(given, whole["state"]),
        }

    def value(self, data: Any) -> Any:
        """Return the value that data stand for."""
        if isinstance(data, list):
            return list(map(self.value, data))
        if not isinstance(data, dict):
            return data
        kind = next(iter(data))
        return self._kinds[kind](data[kind], data)

    def _estimator(self, name: str, state: dict[str, Any]) -> Any:
        module, _, short = name.rpartition(".")
        kind: Any = getattr(import_module(module), short) if name in _INNER else class_of(name)
        made: Any = kind.__new__(kind)
        vars(made).update({each: self.value(value) for each, value in state.items()})
        _make_again(made)
        return made

    def _tree(self, given: dict[str, Any]) -> Any:
        from sklearn.tree._tree import Tree  # noqa: PLC0415 - comes with an extra

        state = {
            name: self.value(each) for name, each in given.items() if name not in ("features", "classes", "outputs")
        }
        _check_nodes(state["nodes"], int(given["features"]))
        made = Tree(given["features"], self._arrays[given["classes"]], given["outputs"])
        made.__setstate__(state)
        return made


def _make_again(estimator: Any) -> None:
    """Make what was left out and predicting needs: the search tree of neighbours, the link of linear models."""
    method = getattr(estimator, "_fit_method", None)
    if method is not None:
        from sklearn.neighbors import BallTree, KDTree  # noqa: PLC0415 - comes with an extra

        kind = {"kd_tree": KDTree, "ball_tree": BallTree}.get(method)
        others = {"metric": estimator.effective_metric_, **estimator.effective_metric_params_}
        estimator._tree = None if kind is None else kind(estimator._fit_X, estimator.leaf_size, **others)
    if hasattr(estimator, "_get_loss"):
        estimator._base_loss = estimator._get_loss()


def _check_nodes(nodes: npt.NDArray[Any], features: int) -> None:
    """Check that no node leads out of the tree or back: scikit-learn follows them without looking."""
    numbers = np.arange(len(nodes))
    for name in ("left_child", "right_child"):
        leads = nodes[name]
        if np.any((leads != -1) & ((leads <= numbers) | (leads >= len(nodes)))):
            raise ValueError("a node that leads nowhere")
    inner = nodes["left_child"] != -1
    if np.any(inner != (nodes["right_child"] != -1)) or np.any(nodes["feature"][inner] >= features):
        raise ValueError("a node without its column")
    if np.any(nodes["feature"][inner] < 0):
        raise ValueError("a node without its column")


def _objects(values: list[Any], shape: list[int]) -> npt.NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


def _among(name: str, known: Sequence[str]) -> str:
    if name not in known:
        raise ValueError(f"no {name}")
    return name
