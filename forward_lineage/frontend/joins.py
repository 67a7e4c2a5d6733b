"""The rows that a join keeps of both sides, for whoever reasons about a query: sketches, updates, explanations."""

from __future__ import annotations

from sqlglot import exp

OF_JOIN = frozenset({"this", "on", "using", "side", "kind", "method"})
"""The parts of a join that are read; one with others is another thing, as ``LATERAL`` is."""
EXISTENCE = ("SEMI", "ANTI")
"""Forms of which the right side decides only, and gives no columns."""


def join_form(join: exp.Join) -> str | None:
    """Return ``INNER``, ``LEFT``, ``RIGHT``, ``FULL``, ``SEMI`` or ``ANTI``; None: it is another one, as an as-of join.

    More rows on a side that the form keeps give more joined rows. Kept are both sides of INNER, the left one of LEFT,
    SEMI and ANTI, and the right one of RIGHT. On other sides more rows may take joined rows away.
    """
    side, kind, method = _words(join)
    if method not in ("", "NATURAL"):
        return None
    if side in ("", "LEFT") and kind in EXISTENCE:
        return kind
    if side in ("LEFT", "RIGHT", "FULL") and kind in ("", "OUTER"):
        return side
    return "INNER" if side == "" and kind in ("", "INNER", "CROSS") else None


def join_words(join: exp.Join) -> str:
    """Return a join as a message names it: ``LEFT OUTER JOIN``."""
    side, kind, method = _words(join)
    return " ".join(filter(None, (method, side, kind, "JOIN")))


def table_name(table: exp.Table) -> str:
    """Return the name of a table as it stands in a query, in lower case."""
    return ".".join(part.name for part in table.parts).lower()


def _words(join: exp.Join) -> tuple[str, str, str]:
    side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
    return side, kind, method
