"""OFFSET: the rows that it skips had to be there.   [not in Zhang 2007]

σ[OFFSET n](Q)   data: the row's own. control: + the first n rows of Q, in its order.
Requires: WITH is bound; OFFSET stands in a block (`offset_blocks`), which is as the user wrote it.
Ensures:  user columns and clauses unchanged; `block.constants` has the rows that are skipped. Under data semantics
          nothing is done.
Nulls:    –
Raises:   NotTracedError without ORDER BY, in a correlated query, and where HAVING of GROUPING SETS names a key that is
          not selected.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import hoisting
from rewrites.block import Block, keys_not_selected
from rewrites.refusals import refuse
from rewrites.terms import merge


def apply(block: Block) -> None:
    """Add the rows that OFFSET skips, under control semantics."""
    offset = block.select.args.get("offset")
    if offset is None or not block.env.counts_what_decides:
        return
    hoisting.refuse_unrepeatable(block.select)
    for key in keys_not_selected(block.select):  # the rows are read in the block, where Spark would take its own column
        what = f"OFFSET, where HAVING of GROUPING SETS names {key.sql()}, which is not selected, is not traced"
        refuse(offset, f"{what} under control semantics", "Select the key, too, in a subquery in FROM.")
    skipped = block.select.copy()
    skipped.set("offset", None)
    skipped.set("limit", exp.Limit(expression=offset.expression.copy()))
    traced = block.env.rewrite(skipped, block.env.by_value())
    if traced.correlated:
        refuse(
            offset,
            "OFFSET in a correlated query is not traced under control semantics",
            "Use row_number(), and a condition on it.",
        )
    if traced.hidden:
        block.constants = merge(block.constants, hoisting.constant(traced, block.env.names))
