"""LEFT ANTI JOIN with a query: what keeps rows out of the query kept the left row in.   [extends Zhang 2007, §3.4]

V ▷ W   data: V's lineage, since no row of W matched.
        control: + what W looked at (`rewrites.looked_at`), where rows could come into W if base rows were gone.
Requires: WITH is bound; the block is as the user wrote it.
Ensures:  the tree is unchanged; `block.constants` has the rows that W looked at.
Nulls:    –
Raises:   whatever W is refused for.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import hoisting
from rewrites.block import Block
from rewrites.looked_at import looked_at
from rewrites.non_monotonic import shape_of
from rewrites.sources import joins
from rewrites.terms import merge


def apply(block: Block) -> None:
    """Add what the right sides of anti joins looked at, under control semantics."""
    if not block.env.counts_what_decides:
        return
    for join in joins(block.select):
        if join.kind == "ANTI":
            everything = exp.Select(expressions=[exp.Star()]).from_(join.this.copy())
            if shape_of(everything, block.env).open:
                _count(everything, block)


def _count(right: exp.Select, block: Block) -> None:
    hoisting.refuse_unrepeatable(right)
    for query, env in looked_at(right, block.env.by_value()):
        traced = block.env.rewrite(query, env)
        if traced.hidden:
            block.constants = merge(block.constants, hoisting.constant(traced, block.env.names))
