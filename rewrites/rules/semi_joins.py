"""LEFT SEMI and LEFT ANTI JOIN: the row is the left one; the right side only decided.

data:     the left row's lineage.
control:  semi: + the right rows that matched it, i.e. those that EXISTS (SELECT * FROM right WHERE on) would see.
          anti: nothing, since no right row matched. Subqueries in ON count with the right rows that matched, as
          they do in WHERE of that EXISTS.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import Semantics
from rewrites.refusals import refuse
from rewrites.rules import hoisting
from rewrites.rules.subqueries import make_run, own_queries
from rewrites.scope import FromItem
from rewrites.terms import as_one, column, hidden_column, merge, name, named, over_rows


def apply(join: exp.Join, right: list[FromItem], block: Block) -> None:
    """Keep the right side out of the rows; under control semantics add the rows that matched."""
    left = [relation for relation in block.scope.relations if relation.in_star and relation not in right]
    control = block.env.semantics is Semantics.CONTROL and block.env.tracing
    if control and join.kind == "SEMI" and any(one.hidden for one in right):
        block.after_from.append(lambda: _matched_rows(join, left, right, block))
    for relation in right:
        relation.only_on = join
        relation.traced = False


def _matched_rows(join: exp.Join, left: list[FromItem], right: list[FromItem], block: Block) -> None:
    matching = merge(*(replace(relation, traced=True).lineage() for relation in right))
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


def _standing_alone(on: exp.Expr, relations: list[FromItem], join: exp.Join, block: Block) -> exp.Expr:
    """Make a condition mean the same behind all of FROM: other relations there may have the bare names too."""
    holder = exp.Where(this=on)
    for query in list(own_queries(holder)):
        make_run(query, block, join)
    on = holder.this
    for node in list(on.walk(prune=lambda inner: isinstance(inner, exp.Query))):
        if isinstance(node, exp.Column) and not node.table:
            owners = [relation for relation in relations if relation.has(node.name)]
            if len(owners) == 1:
                node.set("table", name(owners[0].alias))
    return on


def _owner(key: str, relations: list[FromItem], join: exp.Join) -> exp.Column:
    owners = [relation for relation in relations if relation.has(key)]
    if len(owners) != 1:
        refuse(join, f"{key} stands in several relations on one side of this SEMI JOIN", "Use ON.")
    return column(owners[0].alias, key)
