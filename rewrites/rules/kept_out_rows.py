"""Groups: what kept further rows out of them.   [extends Zhang 2007, §3.4]

SELECT k, f(x) FROM V WHERE p GROUP BY k, where p asks a subquery or the padding of an outer join, here or in V's text
→  SELECT q.* EXCEPT (h) FROM (SELECT k, f(x), k AS h FROM V WHERE p GROUP BY k) q
   LEFT JOIN (SELECT k AS h FROM V WHERE p IS NOT NULL OR true GROUP BY k) o ON q.h <=> o.h
The lineage of a group then has the rows that p was asked about, and what it found for them (`rewrites.filtered_rows`).
Requires: WITH is bound, DISTINCT taken away; nothing of the query is rewritten yet.
Ensures:  rows and columns are the query's: o has one row a key; ORDER BY, SORT BY, LIMIT … stay outermost.
Nulls:    NULL equals NULL, as in GROUP BY.
Raises:   NotTracedError for keys or conditions by chance, and where names of a WITH clause hide one another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from rewrites import hoisting, outermost
from rewrites.aliases import listed, output_name
from rewrites.block import GROUPING_SETS, has_grouping_sets, is_aggregate
from rewrites.environment import Environment, TracedQuery
from rewrites.filtered_rows import let_in
from rewrites.non_monotonic import Reading, Source, definition_of
from rewrites.ordering import order_helpers
from rewrites.rules.one_pass import NotInOnePassError, in_one_pass
from rewrites.stages import ONCE
from rewrites.terms import call, column, derived_table, named

_DONE = "kept_out_rows"
"""In the `meta` of the two queries that this rule has made."""
_DROPPED = ("having", "qualify", "windows", "distinct", *outermost.CLAUSES)


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Join the groups with what kept rows out of them."""
    if not isinstance(query, exp.Select) or not env.counts_what_decides or query.meta.get(_DONE):
        return None
    if not Reading(query, env).is_grouped:
        return None
    keys = list(dict.fromkeys(_keys(query)))
    same = () if has_grouping_sets(query.args.get("group")) else keys  # which all rows of a group have
    asked = query.copy()
    if any(key.find(exp.Star) for key in keys) or not let_in(asked, env, same, always=_has_rows(query)):
        return None
    hoisting.refuse_unrepeatable(asked)
    traced = _in_one_pass(query, asked, env) or env.rewrite(_joined(query.copy(), asked, keys, env), env)
    return None if traced.correlated else traced  # a correlated subquery that decides counts as a whole


def _has_rows(query: exp.Select) -> bool:
    """Say whether each group has a row: one that is all rows may have none."""
    return query.args.get("group") is not None


def _in_one_pass(query: exp.Select, asked: exp.Select, env: Environment) -> TracedQuery | None:
    """Return the groups of the rows that were asked about, cut to the user's, where one block can tell both."""
    both = in_one_pass(query, asked, env)
    if both is None:
        return None
    both.meta[_DONE] = True
    named, stages = env.names.count, dict(env.stages or {})
    try:
        return env.rewrite(both, env)
    except NotInOnePassError:
        env.names.count = named
        if env.stages is not None:
            env.stages.clear()
            env.stages.update(stages)
        return None


def _joined(query: exp.Select, asked: exp.Select, keys: list[exp.Expr], env: Environment) -> exp.Select:
    """Return the query's groups, each beside the group of all rows that were asked about."""
    outside = outermost.take(query)
    groups, others = env.names.fresh("q"), env.names.fresh("o")
    helpers = {env.names.fresh("h"): key for key in _with_set(keys, query)}
    ordering = dict(order_helpers(query, outside, env))
    behind = {alias: _behind(key, query, env) for alias, key in helpers.items()}
    for alias, value in (*behind.items(), *ordering.items()):
        query.append("expressions", named(value.copy(), alias))
    query.meta[_DONE] = asked.meta[_DONE] = True
    star = exp.Star(except_=[exp.column(each) for each in (*helpers, *ordering)])
    result = exp.Select(expressions=[exp.Column(this=star, table=exp.to_identifier(groups))])
    left, right = derived_table(query, groups), derived_table(_by_key(asked, helpers, env), others)
    left.meta[ONCE] = right.meta[ONCE] = True  # both have one row a key
    result.from_(left, copy=False)
    same = [exp.NullSafeEQ(this=column(groups, each), expression=column(others, each)) for each in helpers]
    on = exp.and_(*same, copy=False) if same else exp.true()
    result.join(right, on=on, join_type="LEFT", copy=False)
    outermost.put(result, outside)
    return result


def _behind(key: exp.Expr, query: exp.Select, env: Environment) -> exp.Expr:
    """Return what a key's name is an alias of: beside windows and HAVING Spark finds no alias in the select list."""
    if not isinstance(key, exp.Column) or key.table:
        return key
    called = key.name.lower()
    known = [_columns_of(each, env) for each in Reading(query, env).sources]
    known += [listed(each) for each in query.args.get("laterals") or []]
    if any(not each or called in map(str.lower, each) for each in known):
        return key
    items = [each for each in query.expressions if isinstance(each, exp.Alias) and each.alias.lower() == called]
    return items[0].this if len(items) == 1 else key


def _columns_of(source: Source, env: Environment) -> Collection[str]:
    """Return the names of a source's columns; none if nobody knows them."""
    if source.columns is not None or source.node.args.get("pivots"):
        return source.columns or ()
    definition = definition_of(source.node, env)
    return listed(source.node) or (definition and (definition.columns or _named(definition.query))) or ()


def _named(query: exp.Query) -> list[str]:
    """Return the names of a query's columns if each has one, else none."""
    if not isinstance(query, exp.Select) or query.is_star:
        return []
    names = [output_name(item) for item in query.expressions]
    return names if all(names) else []


def _by_key(asked: exp.Select, helpers: dict[str, exp.Expr], env: Environment) -> exp.Select:
    """Return one row for each key of the rows that were asked about, with the values of the keys."""
    mentioned = {node.name.lower() for key in helpers.values() for node in key.find_all(exp.Column) if not node.table}
    aliases = [
        item for item in asked.expressions if isinstance(item, exp.Alias) and item.alias.lower() in mentioned
    ]  # of which Spark makes a key's value, unless a column has the name
    keys = [named(value.copy(), alias) for alias, value in helpers.items()]
    group = _numbers_written_out(asked)
    for clause in _DROPPED:
        asked.set(clause, None)
    if not keys:  # all rows are one group
        keys = [named(call("count", exp.Literal.number(1)), env.names.fresh("n"))]
    asked.set("group", group)
    asked.set("expressions", [*aliases, *keys])
    if group is None or not has_grouping_sets(group):
        return asked
    inner = env.names.fresh("g")  # a set that is given twice has its groups twice
    again = exp.Select(expressions=[column(inner, alias) for alias in helpers]).from_(derived_table(asked, inner))
    return again.group_by(*(column(inner, alias) for alias in helpers))


def _numbers_written_out(select: exp.Select) -> exp.Group | None:
    group = select.args.get("group")
    if not isinstance(group, exp.Group):
        return None
    if group.args.get("all"):
        return exp.Group(expressions=[key.copy() for key in _keys(select) if not isinstance(key, exp.Literal)])
    for node in list(group.find_all(exp.Literal)):
        if isinstance(node.parent, exp.Group | exp.Tuple | exp.Paren | exp.Rollup | exp.Cube):
            node.replace(_meant(node, select).copy())
    return group


def _meant(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return the item of the select list that a number stands for; what is no such number as it is."""
    place = int(key.name) if isinstance(key, exp.Literal) and key.is_int else 0
    return select.expressions[place - 1].unalias() if 0 < place <= len(select.expressions) else key


def _keys(select: exp.Select) -> Iterator[exp.Expr]:
    group = select.args.get("group")
    if group is not None and group.args.get("all"):
        for item in select.expressions:
            if not any(isinstance(node, exp.Window) or is_aggregate(node) for node in item.walk()):
                yield item.unalias()
    elif group is not None:
        for each in (*group.expressions, *(group.args.get("grouping_sets") or ())):
            yield from _keys_in(each, select)


def _keys_in(node: exp.Expr, select: exp.Select) -> Iterator[exp.Expr]:
    if isinstance(node, (exp.Tuple, *GROUPING_SETS)):
        for each in node.expressions:
            yield from _keys_in(each, select)
    elif isinstance(node, exp.Paren):
        yield from _keys_in(node.this, select)
    else:
        yield _meant(node, select)


def _with_set(keys: list[exp.Expr], query: exp.Select) -> list[exp.Expr]:
    return [*keys, call("grouping_id")] if has_grouping_sets(query.args.get("group")) else keys
