"""Calls of a session whose Spark is a server: whichever of them finds it gone says so in the same words."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from forward_lineage.spark.errors import lost_server

T = TypeVar("T")


def says_when_the_server_is_gone(calls: type[T]) -> type[T]:
    """Have the public methods of a class, inherited ones too, raise one error where a Spark Connect server is gone."""
    for name in dir(calls):
        method = getattr(calls, name)
        if callable(method) and (not name.startswith("_") or name == "__init__"):
            setattr(calls, name, _saying(method))
    return calls


def _saying(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        with lost_server():
            return method(*args, **kwargs)

    return called
