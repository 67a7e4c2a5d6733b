"""The meaning of column names in one block of a query: the items of FROM, in Spark's order.

Only certain answers are given. If two readings are possible, the answer is `Unknown`, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

Field = tuple[str, str]
"""A table, as it is registered, and a column of it."""


@dataclass(frozen=True)
class Unknown:
    """The sources of a column are not known; why."""

    why: str


Made = frozenset[Field] | Unknown
"""The fields that a value is computed from."""

NOTHING: frozenset[Field] = frozenset()


class NotKnownError(Exception):
    """The sources of the columns of a part of a query are not known; the reason is its text."""


@dataclass(frozen=True)
class Column:
    """A column of a query: its name, "" where Spark makes one from the expression, and what it is computed from."""

    name: str
    made: Made


@dataclass(frozen=True)
class Seen:
    """A column that is in sight.

    Attributes:
        item: what it is called by in front of a dot, in lower case.
        name: its name.
        made: what it is computed from.
        starred: whether ``*`` has it.
        bare: whether its name alone means it.
        merged: whether USING or NATURAL JOIN moved it, so that its place in ``item.*`` is not known.

    """

    item: tuple[str, ...]
    name: str
    made: Made
    starred: bool = True
    bare: bool = True
    merged: bool = False


def together(parts: Iterable[Made]) -> Made:
    """Return what a value is computed from whose parts are computed from these."""
    found: frozenset[Field] = NOTHING
    for each in parts:
        if isinstance(each, Unknown):
            return each
        found |= each
    return found


def meaning(seen: Sequence[Seen], parts: Sequence[str]) -> Made | None:
    """Return what a name of one or more parts is computed from; None: nothing here is called so.

    The value behind the column is a field of a struct, and as good as the column.
    """
    words = [part.lower() for part in parts]
    for depth in range(len(words) - 1, -1, -1):
        name, item = words[depth], tuple(words[:depth])
        found = [
            each for each in seen if each.name.lower() == name and (each.item[-depth:] == item if depth else each.bare)
        ]
        if len({each.made for each in found}) > 1:
            return Unknown(f"{'.'.join(parts)} may be one of several columns")
        if found:
            return found[0].made
    return None


def starred(seen: Sequence[Seen], item: Sequence[str] = ()) -> list[Seen]:
    """Return the columns of ``*``, or of ``item.*``, in order.

    Raises:
        NotKnownError: the order is not known, or nothing is called so.

    """
    if not item:
        return [each for each in seen if each.starred]
    words = tuple(part.lower() for part in item)
    found = [each for each in seen if each.item[-len(words) :] == words]
    if not found or any(each.merged for each in found):
        raise NotKnownError(f"which columns {'.'.join(item)}.* has, in which order")
    return found


def joined(left: list[Seen], right: list[Seen], join: exp.Join) -> list[Seen]:
    """Return what is in sight behind a join.

    Raises:
        NotKnownError: USING or NATURAL names a column that is there twice.

    """
    kind, side = (str(join.args.get(each) or "").upper() for each in ("kind", "side"))
    names = [part.name.lower() for part in join.args.get("using") or ()]
    if str(join.args.get("method") or "").upper() == "NATURAL":
        others = {each.name.lower() for each in starred(right)}
        names = [each.name.lower() for each in starred(left) if each.name.lower() in others]
    one_sided = kind in ("SEMI", "ANTI")
    if not names:
        return left if one_sided else [*left, *right]
    keys = [(_only(left, name), _only(right, name)) for name in names]
    lefts, rights = ([pair[at] for pair in keys] for at in (0, 1))
    rest = [
        [each for each in seen if not any(each is key for key in own)] for seen, own in ((left, lefts), (right, rights))
    ]
    if one_sided:
        return [*(replace(each, merged=True) for each in lefts), *rest[0]]
    if side == "FULL":
        both = [Seen((), one.name, together((one.made, other.made))) for one, other in keys]
        return [*both, *rest[0], *rest[1], *map(_hidden, lefts), *map(_hidden, rights)]
    shown, hidden = (rights, lefts) if side == "RIGHT" else (lefts, rights)
    return [*(replace(each, merged=True) for each in shown), *rest[0], *rest[1], *map(_hidden, hidden)]


def _only(seen: list[Seen], name: str) -> Seen:
    found = [each for each in seen if each.bare and each.name.lower() == name]
    if len(found) != 1:
        raise NotKnownError(f"which column {name} two sides of a join are merged by")
    return found[0]


def _hidden(each: Seen) -> Seen:
    return replace(each, starred=False, bare=False, merged=True)
