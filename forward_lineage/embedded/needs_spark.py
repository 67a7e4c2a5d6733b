"""A question that is not answered here."""

from __future__ import annotations


class NeedsSpark(Exception):  # noqa: N818 - nothing is wrong: Spark is asked
    """Spark must answer this; the message says what for."""
