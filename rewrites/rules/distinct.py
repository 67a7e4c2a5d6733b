"""SELECT DISTINCT that stays in its block: equal rows become one, made of all of them.

δ(π_A(V))  →  γ_{all of A; dlunion(__dl_t) for each t}(V'), written with GROUP BY ALL, which needs no column's name
Requires: all lineage is collected; the block neither groups nor ranks (`distinct_apart` has taken those).
Ensures:  user columns unchanged; one set a table; a block without DISTINCT, or without lineage, stays as it is.
Nulls:    NULL equals NULL, as in DISTINCT; constants over no rows are no group.
Raises:   NotTracedError for DISTINCT ON, which Spark does not have.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.lineage_functions import dlunion
from rewrites.refusals import refuse_others
from rewrites.terms import Kind, Lineage, Term


def apply(block: Block) -> None:
    """Group by all user columns instead, and unite the lineage of each group."""
    block.claim("distinct")
    clause = block.select.args.get("distinct")
    if clause is None:
        return
    refuse_others(clause, (), "DISTINCT")
    lineage = block.lineage()
    if not lineage:
        return
    block.select.set("distinct", None)
    block.select.set("group", exp.Group(all=True))
    block.rows = {table: [Term(dlunion(term.value), Kind.SET) for term in terms] for table, terms in lineage.items()}
    block.constants, block.groups = Lineage(), Lineage()
