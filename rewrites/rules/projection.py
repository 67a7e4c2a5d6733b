"""Append the lineage to the select list.   [Zhang 2007, §3.3, selection and projection]

SELECT a …  →  SELECT a, <terms of t> AS __dl_t, … in a nested query
            →  SELECT a, named_struct('t', <set>, …) AS DL in the outermost one
Ensures: user columns first and untouched; one lineage column per traced table.
"""

from __future__ import annotations

from rewrites.block import Block
from rewrites.terms import Kind, Lineage, as_one, hidden_column, lineage_struct, named


def hidden_columns(block: Block, lineage: Lineage) -> dict[str, Kind]:
    """Append one hidden column per table and say how each is carried."""
    block.claim("expressions", "distinct")
    carried: dict[str, Kind] = {}
    for table, terms in lineage.items():
        one = as_one(terms)
        block.select.append("expressions", named(one.value, hidden_column(table)))
        carried[table] = one.kind
    return carried


def lineage_column(block: Block, lineage: Lineage) -> None:
    """Append the `DL` column, if any table is traced."""
    block.claim("expressions", "distinct")
    if lineage:
        block.select.append("expressions", lineage_struct(lineage))
