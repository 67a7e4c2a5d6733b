"""A process in which one module is a mutant: what is imported from its file is made of another tree."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

from tests.mutations.rules.sites import Mutant, source_of, spoilt

OURS = ("rewrites", "forward_lineage")  # none of it is imported before a process is a mutant


class _Spoilt(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        file = source_of(name)
        places = [str(file.parent)] if file.name == "__init__.py" else None
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(file), is_package=places is not None)
        if places:
            spec.submodule_search_locations = places
        return spec

    def exec_module(self, module: types.ModuleType) -> None:
        file = source_of(self._mutant.module)
        module.__file__ = str(file)
        exec(compile(spoilt(self._mutant), str(file), "exec"), module.__dict__)


def become(mutant: Mutant | None) -> None:
    """Make a module a mutant in this process, none of whose rules has been imported.

    Raises:
        RuntimeError: one has.

    """
    early = [name for name in sys.modules if name.split(".")[0] in OURS]
    if early:
        raise RuntimeError(f"imported too early: {early[:3]}")
    if mutant is not None:
        sys.meta_path.insert(0, _Spoilt(mutant))
