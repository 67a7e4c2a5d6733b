"""A predicate's subquery that its lineage answers, too: evaluated once, not again.   [Zhang 2007, §3.4, Q8 → Q9]

    … WHERE EXISTS (SELECT * FROM s WHERE s.k = t.k AND p)
    →  … LEFT JOIN (SELECT s.k AS key1, dlunion(id) AS d FROM s WHERE p GROUP BY s.k) AS l ON l.key1 = t.k
       WHERE l.key1 IS NOT NULL
    … WHERE t.v < (SELECT 0.2 * avg(s.v) FROM s WHERE s.k = t.k)
    →  … the same with 0.2 * avg(s.v) AS a beside the lineage, WHERE t.v < l.a

Requires: under control semantics the rows of the subquery count. It is correlated, by equalities, and stands in WHERE.
          EXISTS may have other conditions beside them, see `decorrelation`.
Ensures:  rows as before: one row joins at most, and whether one does, or its value, is what the subquery would say.
          Columns are compared whose types are known and make equal only what is equal; else the subquery stays.
Nulls:    EXISTS is never NULL; a value over no rows is: of what gives another one (count) the subquery stays.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import decorrelation, stages
from rewrites.block import Block, is_aggregate
from rewrites.environment import TracedQuery
from rewrites.scope import type_of
from rewrites.sources import merging
from rewrites.terms import HIDDEN_PREFIX, Kind, Lineage, Term, call, name, named

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_COMPARED_AS_THEY_ARE = ("string", "date", "boolean", "timestamp", "timestamp_ntz")
_DECIMAL = "decimal("
#: Aggregates that are NULL over no rows, and what is NULL of a NULL.
_NULL_OVER_NONE = ("avg", "max", "min", "sum")
_STRICT = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren, exp.Literal)
_MAKES_ROWS = ("group", "laterals")
_PREDICATES = (exp.Exists, exp.In, exp.Any, exp.All)
_VALUE, _SETS = "value", "dl"


def answered(query: exp.Query, one_row: exp.Select, traced: TracedQuery, block: Block) -> Lineage | None:
    """Let the lineage of a correlated subquery in WHERE answer for it, in its place.

    Args:
        query: the subquery where it stands; what it stands for is put there.
        one_row: its lineage, see `hoisting.all_rows`.
        traced: the subquery with lineage.
        block: the block around it.

    Returns:
        The lineage that it adds to a row of the block; None, and nothing is done, where that cannot answer.
    """
    conditions = decorrelation.conditions_of(one_row, block)
    if conditions is None or not all(_alike(inner, outer) for inner, outer in conditions.equalities):
        return None
    if any(merging(select) for select in (block.select, one_row)) or any(map(traced.tree.args.get, _MAKES_ROWS)):
        return None
    users = traced.tree.selects[: -len(traced.hidden)]
    if isinstance(query.parent, exp.Exists) and _leaves_rows(users):
        joined = decorrelation.join(one_row, conditions, block)
        query.parent.replace(joined.found)
        return joined.lineage
    if isinstance(query, exp.Subquery) and not conditions.other and _is_null_over_none(query, users):
        joined = decorrelation.join(one_row, conditions, block, users[0].unalias().copy())
        query.replace(joined.value)
        return joined.lineage
    return None


def answered_once(query: exp.Query, one_row: exp.Select, traced: TracedQuery) -> Lineage | None:
    """Let one row, of the value of an aggregate and of its lineage, be both: the same scalar subquery in all places.

    Args:
        query: a scalar subquery where it stands; what it stands for is put there.
        one_row: its lineage, see `hoisting.all_rows`.
        traced: the subquery with lineage, not correlated.

    Returns:
        The lineage, one value for the whole query; None, and nothing is done, where it may have no row, or several.
    """
    tree = traced.tree
    if not isinstance(query, exp.Subquery) or isinstance(query.parent, _PREDICATES) or not isinstance(tree, exp.Select):
        return None
    if tree.args.get("group") or one_row.args.get("from_") != tree.args.get("from_"):
        return None  # of groups, or of what is behind its rows: `hoisting.all_rows` reads it from outside
    value, *others = (item.unalias() for item in tree.expressions[: -len(traced.hidden)])
    if others or not any(map(is_aggregate, value.walk())):
        return None
    sets = call("array", *(projection.this for projection in one_row.expressions))
    both = call("named_struct", exp.Literal.string(_VALUE), value.copy(), exp.Literal.string(_SETS), sets)
    tables = [projection.alias.removeprefix(HIDDEN_PREFIX) for projection in one_row.expressions]
    one_row.set("expressions", [named(both, "dl")])
    query.replace(_field(one_row, _VALUE))
    return {
        table: [Term(exp.Bracket(this=_field(one_row, _SETS), expressions=[exp.Literal.number(place)]), Kind.SET)]
        for place, table in enumerate(tables)
    }


def asked_once(query: exp.Query, traced: TracedQuery, block: Block) -> exp.Select | None:
    """Make a stage of a subquery of the outermost block, which reads it then, like its lineage.

    Only if a subquery is long to compute, with groups or with subqueries of its own: reading rows from a table again is
    faster. And only beside base tables: Spark takes columns away from two CTEs that read one another's rows in
    subqueries.

    Args:
        query: an uncorrelated subquery where it stands; made to read the stage.
        traced: the subquery with lineage.
        block: the block around it.

    Returns:
        The query that reads the lineage of its rows; None, and nothing is done, where it is to be evaluated again.
    """
    if not _reads_stages(block) or not stages.can_move(traced.tree, block.env):
        return None
    if Kind.SET not in traced.hidden.values() and not any(map(_asks, traced.tree.find_all(exp.Select))):
        return None
    hidden = dict(traced.hidden)
    constants = _taken_out(traced.tree, hidden)
    users, lineage = stages.answering(stages.add(traced.tree, hidden, block.env))
    (query.this if isinstance(query, exp.Subquery) else query).replace(users)
    for each in constants:
        lineage.append("expressions", each)
    return lineage


def _reads_stages(block: Block) -> bool:
    """Say whether a block may read a stage in a subquery: Spark takes one for chance, which it does not group by."""
    env, group = block.env, block.select.args.get("group")
    if not (env.shares_answers and block.outermost) or env.outer is not None or env.in_set_operation:
        return False
    if block.select.args.get("distinct") or (group is not None and group.args.get("all")):
        return False
    if any(isinstance(node, exp.Window) for node in block.own_nodes()):
        return False
    return all(item.node is None for item in block.scope.from_items)


def _taken_out(tree: exp.Query, hidden: dict[str, Kind]) -> list[exp.Expr]:
    """Take lineage that is one value for all rows out of a query: a stage would carry a copy in each row."""
    if not isinstance(tree, exp.Select) or tree.args.get("with_") or len(hidden) < 2:
        return []
    split = len(tree.expressions) - len(hidden)
    constants = [each for each in tree.expressions[split:] if isinstance(each.unalias(), exp.Subquery)]
    if len(constants) == len(hidden):
        return []
    tree.set("expressions", [each for each in tree.expressions if not any(each is one for one in constants)])
    for each in constants:
        del hidden[each.alias.removeprefix(HIDDEN_PREFIX)]
    return constants


def _asks(select: exp.Select) -> bool:
    where = select.args.get("where")
    return where is not None and where.find(exp.Query) is not None


def _field(one_row: exp.Select, field: str) -> exp.Dot:
    return exp.Dot(this=exp.Subquery(this=one_row.copy()), expression=name(field))


def _alike(one: exp.Expr, other: exp.Expr) -> bool:
    """Say whether two columns are equal only where their values are the same, to a grouping, too."""
    types = type_of(one), type_of(other)
    if None in types:
        return False
    if all(each in _INTEGERS for each in types):
        return True
    return types[0] == types[1] and (types[0] in _COMPARED_AS_THEY_ARE or str(types[0]).startswith(_DECIMAL))


def _leaves_rows(items: list[exp.Expr]) -> bool:
    """Say whether a select list makes a row of each row: an aggregate makes one of none, a generator none of one."""
    return not any(isinstance(node, exp.Anonymous) for item in items for node in item.walk())


def _is_null_over_none(query: exp.Subquery, items: list[exp.Expr]) -> bool:
    """Say whether a scalar subquery is one value, made of aggregates that are NULL over no rows by strict operators."""
    if len(items) != 1 or isinstance(query.parent, _PREDICATES):
        return False
    own = list(items[0].unalias().walk(prune=_is_plain_aggregate))
    aggregates = [node for node in own if _is_plain_aggregate(node)]
    return bool(aggregates) and all(isinstance(node, _STRICT) or node in aggregates for node in own)


def _is_plain_aggregate(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Anonymous)
        and is_aggregate(node)
        and node.name.lower() in _NULL_OVER_NONE
        and not isinstance(node.parent, exp.Filter)
        and not any(isinstance(inner, exp.Query) for inner in node.walk())
    )
