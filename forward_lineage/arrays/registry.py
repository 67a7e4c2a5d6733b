"""Which rule an operation has.   Rules stand in `rules/`, a file for each family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forward_lineage.arrays.calls import CaptureRule

#: numpy's function → its rule.
RULES: dict[Any, CaptureRule] = {}
#: A function that writes into an argument → the name of that.
WRITES: dict[Any, str] = {}
#: A ufunc's method ("__call__", "reduce", …), or "gufunc" for one that has a signature of its own → its rule.
UFUNC_METHODS: dict[str, CaptureRule] = {}
#: A function that calls one of the user's → the same over tracked arrays, step by step.
COMPOSED: dict[Any, Callable[..., Any]] = {}
#: Functions that tell of shapes and types only; what they return has no lineage.
METADATA: set[Any] = {
    *(np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.common_type, np.min_scalar_type),
    *(np.iscomplexobj, np.isrealobj, np.may_share_memory, np.shares_memory, np.einsum_path),
    *(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from),
    *(np.array_repr, np.array_str, np.array2string),
}


def rule(*functions: Any) -> Callable[[CaptureRule], CaptureRule]:
    """Register the rule of some functions of numpy's, which is a function of a `Call`."""

    def register(written: CaptureRule) -> CaptureRule:
        for function in functions:
            assert RULES.get(function, written) is written, f"two rules for {name_of(function)}"
            RULES[function] = written
        return written

    return register


def composed(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what stands for a function of numpy's that calls one of the user's."""

    def register(written: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSED[function] = written
        return written

    return register


def writing(target: str, *functions: Any) -> Callable[[CaptureRule], CaptureRule]:
    """Register the rule of functions that write into the argument `target`, which is the call's only output."""
    for function in functions:
        WRITES[function] = target
    return rule(*functions)


def ufunc_rule(*methods: str) -> Callable[[CaptureRule], CaptureRule]:
    """Register the rule of a method that all ufuncs have."""

    def register(written: CaptureRule) -> CaptureRule:
        for method in methods:
            UFUNC_METHODS[method] = written
        return written

    return register


def since(names: str) -> list[Any]:
    """Return those of some functions that the installed numpy has."""
    return [getattr(np, name) for name in names.split() if hasattr(np, name)]


def name_of(function: Any) -> str:
    """Return what messages call a function of numpy's, e.g. ``numpy.linalg.solve``."""
    module = getattr(function, "__module__", "numpy") or "numpy"
    return f"{module.replace('._linalg', '').replace('._pocketfft', '').replace('._helper', '')}.{function.__name__}"
