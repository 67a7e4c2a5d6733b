"""Ctrl-C in a call that keeps something: whether it was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from forward_lineage.spark.interrupts import interruptible
from udafs.errors import LineageError


class Stopped(KeyboardInterrupt):
    """Ctrl-C in a call of a session; its text, if it has one, says what was kept."""


@contextmanager
def says_what_is_kept(
    spark: SparkSession, name: str, done: str, newest: Callable[[str], int], nothing: str = "nothing"
) -> Iterator[None]:
    """Say of Ctrl-C in the block whether anything was kept.

    Args:
        spark: the session whose jobs the block waits for.
        name: under which it would be.
        done: what would have been done with it, e.g. ``"saved"``.
        newest: the number of the newest version of a name that is there; 0 if none is.
        nothing: what is not done, if others may have been.

    Raises:
        Stopped: ``"stopped, nothing saved"``, or with the version that is there.

    """
    before = _known(newest, name)
    try:
        with interruptible(spark):
            yield
    except KeyboardInterrupt:
        now = _known(newest, name)
        said = f"stopped, {nothing} {done}" if now == before else f"stopped; {name}, version {now}, is {done}"
        raise Stopped(said) from None


def _known(newest: Callable[[str], int], name: str) -> int:
    with suppress(LineageError, TypeError):  # of a name that cannot be: the block says so
        return newest(name)
    return 0
