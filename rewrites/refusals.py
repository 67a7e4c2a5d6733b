"""How a rule refuses: what was found, where it stands in the user's SQL, what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import NoReturn

from sqlglot import exp

from udafs.errors import InternalError, LineageError, NotTracedError, Position, listed


def position_of(node: exp.Expr) -> Position | None:
    """Return where a node starts in the text it was parsed from: its own place, else that of its first part."""
    places = [part.meta for part in node.walk() if "line" in part.meta]
    if not places:
        return None
    first = min(places, key=lambda meta: meta["start"])
    # sqlglot's `col` counts to the end of the token.
    return Position(first["line"], first["col"] - (first["end"] - first["start"]))


def refuse(node: exp.Expr, what: str, instead: str, kind: type[LineageError] = NotTracedError) -> NoReturn:
    """Raise the error that names `node`'s place.

    Args:
        node: what is refused.
        what: one clause, lower case first unless it begins with a name or a word of SQL.
        instead: what to do about it, one sentence or more.
        kind: NotTracedError where Spark would run the query; WrongSqlError where it would not either.

    Raises:
        LineageError: always, of type `kind`.
    """
    raise kind(what, at=position_of(node), instead=instead)


def refuse_others(node: exp.Expr, handled: Collection[str], called: str) -> None:
    """Refuse a node that has a part nobody answers for.

    Raises:
        NotTracedError: an argument of `node` is set that `handled` does not name.
    """
    for part, value in node.args.items():
        if value and part not in handled:
            place = value if isinstance(value, exp.Expr) else node
            refuse(place, f"{called} with {part.strip('_').upper()} is not traced", "Write the query without it.")


def nearest(name: str, known: list[str]) -> str:
    """Return `Did you mean …?` with the known names closest to `name`, or the known names when none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    shown = listed(sorted(by_lower.values()))
    return f"Known here: {shown}." if shown else "Nothing is known here: read a table that has it."


@contextmanager
def bugs_reported(place: Callable[[], Position | None]) -> Iterator[None]:
    """Turn what nobody foresaw, in our code or in sqlglot's, into an error that is ours and says where.

    Args:
        place: where in the user's SQL the work was; asked only when something has gone wrong.

    Raises:
        InternalError: for any exception but ours.
        NotTracedError: the query is nested more deeply than Python's stack allows.
    """
    try:
        yield
    except (LineageError, MemoryError):
        raise
    except RecursionError:
        what = "SQL that is nested too deeply to be rewritten"
        raise NotTracedError(what, instead="Nest it less, for example with a WITH clause.") from None
    except Exception as error:
        raise InternalError(f"{type(error).__name__}: {error}", at=_place_if_any(place)) from error


def _place_if_any(place: Callable[[], Position | None]) -> Position | None:
    try:
        return place()
    except Exception:  # the tree may be what is broken
        return None
