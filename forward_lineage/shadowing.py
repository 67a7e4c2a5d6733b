"""`udafs` and `rewrites` are names that a user's own files may have. The error names the file before ours."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

#: Our packages beside this one, as Python finds them.
BESIDE = ("udafs", "rewrites")


def refuse_strangers() -> None:
    """See to it that the packages beside this one are ours.

    Raises:
        ImportError: Python would import, or has imported, something else under one of their names.

    """
    for name in BESIDE:
        spec = find_spec(name)
        if spec is not None and _place(spec) != _ours(name):
            raise ImportError(
                f"{_place(spec)} hides the package {name} of forward_lineage. Rename it, or run from another folder.",
                name=name,
            )


def _ours(name: str) -> Path:
    return Path(__file__).resolve().parent.parent / name / "__init__.py"


def _place(spec: ModuleSpec) -> Path:
    """The file of a module or a package; the folder of a package without `__init__.py`."""
    found = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    return Path(found).resolve()
