"""Names that a call reads on, found in the values that a notebook's names have now.  [Macke 2021, §7.4.4]

Text alone does not say what ``fs[1](2)`` reads. The value does: it is a function, whose code says which globals it
loads. Code of packages cannot see the notebook's names, so only functions of the notebook count.
"""

from __future__ import annotations

import dis
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from forward_lineage.cells.cell_flow import MUTATORS, Path

_MOST = 200  # elements of containers that are looked at, in all
_DEEPEST = 3  # containers within containers
_CONSTRUCTORS = {"__new__", "__init__", "__post_init__"}  # what runs when a class is called
_CONTAINERS = (list, tuple, set, frozenset, dict)
_PLAIN = frozenset((int, float, str, bytes, bool, complex, type(None)))  # most of what is in large containers


@dataclass(frozen=True)
class _Found:
    """What a call reads and writes, and whether it changes values in place."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    changes: bool = False


class RuntimeValues:
    r"""The values of a notebook's names.

    Args:
        names: of the notebook; functions whose globals these are, are the notebook's own.

    Examples:
        >>> names = {}
        >>> exec("x = 0\ndef f(y):\n    return x + y\nfs = [f, lambda t: t + 1]", names)
        >>> values = RuntimeValues(names)
        >>> sorted(values.reads("fs", (0,))), sorted(values.reads("fs", (1,)))
        (['x'], [])

    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._known: dict[tuple[str, Path], _Found] = {}

    def reads(self, name: str, path: Path = ()) -> frozenset[str]:
        """Return the names that are read when what stands behind a name is called."""
        return self._all(name, path).reads

    def writes(self, name: str, path: Path = ()) -> frozenset[str]:
        """Return the names that are set by that."""
        return self._all(name, path).writes

    def changes(self, name: str, path: Path = ()) -> bool:
        """Return whether that may change in place what it is given, or other values."""
        return self._all(name, path).changes

    def _all(self, name: str, path: Path) -> _Found:
        key = (name, path)
        if key not in self._known:
            self._known[key] = self._found(name, path)
        return self._known[key]

    def _found(self, name: str, path: Path) -> _Found:
        if name not in self._names:
            return _Found()
        reads, writes, changes, seen = set[str](), set[str](), False, set[int]()
        waiting = list(self._functions(followed(self._names[name], path)))
        while waiting:
            function = waiting.pop()
            if id(function.__code__) in seen:
                continue
            seen.add(id(function.__code__))
            loaded, stored = global_names(function.__code__)
            new = {each for each in loaded if each in self._names} - reads
            reads |= new
            writes |= stored
            changes = changes or changes_in_place(function.__code__)
            waiting += [each for other in new for each in self._functions(self._names[other])]
        return _Found(frozenset(reads), frozenset(writes), changes)

    def _functions(self, value: Any) -> Iterator[FunctionType]:
        """Yield the notebook's functions that a call of a value, or with it, may call."""
        if type(value) in _PLAIN:
            return
        seen, left = set[int](), _MOST
        waiting: list[tuple[Any, int]] = [(value, 0)]
        while waiting and left > 0:
            each, depth = waiting.pop()
            left -= 1
            if id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, FunctionType):
                if each.__globals__ is self._names:
                    yield each
                waiting += [(cell, depth) for cell in _closed_over(each)]
            elif depth < _DEEPEST:
                waiting += [(part, depth + 1) for part in self._parts(each)]

    def _parts(self, value: Any) -> Iterable[Any]:
        if isinstance(value, MethodType):
            return (value.__func__, value.__self__)
        if isinstance(value, functools.partial):
            return (value.func, *value.args, *value.keywords.values())
        if isinstance(value, _CONTAINERS):
            within = itertools.islice(value.values() if isinstance(value, dict) else value, _MOST)
            return [each for each in within if type(each) not in _PLAIN]
        kind = value if isinstance(value, type) else type(value)
        if getattr(kind, "__module__", None) != self._names.get("__name__", "__main__"):
            return ()
        own = [part for base in kind.__mro__ if base.__module__ == kind.__module__ for part in vars(base).items()]
        return [_plain(part) for name, part in own if kind is not value or name in _CONSTRUCTORS]


def followed(value: Any, path: Path) -> Any:
    """Return what stands behind a value, as far as looking does not run anybody's code."""
    for step in path:
        if _has(value, step):
            value = value[step]
        else:
            found = _method(value, step)
            if found is None:
                return value
            value = found
    return value


def _has(value: Any, step: str | int) -> bool:
    if type(value) is dict:
        return step in value
    return isinstance(step, int) and type(value) in (list, tuple) and -len(value) <= step < len(value)


def _method(value: Any, name: str | int) -> Any:
    """Return a method of an object of a class of Python, found without calling anything."""
    if not isinstance(name, str):
        return None
    kind = value if isinstance(value, type) else type(value)
    for base in kind.__mro__:
        found = _plain(vars(base).get(name))
        if isinstance(found, FunctionType):
            return found
    return None


def _plain(part: Any) -> Any:
    if isinstance(part, staticmethod | classmethod):
        return part.__func__
    return part.fget if isinstance(part, property) else part


def _closed_over(function: FunctionType) -> Iterator[Any]:
    yield getattr(function, "__wrapped__", None)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue


@functools.lru_cache(maxsize=4096)
def global_names(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """Return the globals that code loads, and those that it stores, functions within it included."""
    loaded, stored = set[str](), set[str]()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.add(each.argval)
        elif each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stored.add(each.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = global_names(constant)
            loaded |= inner[0]
            stored |= inner[1]
    return frozenset(loaded), frozenset(stored)


@functools.lru_cache(maxsize=4096)
def changes_in_place(code: CodeType) -> bool:
    """Return whether code sets elements or attributes, or calls methods that change what they are called on."""
    for each in dis.get_instructions(code):
        if each.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR", "STORE_SLICE"):
            return True
        if each.opname in ("LOAD_METHOD", "LOAD_ATTR") and each.argval in MUTATORS:
            return True
    return any(changes_in_place(each) for each in code.co_consts if isinstance(each, CodeType))
