"""Fields of manifests: what their annotations allow, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from forward_lineage.storage.fields import DEEPEST, made


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    n: int


@dataclass(frozen=True)
class Outer:
    name: str
    count: int
    done: bool = False
    colour: Colour = Colour.RED
    note: str | None = None
    pair: tuple[str, int] = ("", 0)
    inner: tuple[Inner, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


GOOD: dict[str, Any] = {
    "name": "é", "count": -3, "done": True, "colour": "red", "note": None, "pair": ["x", 1], "inner": [{"n": 1}],
    "more": {"a": [1.5, None, {"b": "c"}]},
}  # fmt: skip


def test_what_is_right() -> None:
    found = made(Outer, GOOD)
    assert found == Outer("é", -3, True, Colour.RED, None, ("x", 1), (Inner(1),), {"a": [1.5, None, {"b": "c"}]})
    assert isinstance(found.colour, Colour)
    assert made(Outer, {"name": "x"}, count=5) == Outer("x", 5), "what has a default, and what is given"


def _nested(depth: int) -> Any:
    return [] if depth == 0 else [_nested(depth - 1)]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"name": 5}, "name: 5 is not text"),
        ({"name": "a\0b"}, "name: text with a NUL"),
        ({"name": "\ud800"}, "name: "),
        ({"count": "5"}, "count: '5' is not an integer of 64 bits"),
        ({"count": True}, "count: True is not an integer"),
        ({"count": 5.0}, "count: 5.0 is not an integer"),
        ({"count": 2**64}, "count: 18446744073709551616 is not an integer"),
        ({"count": 10**9000}, "count: "),
        ({"done": 1}, "done: 1 is neither true nor false"),
        ({"colour": "blue"}, "colour: 'blue' is not a valid Colour"),
        ({"note": 1}, "note: 1 is not text"),
        ({"pair": ["x"]}, "pair: 1 entries, not 2"),
        ({"pair": "xy"}, "pair: 'xy' is not a list"),
        ({"inner": {}}, "inner: dict is not a list"),
        ({"inner": [{"n": 1}, {}]}, "inner: no field n"),
        ({"inner": [[]]}, "inner: list is not an object"),
        ({"more": []}, "more: list is not an object"),
        ({"more": {"a": _nested(DEEPEST)}}, "more: nested deeper than 64"),
        ({"more": {"a": {"b": "\udfff"}}}, "more: "),
        ({"other": 1}, "unknown field 'other'"),
    ],
)
def test_what_is_not(change: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError) as refused:
        made(Outer, {**GOOD, **change})
    assert str(refused.value).startswith(what)


def test_what_is_missing_or_said_twice() -> None:
    with pytest.raises(ValueError, match=r"^no field count$"):
        made(Outer, {"name": "x"})
    with pytest.raises(ValueError, match=r"^unknown field 'count'$"):
        made(Outer, {"name": "x", "count": 1}, count=2)
    with pytest.raises(ValueError, match=r"^7 is not an object$"):
        made(Outer, 7)
