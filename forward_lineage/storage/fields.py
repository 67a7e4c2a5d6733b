"""The fields of a manifest, checked when they are read.

A right checksum says that nothing was damaged by accident. It does not say that a manifest was written by us. So every
field is checked against the annotations of its dataclass before anybody relies on it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Check = Callable[[Any], Any]

#: What JSON of any shape (a schema, where rows came from) may be nested, at most.
DEEPEST = 64
_LEAST, _MOST = -(2**63), 2**64 - 1  # numbers of files on their file systems are unsigned


def made(kind: type[T], data: Any, **given: Any) -> T:
    """Make a dataclass of what stands in a manifest.

    Args:
        kind: the dataclass; its annotations are made of int, str, bool, `StrEnum`, `Path`-free dataclasses, tuples,
            `dict[str, Any]`, `Any` and `| None`.
        data: a JSON object of its fields; those that have a default may be missing.
        given: fields that do not stand in manifests.

    Raises:
        ValueError: a field is missing, is none of the dataclass, or is not what it has to be; the message names it.

    """
    if not isinstance(data, dict):
        raise ValueError(f"{_brief(data)} is not an object")
    checks, needed = _checks(cast(Hashable, kind))
    if unknown := data.keys() - checks.keys() | (data.keys() & given.keys()):
        raise ValueError(f"unknown field {min(unknown)!r}")
    if missing := needed - data.keys() - given.keys():
        raise ValueError(f"no field {min(missing)}")
    return kind(**{name: _checked(checks[name], name, value) for name, value in data.items()}, **given)


def _checked(check: Check, name: str, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


@cache
def _checks(kind: Any) -> tuple[Mapping[str, Check], frozenset[str]]:
    """Return what each field has to be, and which must be there."""
    hints = get_type_hints(kind)
    known = [field for field in fields(kind) if field.init]
    needed = {field.name for field in known if field.default is MISSING and field.default_factory is MISSING}
    return {field.name: _check_of(hints[field.name]) for field in known}, frozenset(needed)


def _check_of(hint: Any) -> Check:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional(_check_of(next(each for each in arguments if each is not types.NoneType)))
    if origin is tuple:
        return _many(_check_of(arguments[0])) if arguments[1:] == (...,) else _row([*map(_check_of, arguments)])
    if is_dataclass(hint):
        return lambda value: made(hint, value)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value: hint(text(str(value) if isinstance(value, hint) else value))
    return {int: number, str: text, bool: _yes_or_no, Any: plain, dict: _object}.get(origin or hint, _nothing)


def number(value: Any) -> int:
    """Return an integer of 64 bits."""
    if type(value) is not int or not _LEAST <= value <= _MOST:
        raise ValueError(f"{_brief(value)} is not an integer of 64 bits")
    return value


def text(value: Any) -> str:
    """Return text that can be written as UTF-8 and stand in a path: no half of a surrogate pair, no NUL."""
    if type(value) is not str:
        raise ValueError(f"{_brief(value)} is not text")
    if "\0" in value:
        raise ValueError("text with a NUL")
    value.encode()
    return value


def plain(value: Any, depth: int = 0) -> Any:
    """Return JSON of any shape, if it is not nested deeper than `DEEPEST`."""
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        return {text(name): plain(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, str):
        return text(value)
    return number(value) if type(value) is int else value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{_brief(value)} is not an object")
    found: dict[str, Any] = plain(value)
    return found


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{_brief(value)} is neither true nor false")
    return value


def _nothing(value: Any) -> Any:
    raise ValueError("it does not stand in manifests")


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _many(check: Check) -> Check:
    return lambda value: tuple(map(check, _list(value)))


def _row(checks: list[Check]) -> Check:
    def row(value: Any) -> tuple[Any, ...]:
        if len(_list(value)) != len(checks):
            raise ValueError(f"{len(value)} entries, not {len(checks)}")
        return tuple(check(each) for check, each in zip(checks, value, strict=True))

    return row


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{_brief(value)} is not a list")
    return value


def _brief(value: Any) -> str:
    shown = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return shown if len(shown) <= 40 else f"{shown[:40]}…"
