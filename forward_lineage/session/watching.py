"""Somebody who watches the calls of sessions, such as a notebook that wants to know which rows a cell asked for."""

from __future__ import annotations

from typing import Any, Protocol


class Watcher(Protocol):
    """Is told of each public call that has ended well, also of those that another call makes."""

    def __call__(self, session: Any, call: str, arguments: tuple[Any, ...], result: Any) -> None:
        """Take note of a call.

        Args:
            session: the `ForwardLineage`.
            call: the name of the method.
            arguments: all of them, in the order in which they were given.
            result: what it returned.

        """
        ...


_WATCHERS: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Tell somebody of calls from now on, once each."""
    if watcher not in _WATCHERS:
        _WATCHERS.append(watcher)


def stop_watching(watcher: Watcher) -> None:
    """Tell them no more."""
    if watcher in _WATCHERS:
        _WATCHERS.remove(watcher)


def tell_watchers(session: Any, call: str, arguments: tuple[Any, ...], result: Any) -> None:
    """Tell all who watch."""
    for watcher in tuple(_WATCHERS):
        watcher(session, call, arguments, result)
