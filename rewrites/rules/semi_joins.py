"""LEFT SEMI and LEFT ANTI JOIN: the row is the left one; the right side only decided.

data:     the left row's lineage.
control:  semi: + the right rows that matched it, i.e. those that EXISTS (SELECT * FROM right WHERE on) would see.
          anti: nothing, since no right row matched.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import Semantics
from rewrites.refusals import refuse
from rewrites.rules import hoisting
from rewrites.scope import Relation
from rewrites.terms import call, column, hidden_column, merge, named


def apply(join: exp.Join, right: list[Relation], block: Block) -> None:
    """Keep the right side out of the rows; under control semantics add the rows that matched."""
    left = [relation for relation in block.scope.relations if relation not in right]
    if block.env.semantics is Semantics.CONTROL and join.kind == "SEMI" and any(one.hidden for one in right):
        if len(right) > 1 or join.method == "NATURAL":
            refuse(join, "This SEMI JOIN is not traced under control semantics", "Spell it as WHERE EXISTS (SELECT …).")
        block.after_from.append(lambda: _matched_rows(join, left, right[0], block))
    for relation in right:
        relation.in_star = False
        relation.traced = False


def _matched_rows(join: exp.Join, left: list[Relation], right: Relation, block: Block) -> None:
    unions = [
        named(call("dlunion", column(right.alias, hidden_column(table))), hidden_column(table))
        for table in right.hidden
    ]
    matched = exp.Select(expressions=unions).from_(join.this.copy()).where(_condition(join, left, right))
    block.rows = merge(block.rows, hoisting.correlated(matched, block))


def _condition(join: exp.Join, left: list[Relation], right: Relation) -> exp.Expr:
    using = join.args.get("using") or []
    if not using:
        on = join.args.get("on")
        return on.copy() if on is not None else exp.true()
    equalities: list[exp.Expr] = []
    for identifier in using:
        owners = [relation for relation in left if relation.in_star and relation.has(identifier.name)]
        if len(owners) != 1:
            refuse(join, f"{identifier.name} stands in several relations on the left of this SEMI JOIN", "Use ON.")
        equalities.append(
            exp.EQ(this=column(owners[0].alias, identifier.name), expression=column(right.alias, identifier.name))
        )
    return exp.and_(*equalities)
