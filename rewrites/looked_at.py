"""The rows that a subquery looked at to give its answer, not only the rows in it.   [extends Zhang 2007, §3.4]

If nothing more can come into a subquery when base rows are taken away, that is the subquery itself. Else the rows that
keep others out count as well, since without them these would come in. That is the same query with conditions made true
that could then hold. Its own subqueries are asked for every row instead. Beside it are the sources in FROM that must
not change. Only the lineage of these queries is of use; their rows are not.

    SELECT a FROM s WHERE p AND b NOT IN (Q)               →  … WHERE p AND ((b NOT IN (Q)) IS NOT NULL OR true)
    SELECT k FROM s GROUP BY k HAVING count(*) < 3         →  SELECT k FROM s GROUP BY k
    SELECT k FROM (SELECT k, sum(v) n FROM s …) WHERE …n…  →  the same, and SELECT k, sum(v) n FROM s …
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import table_name
from rewrites.conditions import conjuncts
from rewrites.environment import Definition, Environment
from rewrites.non_monotonic import Reading, Source, bound, definition_of, shape_of
from rewrites.refusals import refuse
from rewrites.relaxed_conditions import condition, loosen, loosen_on
from rewrites.sources import joins

Look = tuple[exp.Query, Environment]
"""A query, and where it is to be rewritten."""


def looked_at(query: exp.Query, env: Environment, seen: set[str] | None = None) -> Iterator[Look]:
    """Yield the queries whose rows, together, a subquery had to look at; trees of their own.

    Args:
        query: the subquery as the user wrote it.
        env: where it stands.
        seen: texts of the sources that have been yielded already; each counts once.

    Raises:
        NotTracedError: a source must stay what it is and depends on the row beside it; or ON of an anti join asks.
    """
    if not shape_of(query, env).open:
        yield query.copy(), env
        return
    seen = set() if seen is None else seen
    if isinstance(query, exp.Select):
        yield from _of_select(Reading(query, bound(query, env)), env, seen)
    else:  # parentheses, a set operation
        for part in (query.this, query.args.get("expression")):
            if isinstance(part, exp.Query):
                yield from looked_at(_standing_alone(part, query), env, seen)


def _standing_alone(part: exp.Query, whole: exp.Query) -> exp.Query:
    """Return a part of a query that means the same outside of it: with the WITH clause in front."""
    return _with_ctes(part, whole.args.get("with_"))


def _with_ctes(part: exp.Query, with_clause: exp.With | None, before: exp.Expr | None = None) -> exp.Query:
    """Return a copy of a query behind the CTEs of a WITH clause, those before `before` if it is one of them."""
    part = part.copy()
    shared = with_clause.expressions if with_clause is not None else []
    for place, cte in enumerate(shared):
        if cte.this is before:
            shared = shared[:place]
            break
    own = part.args.get("with_")
    ctes = [each.copy() for each in (*shared, *(own.expressions if own is not None else ()))]
    names = [cte.alias.lower() for cte in ctes]
    for cte in ctes[len(shared) :]:
        if names.count(cte.alias.lower()) > 1:
            refuse(cte, f"two WITH clauses define {cte.alias} around a subquery that decides", "Rename one of them.")
    recursive = any(each is not None and each.args.get("recursive") for each in (with_clause, own))
    part.set("with_", exp.With(expressions=ctes, recursive=recursive or None) if ctes else None)
    return part


def _of_select(reading: Reading, env: Environment, seen: set[str]) -> Iterator[Look]:
    for source in reading.to_fix:
        for part, where in _of_source(source, reading, env):
            text = part.sql(dialect="spark")
            if text not in seen:
                seen.add(text)
                yield from looked_at(part, where, seen)
    if reading.changes_itself:
        yield _none_left_out(reading), env
    elif len(reading.to_fix) < len(reading.sources) or reading.asks_subqueries:
        yield reading.select.copy(), env  # else all rows of all sources are counted by now


def _of_source(source: Source, reading: Reading, env: Environment) -> Iterator[Look]:
    """The relation that a source in FROM is read from; if it only has other values, all of its rows."""
    if isinstance(source.node, exp.Lateral):
        what = "LATERAL in a subquery that decides is not traced here: what it yields may change with other rows"
        refuse(source.node, what, "Write it as a join with a subquery in FROM.")
    if not source.shape.open:
        read = source.node.copy()
        read.set("joins", None)
        everything = exp.Select(expressions=[exp.Star()]).from_(read)
        yield _with_ctes(everything, reading.select.args.get("with_")), env
        return
    definition = definition_of(source.node, reading.env)
    refuse_stored(source, definition)
    if definition is None or source.node.args.get("pivots"):
        refuse(source.node, "PIVOT of such a subquery is not traced in a subquery that decides", "Use GROUP BY.")
    yield _where_it_stands(definition, source, reading, env)


def refuse_stored(source: Source, definition: Definition | None) -> None:
    """Refuse a table that carries lineage where what was kept out of it when it was made would count.

    Raises:
        NotTracedError: rows were kept out of it which might come in.
    """
    if definition is None and source.shape.open and isinstance(source.node, exp.Table) and table_name(source.node):
        called = source.node.name
        what = f"{called} was made by a query that kept rows out, which count here and are not in its lineage"
        refuse(source.node, what, f"Write the query that made {called} in its place, or use data lineage.")


def _where_it_stands(definition: Definition, source: Source, reading: Reading, env: Environment) -> Look:
    if isinstance(source.node, exp.Subquery):
        return _standing_alone(definition.query, reading.select), env
    if definition.with_clause is not None:
        return _with_ctes(definition.query, definition.with_clause, before=definition.query), env
    if source.node.name.lower() in reading.env.ctes:
        refuse_hidden_names(definition, source.node, env)
        return definition.query, env
    return definition.query, definition.env  # a view


def refuse_hidden_names(definition: Definition, node: exp.Expr, env: Environment) -> None:
    """Check that the names in a query mean the same where its text is to be written in place of `node`.

    Raises:
        NotTracedError: a WITH clause in between hides one of them.
    """
    for table in definition.query.find_all(exp.Table):
        called = table.name.lower()
        if len(table_name(table)) == 1 and env.ctes.get(called) is not definition.env.ctes.get(called):
            refuse(node, f"a WITH clause hides {table.name}, which {node.name} reads", "Rename it there.")


def _none_left_out(reading: Reading) -> exp.Select:
    """The SELECT with every row and group that conditions which could hold were asked about."""
    select = reading.select.copy()
    for join in joins(select):
        loosen_on(join, reading.open_on)
    loosen(select, "where", [*reading.asking, *reading.padding], exp.Where)
    loosen(select, "having", reading.fleeting_having, exp.Having)
    loosen(select, "qualify", list(conjuncts(condition(select, "qualify"))), exp.Qualify)
    for clause in (*outermost.CLAUSES, "distinct"):  # which rows come first, or twice, is nothing to a union
        select.set(clause, None)
    return select
