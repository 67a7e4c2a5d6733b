"""LEFT SEMI and LEFT ANTI JOIN: the row is the left one; the right side only decided.   [Zhang 2007, §3.4]

V ⋉ W   data: V's lineage, the block as it is.
        control: + the right rows that matched, i.e. those that EXISTS (SELECT * FROM W WHERE on) would see
V ▷ W   V's lineage under both: no right row matched.
Subqueries in ON count with the right rows that matched, as they do in WHERE of that EXISTS.
Requires: FROM is rewritten: `block.scope` says which sides are seen by the ON of a SEMI or ANTI JOIN alone.
Ensures:  user columns unchanged; at most one more source in FROM, of no columns of the user's.
Nulls:    a NULL key matches nothing: no right row is added.
Raises:   NotTracedError where the sides of USING are ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from rewrites import hoisting
from rewrites.block import Block
from rewrites.environment import Semantics
from rewrites.refusals import refuse
from rewrites.rules.subqueries import make_run, own_queries
from rewrites.scope import FromItem
from rewrites.terms import as_one, column, hidden_column, merge, name, named, over_rows


def apply(block: Block) -> None:
    """Under control semantics add the rows that matched."""
    if block.env.semantics is not Semantics.CONTROL or not block.env.tracing:
        return
    for join, left, right in list(_semi_joins(block)):
        if any(item.hidden for item in right):
            _add_matched_rows(join, left, right, block)


def _semi_joins(block: Block) -> Iterator[tuple[exp.Join, list[FromItem], list[FromItem]]]:
    """Yield each semi join with the sources on its left and on its right."""
    items = block.scope.from_items
    for join in {id(item.only_on): item.only_on for item in items if item.only_on is not None}.values():
        places = [place for place, item in enumerate(items) if item.only_on is join]
        if join.kind == "SEMI":
            left = [item for item in items[: places[0]] if item.in_star]
            yield join, left, [items[place] for place in places]


def _add_matched_rows(join: exp.Join, left: list[FromItem], right: list[FromItem], block: Block) -> None:
    matching = merge(*(replace(item, traced=True).lineage() for item in right))
    unions = [named(as_one(over_rows(terms)).value, hidden_column(table)) for table, terms in matching.items()]
    matched = exp.Select(expressions=unions).from_(join.this.copy()).where(_condition(join, left, right, block))
    block.rows = merge(block.rows, hoisting.correlated(matched, block))


def _condition(join: exp.Join, left: list[FromItem], right: list[FromItem], block: Block) -> exp.Expr:
    using = join.args.get("using") or []
    if not using:
        on = join.args.get("on")
        return _standing_alone(on.copy(), [*left, *right], join, block) if on is not None else exp.true()
    equalities = [exp.EQ(this=_owner(key.name, left, join), expression=_owner(key.name, right, join)) for key in using]
    return exp.and_(*equalities)


def _standing_alone(on: exp.Expr, items: list[FromItem], join: exp.Join, block: Block) -> exp.Expr:
    """Make a condition mean the same behind all of FROM: other sources there may have the bare names too."""
    holder = exp.Where(this=on)
    for query in list(own_queries(holder)):
        make_run(query, block, join)
    on = holder.this
    for node in list(on.walk(prune=lambda inner: isinstance(inner, exp.Query))):
        if isinstance(node, exp.Column) and not node.table:
            owners = [item for item in items if item.has(node.name)]
            if len(owners) == 1:
                node.set("table", name(owners[0].alias))
    return on


def _owner(key: str, items: list[FromItem], join: exp.Join) -> exp.Column:
    owners = [item for item in items if item.has(key)]
    if len(owners) != 1:
        refuse(join, f"{key} stands in several relations on one side of this SEMI JOIN", "Use ON.")
    return column(owners[0].alias, key)
