"""Calls of a session that cannot go on: its Spark Connect server is gone, or somebody has pressed Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from forward_lineage.session.stopping import Stopped
from forward_lineage.session.watching import tell_watchers
from forward_lineage.spark.errors import lost_server
from forward_lineage.spark.interrupts import interruptible

T = TypeVar("T")


def says_why_it_ends(calls: type[T]) -> type[T]:
    """Have the public methods of a class, inherited ones too, end alike.

    There is one error if the server is gone. On Ctrl-C Spark's jobs end, too, and py4j writes nothing to the console.

    Args:
        calls: a class whose objects have a session, `spark`.

    """
    for name in dir(calls):
        method = getattr(calls, name)
        if callable(method) and not name.startswith("_"):
            setattr(calls, name, _watched(_interruptible(_saying(method))))
    setattr(calls, "__init__", _saying(calls.__init__))  # noqa: B010 - it has no session yet
    return calls


def _saying(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        with lost_server():
            return method(*args, **kwargs)

    return called


def _watched(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        tell_watchers(self, method.__name__, (*args, *kwargs.values()), result)
        return result

    return called


def _interruptible(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with interruptible(self.spark):
                return method(self, *args, **kwargs)
        except Stopped:
            raise
        except KeyboardInterrupt:
            raise Stopped from None

    return called
