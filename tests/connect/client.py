"""A client of a Spark Connect server in a process of its own: a Python process has sessions of one kind."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from tests.cluster.processes import die_with_parent

T = TypeVar("T")
PATIENCE = 1500  # seconds, on a busy machine

_URL: list[str] = []  # in the client's process: where the server is


class Client:
    """Runs functions, each with a new session of the server; a context manager.

    Args:
        url: of the server.

    """

    def __init__(self, url: str) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (url,))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        """End its process without what PySpark does at exit, which asks a server that may be dead for ten minutes."""
        with suppress(BrokenProcessPool):
            self._pool.submit(os._exit, 0).result(PATIENCE)
        self._pool.shutdown(cancel_futures=True)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function of a module over there, with a session in front of its arguments, and return what it did."""
        return self._pool.submit(_call, function, *args).result(PATIENCE)


def _begin(url: str) -> None:
    die_with_parent()
    _URL.append(url)


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(SparkSession.builder.remote(_URL[0]).create(), *args)
