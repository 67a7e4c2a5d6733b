"""A client of a Spark Connect server in a process of its own: a Python process has sessions of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from tests.cluster.processes import die_with_parent
from tests.other_process import OtherProcess

_URL: list[str] = []  # in the client's process: where the server is


class Client(OtherProcess):
    """Runs functions, each with a new session of the server; a context manager.

    Args:
        url: of the server.

    """

    def __init__(self, url: str) -> None:
        super().__init__(_begin, _call, url)


def _begin(url: str) -> None:
    die_with_parent()
    _URL.append(url)


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(SparkSession.builder.remote(_URL[0]).create(), *args)
