"""One row of a group, the nearest one, in place of all of them: what as-of joins of DataFrames are written with.

γ_{dl_nearest(row, d)}(V)  →  γ_{dl_nearest(row, d), min_by(__dl_t, d) for each t}(V')
Nothing of the other rows is in the result: it is a join with the row that matched. A `min_by` of the user's is made of
its whole group, as every aggregate is.
Requires: the block selects `dl_nearest` and nothing else.
Ensures:  `min_by` of all tables takes the row that `dl_nearest` takes: all see the same rows in the same order.
Nulls:    of no row, or of rows whose distance is NULL, the lineage is NULL: the row around it was joined with none.
Raises:   NotTracedError for `dl_nearest` beside something else.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.lineage_functions import DL_NEAREST
from rewrites.refusals import refuse
from rewrites.terms import Lineage, Term, as_one, call

_ALONE = {"expressions", "from_", "where"}


def of_group(block: Block) -> Lineage | None:
    """Return the lineage of the row that a block takes of its group; None: it takes none."""
    found = next((node for node in block.own_nodes() if _is_nearest(node)), None)
    if found is None:
        return None
    select = block.select
    clauses = {clause for clause, value in select.args.items() if value}
    if len(select.expressions) != 1 or select.expressions[0].unalias() is not found or not clauses <= _ALONE:
        refuse(
            found, f"{DL_NEAREST} beside something else is not traced", "Use min_by, whose lineage is the whole group."
        )
    return {table: [_taken(as_one(terms), found.expressions[1])] for table, terms in block.rows.items()}


def _is_nearest(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == DL_NEAREST


def _taken(term: Term, distance: exp.Expr) -> Term:
    return Term(call("min_by", term.value, distance.copy()), term.kind, nullable=True)
