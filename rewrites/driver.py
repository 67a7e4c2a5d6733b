"""The order of the rules, and the recursion over a query.   [Zhang 2007, §3.3]

A query goes in; the same query, each of whose rows also carries its lineage, comes out. Whatever no rule answers for
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import Environment, Names, Semantics, TracedQuery
from rewrites.granules import Granules
from rewrites.lineage_on import resolve
from rewrites.refusals import refuse, refuse_others
from rewrites.rules import (
    aggregation,
    ctes,
    distinct,
    from_clause,
    names,
    projection,
    set_operations,
    stars,
    subqueries,
    windows,
)
from rewrites.scope import Columns, Scope
from rewrites.tables import Tables
from rewrites.terms import Kind, Lineage, Term, hidden_column, lineage_struct, name

BLOCK_RULES: tuple[Callable[[Block], None], ...] = (
    from_clause.apply,  # first: everything else asks which relations there are and what a row is made of
    names.apply,  # before subqueries: a bad name gets its own error, and only resolved names show correlation
    subqueries.apply,  # before aggregation: a predicate's rows belong to the rows that are grouped
    stars.apply,  # after subqueries, which may join one more relation with hidden columns
    aggregation.apply,  # before windows: a window function sees groups, not rows
    windows.apply,  # last of those that add lineage
)


@dataclass(frozen=True)
class RewrittenQuery:
    """A query whose last column is `DL`.

    Attributes:
        tree: the query.
        tables: the traced base tables, in the order of the fields of `DL`; when empty there is no such column.
        granules: base table → what its ids stand for, where LINEAGE ON asked for values instead of rows.
    """

    tree: exp.Query
    tables: tuple[str, ...]
    granules: Mapping[str, Granules]


def rewrite(
    query: exp.Query,
    tables: Tables,
    parse: Callable[[str], exp.Expr],
    *,
    semantics: Semantics = Semantics.DATA,
    chosen: Collection[str] | None = None,
    lineage_on: Sequence[exp.Expr] | None = None,
) -> RewrittenQuery:
    """Rewrite a whole query; the tree given is edited.

    Args:
        query: SELECT, set operation or parenthesised query, as parsed.
        tables: the registered tables.
        parse: reads the catalog's fragments of SQL.
        semantics: data or control lineage.
        chosen: names of the only tables to trace; None: every table.
        lineage_on: the expressions of LINEAGE ON, which says which tables are traced and how finely; None: no such
            clause.

    Raises:
        LineageError: an unknown name, or a construct that is not traced.
    """
    only = None if chosen is None else frozenset(table.lower() for table in chosen)
    granules = {} if lineage_on is None else resolve(lineage_on, query, tables, parse)
    if lineage_on is not None:
        only = frozenset(granules)
    taken = frozenset(node.name.lower() for node in query.find_all(exp.Identifier) if node.name.startswith("__"))
    env = Environment(tables, semantics, rewrite_query, parse, only, granules, names=Names(taken))
    with_clause, query, env = _bound(query, env, Scope())
    if isinstance(query, exp.Select) and not _distinct_apart(query):
        block = _run_rules(query, env)
        names.refuse_lineage_column(block)
        lineage = _of_result(block)
        projection.lineage_column(block, lineage)
        block.refuse_unclaimed()
        result: exp.Query = query
        traced = tuple(lineage)
    else:
        inner = _rewrite_bound(query, env)
        result = _with_lineage_column(inner, env)
        traced = tuple(inner.hidden)
    result.set("with_", with_clause)
    return RewrittenQuery(result, traced, {each.table.name: each for each in granules.values()})


def rewrite_query(query: exp.Query, env: Environment) -> TracedQuery:
    """Rewrite a nested query; its hidden columns are appended to its select list."""
    scope = Scope(env.outer, env.on)
    with_clause, query, env = _bound(query, env, scope)
    traced = _rewrite_bound(query, env)
    if with_clause is not None:
        traced.tree.set("with_", with_clause)
    return replace(traced, correlated=traced.correlated or scope.correlated)


def _bound(query: exp.Query, env: Environment, scope: Scope) -> tuple[exp.Expr | None, exp.Query, Environment]:
    """Take the WITH clause off a query and bind its names."""
    env = ctes.bind(query, env, scope)
    with_clause = query.args.get("with_")
    query.set("with_", None)
    return with_clause, query, env


def _rewrite_bound(query: exp.Query, env: Environment) -> TracedQuery:
    if isinstance(query, exp.Subquery):
        return _parenthesised(query, env)
    if isinstance(query, exp.Values):
        query = exp.Select(expressions=[exp.Star()]).from_(query)
    if isinstance(query, exp.SetOperation):
        return set_operations.rewrite(query, env)
    if not isinstance(query, exp.Select):
        refuse(query, f"{type(query).__name__.upper()} as a query is not traced", "Use SELECT … FROM.")
    if _distinct_apart(query):
        return distinct.in_derived_table(query, env)
    block = _run_rules(query, env)
    lineage = _of_result(block)
    columns = _column_names(query, block)
    hidden = projection.hidden_columns(block, lineage)
    block.refuse_unclaimed()
    return TracedQuery(query, columns, hidden, block.scope.correlated)


def _parenthesised(query: exp.Subquery, env: Environment) -> TracedQuery:
    refuse_others(query, ("this", "order", "limit", "offset", "sort", "cluster", "distribute"), "A parenthesised query")
    traced = env.rewrite(query.this, env)
    query.set("this", traced.tree)
    return replace(traced, tree=query)


def _distinct_apart(select: exp.Select) -> bool:
    clause = select.args.get("distinct")
    if clause is not None:
        refuse_others(clause, (), "DISTINCT")  # DISTINCT ON (…), which Spark does not have
    return clause is not None and distinct.needs_derived_table(select)


def _run_rules(select: exp.Select, env: Environment) -> Block:
    block = Block(select, env)
    for rule in BLOCK_RULES:
        rule(block)
    return block


def _of_result(block: Block) -> Lineage:
    """Return the lineage of a result row; a DISTINCT that stays in its block groups here, where all terms are known."""
    lineage = block.lineage()
    if not block.select.args.get("distinct") or not lineage:
        return lineage
    block.select.set("distinct", None)
    block.select.set("group", exp.Group(all=True))
    return {
        table: [Term(exp.Anonymous(this="dlunion", expressions=[term.value]), Kind.SET) for term in terms]
        for table, terms in lineage.items()
    }


def _with_lineage_column(inner: TracedQuery, env: Environment) -> exp.Query:
    """Fold the hidden columns of a query into `DL`, ORDER BY and LIMIT staying outermost."""
    if not inner.hidden:
        return inner.tree
    if isinstance(inner.tree, exp.Select):
        select = inner.tree
        split = len(select.expressions) - len(inner.hidden)
        lineage = {
            table: [Term(hidden.unalias(), kind)]
            for (table, kind), hidden in zip(inner.hidden.items(), select.expressions[split:], strict=True)
        }
        select.set("expressions", [*select.expressions[:split], lineage_struct(lineage)])
        return select
    outside = {clause: value for clause in ("order", "limit", "offset") if (value := inner.tree.args.get(clause))}
    for clause in outside:
        inner.tree.set(clause, None)
    alias = env.names.fresh("q")
    hidden = [exp.Column(this=name(hidden_column(table)), table=name(alias)) for table in inner.hidden]
    lineage = {
        table: [Term(column.copy(), kind)] for (table, kind), column in zip(inner.hidden.items(), hidden, strict=True)
    }
    derived = exp.Subquery(this=inner.tree, alias=exp.TableAlias(this=name(alias)))
    result = exp.Select(expressions=[exp.Star(except_=hidden), lineage_struct(lineage)]).from_(derived)
    for clause, value in outside.items():
        result.set(clause, value)
    return result


def _column_names(select: exp.Select, block: Block) -> Columns:
    """Return the names of the user's columns, stars opened where the columns of their relations are known."""
    found: list[str | None] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            opened = _star_columns(item, block)
            if opened is None:
                return None
            found += opened
        else:
            found.append(item.output_name or None)
    return tuple(found)


def _star_columns(item: exp.Expr, block: Block) -> list[str | None] | None:
    star = item if isinstance(item, exp.Star) else item.this
    excepted = {column.name.lower() for column in star.args.get("except_") or []}
    relations = [relation for relation in block.scope.relations if relation.in_star]
    if isinstance(item, exp.Column):
        one = block.scope.relation(item.table)
        relations = [one] if one is not None else []
    if not relations or any(relation.columns is None for relation in relations) or star.args.get("replace"):
        return None
    using = [
        identifier.name for join in block.select.args.get("joins") or [] for identifier in join.args.get("using") or []
    ]
    names_seen = [known for relation in relations for known in relation.columns or ()]
    opened = [known for known in names_seen if known is None or known.lower() not in excepted]
    if using and isinstance(item, exp.Star):
        merged = {key.lower() for key in using}
        opened = using + [known for known in opened if known is None or known.lower() not in merged]
    return opened
