"""A condition that is left to Spark."""

from __future__ import annotations


class Doubtful(Exception):  # noqa: N818 - nothing is wrong: another engine is asked
    """Whether this would mean the same here as in Spark is not certain; the message says what is meant by `this`."""


class UnknownColumn(Doubtful):
    """A name that is no column; the argument is the name."""
