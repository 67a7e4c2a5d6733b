"""GROUP BY, HAVING, aggregate functions: unite the lineage of every row of a group.   [Zhang 2007, §3.3, aggregation]

γ_{G; f}(V)  →  γ_{G; f, dlunion(__dl_t) for each t}(V')
Holds for rollup, cube and grouping sets as well: there Spark repeats each row once a grouping set, with its hidden
columns.
A row that an as-of join takes of a group has its own lineage: `rewrites.nearest`.
Requires: `block.rows` and `block.constants` are complete: the rows of FROM … WHERE … and what their subqueries read.
Ensures:  user columns unchanged; `block.rows` is one set a group and table; a block that does not group stays as it is.
Nulls:    a global group over no rows has the empty lineage, not NULL.
Raises:   nothing.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import nearest, witnesses
from rewrites.block import Block
from rewrites.terms import Kind, Lineage, Term, call, merge, over_rows


def apply(block: Block) -> None:
    """Replace the lineage of rows by the lineage of groups, if the block groups."""
    block.claim("group")
    if not block.groups_rows:
        return
    one = nearest.of_group(block)
    if one is not None:
        block.rows = one
    elif witnesses.is_marked(block.select):
        block.rows = witnesses.of_groups(block.select, block.rows)
    else:
        block.rows = {table: over_rows(terms) for table, terms in block.rows.items()}
    if not block.select.args.get("group"):
        block.constants = {table: [_if_any_row(term) for term in terms] for table, terms in block.constants.items()}
    block.rows = merge(block.rows, block.constants)
    block.constants = Lineage()


def _if_any_row(term: Term) -> Term:
    """A predicate that was asked for no row contributes to no row; the global group exists all the same."""
    any_row = exp.GT(this=call("count", exp.Literal.number(1)), expression=exp.Literal.number(0))
    return Term(exp.Case(ifs=[exp.If(this=any_row, true=term.value)]), Kind.SET, nullable=True)
