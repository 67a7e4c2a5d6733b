"""Rows that conditions keep out of a block, let in: what kept them out is then in their lineage.   [extends §3.4]

Cut the base tables down to the lineage of a group. They may still have a row that a subquery's answer kept out of it,
while the rows that made the answer are gone. No such row can be left over where its condition looks at one source,
whose table is read nowhere else. Then its base rows are in no lineage. None can be left over, either, where the answer
does not change, since the whole subquery counts for every row, or where all rows of a group get the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import listed
from rewrites.conditions import asks_for_presence, own_nodes, subqueries_in
from rewrites.correlation import stands_alone
from rewrites.environment import Environment
from rewrites.looked_at import refuse_hidden_names, refuse_stored
from rewrites.merged_columns import names_what_was_merged
from rewrites.non_monotonic import Reading, Source, bound, definition_of
from rewrites.readings import base_tables
from rewrites.refusals import refuse
from rewrites.relaxed_conditions import loosen, loosen_on
from rewrites.sources import joins, merges, merging
from rewrites.terms import name

_MADE_OF_WHAT_IS_LEFT = ("qualify", "windows", *outermost.CUTTING)


def let_in(select: exp.Select, env: Environment, keys: Collection[exp.Expr] | None = (), *, always: bool) -> bool:
    """Let in the rows that conditions of a SELECT, and of those it reads in FROM, may keep out; say if there are any.

    Args:
        select: edited in place: FROM, ON and WHERE.
        env: where it stands.
        keys: what all rows of a group have in common; None: a group may have rows that are not of this SELECT.
        always: whether each row of the result is made of some row of this SELECT. Then a subquery that stands alone
            counts as a whole in each of them.

    Raises:
        NotTracedError: what a name in FROM stands for cannot be written in its place.
    """
    reading = Reading(select, bound(select, env))
    where = [each for each in reading.asking if _may_hold(each, reading, keys, always=always)]
    where += [each for each in reading.padding if _read_again(reading.sources, reading)]
    of_pairs = None if keys is None else ()
    on = [each for each in reading.open_on if _may_hold(each, reading, of_pairs, always=False)]
    anti = [join for join in joins(select) if join.kind == "ANTI" and _keeps_out(join, reading)]
    inside = [_let_in_source(source, reading, of_pairs, always=always) for source in reading.sources]
    for join in joins(select):
        loosen_on(join, on if join.kind != "ANTI" else ())
    loosen(select, "where", where, exp.Where)
    for join in anti:
        if _means_the_same_in_where(join, select):
            _refuse_merged(join, select)
            _ask(join, select)
        else:
            _count_right_side(join)
    return bool(where or on or anti or any(inside))


def _may_hold(condition: exp.Expr, reading: Reading, keys: Collection[exp.Expr] | None, *, always: bool) -> bool:
    """Say whether a condition may come to hold for a row that it keeps out and that is still there."""
    queries = list(subqueries_in(condition))
    if queries and all(stands_alone(query, reading.env) for query in queries):
        if always and not any(asks_for_presence(query, condition) for query in queries):
            return False  # the subquery counts as a whole: its answer stays
        own = (node for node in own_nodes(condition) if isinstance(node, exp.Column))
        if keys is not None and all(node in keys for node in own):
            return False
    looked_at = [each for each in reading.sources if reading.mentions(condition, each)]
    return _read_again(looked_at or (reading.sources if keys is None else []), reading)


def _read_again(sources: list[Source], reading: Reading) -> bool:
    """Say whether rows of these sources may be there though no row that is made of them is."""
    tables = sum((_tables_of(source, reading) for source in sources), Counter[str]())
    return tables.total() != 1 or any(reading.env.readings.get(table, 0) != 1 for table in tables)


def _tables_of(source: Source, reading: Reading) -> Counter[str]:
    alone = source.node.copy()
    alone.set("joins", None)  # of parentheses that begin with it
    return base_tables(alone, reading.env)


def _keeps_out(join: exp.Join, reading: Reading) -> bool:
    """Say whether an ANTI JOIN may keep out a row that is still there."""
    on, left = join.args.get("on"), [each for each in reading.sources if each.place.join is not join]
    return _read_again([each for each in left if on is None or reading.mentions(on, each)], reading)


def _means_the_same_in_where(join: exp.Join, select: exp.Select) -> bool:
    """Say whether ON of an ANTI JOIN can be asked in WHERE, which also sees the columns of later joins."""
    on = join.args.get("on")
    if on is None:
        return False
    is_last = select.args.get("joins", [None])[-1] is join
    return is_last or all(column.table for column in on.find_all(exp.Column))


def _refuse_merged(join: exp.Join, select: exp.Select) -> None:
    """In a WHERE that names one side's column, too, Spark no longer knows the column that both were merged into."""
    if not names_what_was_merged(select):
        return
    for each in join.args["on"].find_all(exp.Column):
        if not each.table and any(merges(merging_join, each.name) for merging_join in merging(select)):
            refuse(
                each,
                f"{each.name} in ON of an anti join may be a column that USING or NATURAL JOIN merges, and one side's "
                f"{each.name} is named, too, in a subquery that counts",
                f"Say in ON of which relation {each.name} is.",
            )


def _ask(join: exp.Join, select: exp.Select) -> None:
    """V ANTI JOIN W ON p  →  V … WHERE (NOT EXISTS (SELECT * FROM W WHERE p)) IS NOT NULL OR true."""
    right = exp.Select(expressions=[exp.Star()]).from_(join.this.copy()).where(join.args["on"].copy())
    none = exp.Not(this=exp.Exists(this=right))
    select.where(none, copy=False)
    loosen(select, "where", [none], exp.Where)
    join.pop()


def _count_right_side(join: exp.Join) -> None:
    """V ANTI JOIN W …  →  V SEMI JOIN W ON true: where W has no row, nothing was kept out."""
    for clause in ("method", "using"):
        join.set(clause, None)
    join.set("kind", "SEMI")
    join.set("on", exp.true())


def _let_in_source(source: Source, reading: Reading, keys: Collection[exp.Expr] | None, *, always: bool) -> bool:
    """Let rows into what a source in FROM stands for, and write that in its place."""
    node = source.node
    definition = definition_of(node, reading.env)
    refuse_stored(source, definition)
    if definition is None or not source.shape.open or node.args.get("pivots") or isinstance(node, exp.Lateral):
        return False
    query = definition.query.copy()
    if not _let_in_query(query, definition.env, keys, always=always and not source.place.padded):
        return False
    if not isinstance(node, exp.Subquery):
        refuse_hidden_names(definition, node, reading.env)
    columns = [name(column) for column in listed(node) or definition.columns]
    alias = exp.TableAlias(this=name(node.alias_or_name), columns=columns) if node.alias_or_name else None
    written = exp.Subquery(this=query, alias=alias, joins=node.args.get("joins"))
    node.replace(written)
    return True


def _let_in_query(query: exp.Expr, env: Environment, keys: Collection[exp.Expr] | None, *, always: bool) -> bool:
    if not isinstance(query, exp.Query) or any(query.args.get(clause) for clause in _MADE_OF_WHAT_IS_LEFT):
        return False
    if isinstance(query, exp.Select):
        of_groups = Reading(query, bound(query, env)).is_grouped or query.find(exp.Window) is not None
        return not of_groups and let_in(query, env, keys, always=always)
    if isinstance(query, exp.Subquery):
        return _let_in_query(query.this, bound(query, env), keys, always=always)
    if isinstance(query, exp.Union):
        around = bound(query, env)
        sides = [_let_in_query(side, around, None, always=False) for side in (query.this, query.expression)]
        return any(sides)
    return False
