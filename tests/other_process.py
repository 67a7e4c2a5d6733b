"""Functions that are run in a process of its own, with a session of Spark in front of their arguments."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, Self, TypeVar

T = TypeVar("T")
PATIENCE = 1500  # seconds, on a busy machine


class OtherProcess:
    """A process that begins with a call and then runs others, each as one of them says; a context manager.

    Args:
        begin: the first call over there.
        run: calls a function with a session and its arguments.
        given: the arguments of `begin`.

    """

    def __init__(self, begin: Callable[..., None], run: Callable[..., Any], *given: object) -> None:
        self._run = run
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin, given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it without what PySpark does at exit, which asks a server that may be dead for ten minutes."""
        with suppress(BrokenProcessPool):
            self._pool.submit(os._exit, 0).result(PATIENCE)
        self._pool.shutdown(cancel_futures=True)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function of a module over there, with a session in front of its arguments, and return what it did."""
        found: T = self._pool.submit(self._run, function, *args).result(PATIENCE)
        return found
