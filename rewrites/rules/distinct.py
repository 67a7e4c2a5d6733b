"""SELECT DISTINCT that stays in its block: equal rows become one, made of all of them.

δ(π_A(V))  →  γ_{all of A; dlunion(__dl_t) for each t}(V'), written with GROUP BY ALL, which needs no column's name
Requires: all lineage is collected; the block neither groups nor ranks (`distinct_apart` has taken those).
Ensures:  user columns unchanged; one set a table; a block without DISTINCT, or without lineage, stays as it is.
Nulls:    NULL equals NULL, as in DISTINCT; constants over no rows are no group.
Raises:   NotTracedError for DISTINCT ON, which Spark does not have; for a star where a column is called all.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.equal_rows import is_called_all
from rewrites.lineage_functions import dlunion
from rewrites.refusals import refuse, refuse_others
from rewrites.rules import stars
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
    seen = (each for item in block.scope.seen_from(None) for each in item.columns or ())
    called_all = is_called_all(seen) or is_called_all(block.scope.aliases)
    block.select.set("group", _by_place(block.select) if called_all else exp.Group(all=True))
    block.rows = {table: [Term(dlunion(term.value), Kind.SET) for term in terms] for table, terms in lineage.items()}
    block.constants, block.groups = Lineage(), Lineage()


def _by_place(select: exp.Select) -> exp.Group:
    """GROUP BY 1, 2, …: ALL would be one of the columns. Spark counts no places where there is a star."""
    for item in select.expressions:
        if stars.star_of(item) is not None:
            refuse(item, "DISTINCT of a star, where a column is called all, is not traced", "Name the columns.")
    return exp.Group(expressions=[exp.Literal.number(place + 1) for place in range(len(select.expressions))])
