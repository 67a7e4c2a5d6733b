"""Groups and what was kept out of them in one pass, not one for each.   [see `rules.kept_out_rows`]

SELECT k, f(x) AS a FROM V WHERE p GROUP BY k, where p asks a subquery that `answers` lets its lineage answer
→  SELECT k, f(x) FILTER (WHERE p) AS a FROM V WHERE p IS NOT NULL OR true GROUP BY k HAVING bool_or(p)
The same where V is a subquery in FROM with that WHERE: then p is a column of it.
Requires: `kept_out_rows` has let rows in, and said so in the `meta` of the query: p is loosened, and nothing else.
          Aggregates are of plain columns, so that nothing is computed of a row that p keeps out. An item with one has a
          name, which Spark would take from its text. Subqueries are answered for.
Ensures:  groups, values and names are the query's; a group's lineage is that of all rows that were asked about.
Nulls:    FILTER and HAVING take what is unknown for false, as WHERE does.
Raises:   NotInOnePassError where a subquery is left in p; `kept_out_rows` then takes two passes.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.block import Block, has_grouping_sets, is_aggregate
from rewrites.conditions import conjuncts
from rewrites.environment import Environment
from rewrites.relaxed_conditions import answer_of, is_loosened
from rewrites.terms import call, column, named
from udafs.errors import NotTracedError

_FILTERED = ("avg", "count", "max", "min", "sum")
_OF_GROUPS = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Paren, exp.Literal)
_NOT_HERE = ("having", "qualify", "windows", "distinct", "laterals", "sort", "cluster", "distribute")
_ONE_PASS = "one pass"
"""In the `meta` of a SELECT: an expression, whether a row is one of the user's; None: what its WHERE says."""
_KEPT = "kept"
"""In the `meta` of an item of a select list that is to say what the WHERE beside it says."""


class NotInOnePassError(NotTracedError):
    """Rows that were kept out cannot be told in the same pass; nothing is lost by another way."""


def in_one_pass(query: exp.Select, asked: exp.Select, env: Environment) -> exp.Select | None:
    """Return a query, with rows let in, that is to give the groups of both; None where that cannot be.

    Args:
        query: as the user wrote it.
        asked: the same with rows let in, see `kept_out.let_in`.
        env: gives the names.
    """
    if _flat(query) != _flat(asked, restored=True) or not _can_be_filtered(query):
        return None
    both = asked.copy()
    inside = [each for each in both.find_all(exp.Select) if any(True for _ in _loosened(each))]
    if len(inside) != 1:
        return None
    if inside[0] is both:
        both.meta[_ONE_PASS] = None
        return both
    source = inside[0].parent
    if not isinstance(source, exp.Subquery) or not _is_plain_source(source, both):
        return None
    flag = env.names.fresh("h")
    item = named(exp.false(), flag)
    item.meta[_KEPT] = True
    inside[0].append("expressions", item)
    both.meta[_ONE_PASS] = column(source.alias, flag)
    return both


def apply(block: Block) -> None:
    """Filter aggregates by what WHERE lets through though it is loosened; or say of each row whether it is let through.

    Raises:
        NotInOnePassError: a subquery is left in the condition, which would be asked for each aggregate.
    """
    for item in block.select.expressions:
        if isinstance(item, exp.Alias) and item.meta.get(_KEPT):
            item.set("this", _kept(block))
    if _ONE_PASS not in block.select.meta:
        return
    kept = block.select.meta[_ONE_PASS] or _kept(block)
    for node in list(_aggregates(block.select)):
        node.replace(exp.Filter(this=node.copy(), expression=exp.Where(this=kept.copy())))
    if block.select.args.get("group"):
        block.claim("having")
        block.select.having(call("bool_or", kept.copy()), copy=False)


def _kept(block: Block) -> exp.Expr:
    found = [answer_of(each).copy() for each in _loosened(block.select)]
    if not found or any(each.find(exp.Query) for each in found):
        what = "rows that were kept out of a group are told in a pass of their own"
        raise NotInOnePassError(what, instead="")
    return exp.Paren(this=exp.and_(*found, copy=False))


def _loosened(select: exp.Select) -> Iterator[exp.Expr]:
    where = select.args.get("where")
    return (each for each in conjuncts(where.this if where else None) if is_loosened(each))


def _flat(query: exp.Select, *, restored: bool = False) -> exp.Expr:
    """Return a copy whose conditions are lists of conjuncts; `restored`: as they were before they were loosened."""
    flat = query.copy()
    for where in list(flat.find_all(exp.Where)):
        each = [answer_of(one) if restored and is_loosened(one) else one for one in conjuncts(where.this)]
        where.set("this", exp.Tuple(expressions=[one.unnest().copy() for one in each]))
    return flat


def _is_plain_source(source: exp.Subquery, around: exp.Select) -> bool:
    """Say whether a subquery in FROM can have one more column."""
    inner = source.this
    if not isinstance(source.parent, exp.From | exp.Join) or source.find_ancestor(exp.Select) is not around:
        return False
    if not source.alias or source.alias_column_names or source.args.get("pivots") or source.args.get("sample"):
        return False
    return not any(inner.args.get(clause) for clause in (*_NOT_HERE, "group", "having", "limit", "offset"))


def _can_be_filtered(query: exp.Select) -> bool:
    """Say whether the query's values can be those of some rows of a group, and no error where there are none."""
    group = query.args.get("group")
    if any(query.args.get(clause) for clause in _NOT_HERE) or has_grouping_sets(group):
        return False
    if group is not None and group.args.get("all"):
        return False
    items = all(_is_plain(item) for item in query.selects)
    return items and all(_is_plain(key.this) for root in _roots(query, "order") for key in root.expressions)


def _is_plain(item: exp.Expr) -> bool:
    """Say whether an item is a column, or a named value made of nothing but aggregates of columns, and literals."""
    value = item.unalias()
    if isinstance(value, exp.Column):
        return not isinstance(value.this, exp.Star)
    own = list(value.walk(prune=_is_of_columns))
    divided = (node.expression for node in own if isinstance(node, exp.Div))
    if any(not isinstance(each, exp.Literal) or not each.name.strip("0.") for each in divided):
        return False
    return isinstance(item, exp.Alias) and all(isinstance(node, _OF_GROUPS) or _is_of_columns(node) for node in own)


def _is_of_columns(node: exp.Expr) -> bool:
    if not is_aggregate(node) or node.name.lower() not in _FILTERED or isinstance(node.parent, exp.Filter):
        return False
    return all(isinstance(each, exp.Column | exp.Star | exp.Literal) for each in node.expressions)


def _aggregates(select: exp.Select) -> Iterator[exp.Expr]:
    for item in select.expressions:
        yield from (node for node in item.walk() if is_aggregate(node))


def _roots(select: exp.Select, clause: str) -> list[exp.Expr]:
    value = select.args.get(clause)
    roots = value if isinstance(value, list) else [value]
    return [root for root in roots if isinstance(root, exp.Expr)]
