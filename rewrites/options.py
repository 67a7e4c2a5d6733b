"""Options of a rewriting, beside the text and its tables."""

from __future__ import annotations

from dataclasses import dataclass

from rewrites.environment import Semantics
from rewrites.granules import Granules, KnownValues


@dataclass(frozen=True)
class Options:
    """How a statement is rewritten; equal options of one text and the same tables give the same.

    Attributes:
        semantics: data or control lineage.
        chosen: names of the only tables to trace; None: every table.
        granules: what ids stand for, of the only tables to trace; none: rows, unless it has a clause LINEAGE ON.
        known: what is known of the values of expressions in LINEAGE ON, see `rewrites.domains`; None: nothing.
        by_reference: whether inner queries may be stages, see `rewrites.stages`.
        in_parts: give the statement in parts, too: what their names begin with, see `rewrites.stage_queries`.
        to_store: whether others read its rows with their lineage, as they do those of a command.
        by_chance: names, in lower case. They are of functions of the user's that may give another value for the same
            row, and of tables that may have other rows.
        moves_conditions: whether conditions of correlated subqueries may be asked elsewhere, see
            `rewrites.decorrelation`. To Spark some would be others there, by types that the rules do not know: then
            the text is refused when it is analysed.
        weighs: whether a stage is made only where copying costs more, see `rewrites.travel_costs`; else wherever one
            can be.

    """

    semantics: Semantics = Semantics.DATA
    chosen: tuple[str, ...] | None = None
    granules: tuple[Granules, ...] = ()
    known: KnownValues | None = None
    by_reference: bool = True
    in_parts: str | None = None
    to_store: bool = False
    by_chance: frozenset[str] = frozenset()
    moves_conditions: bool = True
    weighs: bool = False


AS_USUAL = Options()
"""Data lineage of every table, all of it."""
