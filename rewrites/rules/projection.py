"""SELECT: append the lineage to the select list.   [Zhang 2007, §3.3, selection and projection]

SELECT a, …  →  SELECT a, …, <union of the terms of t> AS __dl_t, …
Requires: all lineage is collected; DISTINCT is answered for.
Ensures:  user columns come first, untouched. There is one hidden column for each traced table, an id where nothing
          forced a set. The block's yield is in `block.columns` and `block.hidden`. Without lineage the list does not
          change.
Nulls:    an id may be NULL, for no row; a set never is.
Raises:   nothing.
"""

from __future__ import annotations

from rewrites.aliases import output_name
from rewrites.block import Block
from rewrites.rules import stars
from rewrites.scope import Columns
from rewrites.terms import as_one, hidden_column, named


def apply(block: Block) -> None:
    """Append one hidden column per table, and note what the block yields."""
    block.claim("expressions")
    block.columns = _columns(block)
    for table, terms in block.lineage().items():
        one = as_one(terms)
        block.select.append("expressions", named(one.value, hidden_column(table)))
        block.hidden[table] = one.kind


def _columns(block: Block) -> Columns:
    """Return the names of the user's columns, stars opened where the columns of their sources are known."""
    found: list[str | None] = []
    for item in block.select.expressions:
        if stars.star_of(item) is None:
            found.append(output_name(item) or None)
            continue
        opened = stars.columns_of(item, block)
        if opened is None:
            return None
        found += opened
    return tuple(found)
