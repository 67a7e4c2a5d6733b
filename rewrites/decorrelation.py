"""A correlated subquery whose condition is more than equalities, in a form that Spark evaluates once a key.

    (SELECT dlunion(id) FROM s WHERE s.k = t.k AND s.v <> t.v)
    →  dl_union(transform(filter(l.rows, x -> x.c1 <> t.v), x -> x.d1))
       FROM … LEFT JOIN (SELECT s.k AS key1, collect_list(named_struct('c1', s.v, 'd1', id)) AS rows
                         FROM s GROUP BY s.k) AS l ON l.key1 = t.k

Spark itself joins s with every distinct t.v there is before it looks at k: TPC-H Q21 at scale factor 1 would go
through 2.4 billion rows for 6 million. (A scalar subquery cannot be an argument of `filter`; LATERAL would make Spark
compute all combinations of FROM first, to find out which keys there may be.)

A condition that is asked elsewhere must be the same one there. What Spark makes of a comparison depends on where it
stands:
- It pads columns of type CHAR, of different lengths, where it sees that columns are compared. So a key is compared as
  the column that it is. A column that goes into a struct is a field there: `dl_moved` refuses it if it is CHAR.
- Where it casts s.k before it compares, several keys may be equal to one t.k, '1' and '01' to 1: joined, they would
  give the outer row twice. `dl_alike` refuses such types.
Both are asked when the text is analysed, since the rules know only some types. What is refused, or is known to be, is
rewritten without moving a condition: Spark then asks it where the user does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewrites import stages
from rewrites.block import Block
from rewrites.conditions import conjuncts
from rewrites.lineage_functions import DL_ALIKE, DL_MOVED, dl_union, is_dlunion
from rewrites.scope import FromItem, blocks_out, moved_out, type_of
from rewrites.terms import HIDDEN_PREFIX, Kind, Lineage, Term, call, column, derived_table, hidden_column, named

_ROWS = "rows"
_VALUE = "its value"  # of no table, most likely
#: Types that are compared without making equal what differs; others only each with itself. As `dl_alike` has them.
_APART = (("tinyint", "smallint", "int", "bigint"), ("float", "double"))
#: What a condition must not have in it: not to be moved, or with names of its own.
_STAYS = (exp.Query, exp.Lambda, exp.Window)
_ELSEWHERE = ("from_", "joins", "laterals", "expressions")


@dataclass(frozen=True)
class Joined:
    """The values that a relation of one row a key, joined to a block, says of each row of the block.

    Attributes:
        lineage: what its rows of the subquery are made of.
        found: an expression: whether it has any.
        value: the value of the subquery, if that was asked for; NULL if it has none.
    """

    lineage: Lineage
    found: exp.Expr
    value: exp.Expr


@dataclass
class Conditions:
    """The WHERE of a subquery: what it decides alone; equalities as (its own side, the outer side); the rest."""

    inside: list[exp.Expr]
    equalities: list[tuple[exp.Expr, exp.Expr]]
    other: list[exp.Expr]


def as_join(one_row: exp.Select, block: Block) -> Lineage | None:
    """Join the candidates of each key to the block, and return what an outer row takes from its own as terms.

    Args:
        one_row: a correlated one-row query; its projections are `dlunion(…)` under the names of hidden columns.
        block: the block around it.

    Returns:
        None, and nothing is done, where Spark does as well by itself (equalities alone, unless in a set operation), or
        cannot do better (none).
    """
    conditions = conditions_of(one_row, block)
    if conditions is None or not (conditions.other or block.env.in_set_operation):
        return None
    return join(one_row, conditions, block).lineage


def conditions_of(one_row: exp.Select, block: Block) -> Conditions | None:
    """Return the conditions of a correlated one-row query; None where they are not those of a join by keys."""
    if not block.env.moves_conditions:
        return None
    conditions = _conditions(one_row)
    if conditions is None or not conditions.equalities or not _can_join(block):
        return None
    if not all(_may_be_alike(*sides) for sides in conditions.equalities):
        return None
    return conditions if all(_is_union(projection.this) for projection in one_row.expressions) else None


def join(one_row: exp.Select, conditions: Conditions, block: Block, value: exp.Expr | None = None) -> Joined:
    """Join the rows of each key to the block.

    Args:
        one_row: see `as_join`.
        conditions: those of its WHERE.
        block: the block around it.
        value: an aggregate over the rows of a key; only where equalities are all there is.
    """
    unions = [projection.copy() for projection in one_row.expressions]
    tables = [projection.alias.removeprefix(HIDDEN_PREFIX) for projection in unions]
    if conditions.other:
        return _filtered(one_row, conditions, dict(zip(tables, unions, strict=True)), block)
    alias = block.env.names.fresh("s")
    values = [] if value is None else [named(value, hidden_column(_VALUE))]
    # Where equalities are all there is, the union is the same for all outer rows of a key: they may refer to it.
    query, hidden = stages.referred(_by_key(one_row, conditions, [*unions, *values]), tables, block.env)
    _join(query, alias, conditions, [*hidden, *([] if value is None else [_VALUE])], block)
    of_key = {key: [Term(column(alias, hidden_column(key)), kind, nullable=True)] for key, kind in hidden.items()}
    return Joined(of_key, _is_not_null(column(alias, hidden_column(_key(0)))), column(alias, hidden_column(_VALUE)))


def _filtered(one_row: exp.Select, conditions: Conditions, unions: dict[str, exp.Expr], block: Block) -> Joined:
    """Each outer row takes those of its key for which the other conditions hold."""
    variable, alias = block.env.names.fresh("x"), block.env.names.fresh("s")
    fields: dict[str, exp.Expr] = {}
    test = exp.and_(*(_of_variable(condition, variable, fields) for condition in conditions.other), copy=False)
    taken = {table: f"d{place}" for place, table in enumerate(unions, 1)}
    fields |= {taken[table]: union.this.expressions[0].copy() for table, union in unions.items()}
    _join(_candidates(one_row, conditions, fields), alias, conditions, [_ROWS], block)
    matching = call("filter", column(alias, hidden_column(_ROWS)), _function(variable, test))
    lineage = {table: [Term(_united(matching.copy(), variable, field), Kind.SET)] for table, field in taken.items()}
    size = exp.GT(this=call("size", matching), expression=exp.Literal.number(0))
    return Joined(lineage, call("coalesce", size, exp.false()), exp.null())


def _is_not_null(value: exp.Expr) -> exp.Paren:
    return exp.Paren(this=exp.Not(this=exp.Is(this=value, expression=exp.Null())))


def _conditions(one_row: exp.Select) -> Conditions | None:
    """Sort the conjuncts of WHERE; None if the subquery mentions an outer row elsewhere, or in a way that must stay."""
    where = one_row.args.get("where")
    elsewhere = (node for clause in _ELSEWHERE for node in _nodes(one_row.args.get(clause)))
    if where is None or any(map(blocks_out, elsewhere)):
        return None
    found = Conditions([], [], [])
    for conjunct in conjuncts(where.this):
        reach = max(map(blocks_out, conjunct.walk()))
        sides = _sides(conjunct)
        if reach == 0:
            found.inside.append(conjunct)
        elif reach > 1 or any(isinstance(node, _STAYS) for node in conjunct.walk()):
            return None
        elif sides is not None:
            found.equalities.append(sides)
        else:
            found.other.append(conjunct)
    return found


def _can_join(block: Block) -> bool:
    """Say whether a join behind FROM sees all sources: it does not see lateral views."""
    return bool(block.select.args.get("from_")) and not block.select.args.get("laterals")


def _nodes(clause: object) -> Iterator[exp.Expr]:
    for root in clause if isinstance(clause, list) else [clause]:
        if isinstance(root, exp.Expr):
            yield from root.walk()


def _sides(conjunct: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the subquery's and the outer row's side of an equality, if each has columns of its own only."""
    bare = conjunct.unnest()
    if not isinstance(bare, exp.EQ):
        return None
    left, right = ({blocks_out(node) for node in side.find_all(exp.Column)} for side in (bare.this, bare.expression))
    if (left, right) == ({0}, {1}):
        return bare.this, bare.expression
    if (left, right) == ({1}, {0}):
        return bare.expression, bare.this
    return None


def _is_union(projection: exp.Expr) -> bool:
    return is_dlunion(projection) and not any(isinstance(node, exp.Query) for node in projection.walk())


def _of_variable(condition: exp.Expr, variable: str, fields: dict[str, exp.Expr]) -> exp.Expr:
    """Return a condition over an element of the list; note in `fields` which columns the elements need."""
    condition = condition.unnest().copy()
    for node in [node for node in condition.find_all(exp.Column) if not blocks_out(node)]:
        known = next((field for field, value in fields.items() if value.expressions[0] == node), None)
        field = known or f"c{len(fields) + 1}"
        fields[field] = call(DL_MOVED, node.copy())
        node.replace(column(variable, field))
    return exp.Paren(this=moved_out(condition))


def _key(place: int) -> str:
    return f"key{place + 1}"


def _candidates(one_row: exp.Select, conditions: Conditions, fields: dict[str, exp.Expr]) -> exp.Select:
    struct = call("named_struct", *(part for field in fields for part in (exp.Literal.string(field), fields[field])))
    return _by_key(one_row, conditions, [named(call("collect_list", struct), hidden_column(_ROWS))])


def _by_key(one_row: exp.Select, conditions: Conditions, aggregates: list[exp.Expr]) -> exp.Select:
    query = one_row.copy()
    query.set("where", None)
    query = query.where(*(condition.copy() for condition in conditions.inside), copy=False)
    keys = [inner.copy() for inner, _ in conditions.equalities]
    named_keys = [named(key, hidden_column(_key(place))) for place, key in enumerate(keys)]
    query.set("expressions", [*named_keys, *aggregates])
    query.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    return query


def _join(candidates: exp.Select, alias: str, conditions: Conditions, carried: Sequence[str], block: Block) -> None:
    """At most one row joins each row of the block: its keys are those of a grouping."""
    same = [
        _same(column(alias, hidden_column(_key(place))), moved_out(outer))
        for place, (_, outer) in enumerate(conditions.equalities)
    ]
    joined = exp.Join(this=derived_table(candidates, alias), side="LEFT", on=exp.and_(*same, copy=False))
    block.select.append("joins", joined)
    hidden = dict.fromkeys([*(_key(place) for place in range(len(same))), *carried], Kind.SET)
    block.scope.from_items.append(FromItem(alias, (), hidden, traced=False))


def _same(key: exp.Expr, outer: exp.Expr) -> exp.Expr:
    """Return an equality with a key, of columns where they are columns; refused where several keys may equal one."""
    alike = call(DL_ALIKE, key.copy(), outer.copy())
    return exp.and_(exp.EQ(this=key, expression=outer), alike, copy=False)


def _may_be_alike(inner: exp.Expr, outer: exp.Expr) -> bool:
    """Say whether, by what is known of types, values that differ may be equal only where `dl_alike` refuses them."""
    one, other = type_of(inner), type_of(outer)
    return one is None or other is None or one == other or any({one, other} <= set(family) for family in _APART)


def _united(matching: exp.Expr, variable: str, field: str) -> exp.Expr:
    return dl_union(call("transform", matching, _function(variable, column(variable, field))))


def _function(variable: str, body: exp.Expr) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(variable)])
