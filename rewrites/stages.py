"""Lineage by reference: an inner query whose rows meet other rows is evaluated once, and only its rows' numbers travel.

    SELECT s.k FROM s JOIN (SELECT k, avg(v) a FROM s GROUP BY k) g ON …

By value each row of s would get a copy of the set of its group. A grouping above would unite those copies again: rows
times set size. So the inner query becomes a *stage*, a CTE of its own in front of everything else,

    __stage1 AS (SELECT *, dl_number(__dl_s) AS __dl___stage1 FROM (… dlunion(__dl_s) AS __dl_s …))

and the block reads it as if it were a base table whose row id is the number. Above everything, ORDER BY and LIMIT have
left only rows that are returned. There numbers become ids again (`resolved`): a lookup in `dl_relation`, the stage's
lineage relation. Spark evaluates a CTE that seems to hold a chance value once for all its uses, as one shared exchange.
Since the number is computed from the lineage alone, it would be the same if it did not.

If a statement weighs (`Environment.choices`), no stage where copying costs less: `rewrites.travel_costs`. And none
where a set cannot be large (`Kind.FEW`), where each row is used once (one source in FROM), or where the query
depends on a row around it.   [extends Zhang 2007, §3.3: a view is composed with what is made of it]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rewrites import travel_costs
from rewrites.aliases import listed, table_name
from rewrites.block import Block
from rewrites.conditions import is_asked
from rewrites.environment import Choice, Environment, Stage, Stages, TracedQuery
from rewrites.lineage_functions import dl_compose, dl_number, dl_relation, is_dl_relation, make_quick
from rewrites.nondeterminism import is_by_chance
from rewrites.row_estimates import copied
from rewrites.row_estimates import referred as without_sets
from rewrites.scope import FromItem, blocks_out
from rewrites.terms import Kind, as_set, derived_table, hidden_column, name, named
from udafs.errors import Position

_STEM = "stage"
_MOVED = "moved"  # in the `meta` of a CTE of which a stage was made
PLACE = "place"
"""In the `meta` of a query: where the user's text of it begins."""
_ANSWERS = "answers"  # in the `meta` of the name of a stage that a subquery of the outermost block reads
IN_PLACE = "in place"
"""In the `meta` of a CTE that no stage may be made of, such as one that reads itself."""
ONCE = "once"
"""In the `meta` of a subquery in FROM each of whose rows meets one other row at most."""


def refer(block: Block) -> None:
    """Make stages of the sources in FROM whose rows carry large sets and meet others, if lineage goes by reference."""
    rows = [item for item in block.scope.from_items if item.in_star]
    if block.env.choices is not None and block.env.tracing:
        block.expected = travel_costs.rows_of(block)
    if block.env.stages is None or not block.env.tracing or len(rows) < 2:
        return
    for item in rows:
        if item.node is not None and Kind.SET in item.hidden.values():
            _refer(item, item.node, block)
    if block.expected is not None:
        block.expected = travel_costs.with_sources_of(block.expected, block)


def _refer(item: FromItem, node: exp.Expr, block: Block) -> None:
    env = block.env
    if node.args.get("sample") or node.args.get("pivots") or node.meta.get(ONCE):
        return
    choice = None
    if block.expected is not None and env.choices is not None:
        choice = travel_costs.of_source(block.expected, item, block, _begins(node, env))
        env.choices.append(choice)
        if choice.by_value:
            item.estimated = copied(item.estimated, choice.at)
            return
    stage = _stage(node, item.hidden, env, choice)
    if stage is None:
        return
    rows = _rows(stage)
    alias = node.args.get("alias") or exp.TableAlias(this=name(item.alias))
    listed = alias.args.get("columns")
    if listed:
        alias.set("columns", [*listed[: len(listed) - len(stage.hidden)], name(hidden_column(stage.name))])
    query = exp.Subquery(this=rows, alias=alias, joins=node.args.get("joins"))
    node.replace(query)
    item.node, item.hidden = query, {stage.name: Kind.ID}
    item.estimated = without_sets(item.estimated)


def _begins(node: exp.Expr, env: Environment) -> Position | None:
    """Return where the user's text of a source begins."""
    bound = env.ctes.get(node.name.lower()) if isinstance(node, exp.Table) else None
    query = node.this if bound is None or bound.cte is None else bound.cte.this
    place = query.meta.get(PLACE)
    return place if isinstance(place, Position) else None


def referred(query: exp.Select, tables: Sequence[str], env: Environment) -> tuple[exp.Select, dict[str, Kind]]:
    """Return a query whose rows a rule joins to others, with what its rows carry: numbers of a stage where that can be.

    Only of a statement in parts, which looks no row up. There may be nearly as many rows as those that they are joined
    to, of a few ids each. To keep and look up these takes longer than to carry them. TPC-H Q2, Q4 and Q22, scale factor
    1, took 1.6 to 2.5 times as long, and hardly less when only large sets were referred to.

    Args:
        query: rewritten; it has the sets of the tables.
        tables: base tables.
        env: what it sees.
    """
    hidden = dict.fromkeys(tables, Kind.SET)
    if env.shares_answers or not can_move(query, env):
        return query, hidden
    sets = set(map(hidden_column, tables))
    query.set("expressions", sorted(query.expressions, key=lambda each: each.alias in sets))  # they come last
    stage = add(query, hidden, env)
    return _rows(stage), {stage.name: Kind.ID}


def _rows(stage: Stage) -> exp.Select:
    """Return a query for the rows of a stage, with their numbers in place of lineage."""
    rows = exp.Select(expressions=[exp.Star(except_=_columns(*stage.hidden))])
    return rows.from_(exp.Table(this=name(stage.name)), copy=False)


def _stage(node: exp.Expr, hidden: Mapping[str, Kind], env: Environment, choice: Choice | None) -> Stage | None:
    """Return the stage of what a subquery, or the name of a CTE, stands for; the same for the same text."""
    query, seen = _stands_for(node, env)
    env = replace(env, ctes=seen)
    if not can_move(query, env) or (isinstance(node, exp.Table) and _by_chance(query)):
        return None
    return add(query, hidden, env, choice=choice)


def can_move(query: exp.Query, env: Environment) -> bool:
    """Say whether a query may be a stage: lineage goes by reference, and the CTEs it names can go with it."""
    ctes = _needed(query, env.ctes) if env.stages is not None and env.tracing else None
    if ctes is None or any(IN_PLACE in cte.meta for cte in query.find_all(exp.CTE)):
        return False
    # Of a CTE that it evaluates once, Spark 4.3 loses columns of a LATERAL join, and in a correlated subquery generated
    # ones and those that its windows are computed over.
    generated = [node.this for part in (query, *ctes) for node in part.find_all(exp.Lateral)]
    columns = (column for part in (query, *ctes) for column in part.find_all(exp.Column))
    correlated = [block for column in columns if blocks_out(column) and (block := column.find_ancestor(exp.Select))]
    if any(isinstance(each, exp.Subquery) for each in generated):
        return False
    return not any(generated or block.find(exp.Window) for block in correlated)


def add(
    query: exp.Query,
    hidden: Mapping[str, Kind],
    env: Environment,
    frames: tuple[str, ...] = (),
    choice: Choice | None = None,
) -> Stage:
    """Make a stage of a rewritten query that can move, or return the one with the same text.

    Args:
        query: becomes part of it.
        hidden: its hidden columns.
        env: what it sees.
        frames: its columns that say what window frames are to a row, by their names without the prefix.
        choice: why it is one; None: nothing was estimated.
    """
    assert env.stages is not None
    ctes = _needed(query, env.ctes) or []
    if ctes:
        own = query.args.get("with_")
        behind = [each.copy() for each in own.expressions] if own is not None else []
        recursive = any(cte.parent is not None and cte.parent.args.get("recursive") for cte in ctes)
        query.set("with_", exp.With(expressions=[*(cte.copy() for cte in ctes), *behind], recursive=recursive or None))
    make_quick(query)
    text = query.sql(dialect="spark")
    known = next((stage for stage in env.stages.values() if stage.query.meta.get(_STEM) == text), None)
    if known is not None and not _by_chance(query):
        return known
    stage = Stage(env.names.fresh(_STEM), query, dict(hidden), frames, query.meta.get(PLACE), choice)
    query.meta[_STEM] = text
    env.stages[stage.name] = stage
    return stage


def _stands_for(node: exp.Expr, env: Environment) -> tuple[exp.Query, Mapping[str, TracedQuery]]:
    """Return a copy of the query that a source in FROM is, and the CTEs that it sees."""
    if isinstance(node, exp.Subquery):
        return node.this.copy(), env.ctes
    bound = env.ctes[node.name.lower()]
    if bound.cte is not None:
        bound.cte.meta[_MOVED] = True
    if bound.cte is None or listed(bound.cte) or IN_PLACE in bound.cte.meta:
        read = exp.Table(this=node.this.copy())
        return exp.Select(expressions=[exp.Star()]).from_(read, copy=False), env.ctes
    return bound.cte.this.copy(), bound.around


def _needed(query: exp.Expr, known: Mapping[str, TracedQuery]) -> list[exp.CTE] | None:
    """Return the CTEs that a query names, and those that these name, each behind what it names itself.

    None where its text cannot stand elsewhere: two of them have one name, or one is evaluated once for all its uses.
    """
    with_clause = query.args.get("with_")
    own = {cte.alias.lower() for cte in with_clause.expressions} if with_clause is not None else set()
    found: dict[str, exp.CTE] = {}
    for called, cte in _named(query, {each: known[each] for each in known if each not in own}):
        if called in own or found.setdefault(called, cte) is not cte or _by_chance(cte) or IN_PLACE in cte.meta:
            return None
    return list(found.values())


def _named(query: exp.Expr, known: Mapping[str, TracedQuery]) -> Iterator[tuple[str, exp.CTE]]:
    for table in query.find_all(exp.Table):
        parts = table_name(table)
        bound = known.get(parts[0].lower()) if len(parts) == 1 else None
        if bound is not None and bound.cte is not None:
            yield from _named(bound.cte.this, bound.around)
            yield parts[0].lower(), bound.cte


def _by_chance(tree: exp.Expr) -> bool:
    return any(map(is_by_chance, tree.walk()))


def answering(stage: Stage) -> tuple[exp.Select, exp.Select]:
    """Return two queries that read the rows of a stage in subqueries: the user's columns, the lineage by value."""
    hidden = _columns(*stage.hidden)
    users = exp.Star(except_=[*(each.copy() for each in hidden), *_columns(stage.name)])
    lineage = [named(each, each.name) for each in hidden]
    both = exp.Select(expressions=[users]), exp.Select(expressions=lineage)
    for query in both:
        source = exp.Table(this=name(stage.name))
        source.meta[_ANSWERS] = True
        query.from_(source, copy=False)
    return both


def tables_of(hidden: Mapping[str, Kind], stages: Stages) -> list[str]:
    """Return the base tables behind hidden columns, those of stages included, in order of first appearance."""
    found: dict[str, None] = {}
    for key in hidden:
        found.update(dict.fromkeys(tables_of(stages[key].hidden, stages) if key in stages else [key]))
    return list(found)


def resolved(value: exp.Expr, kind: Kind, key: str, stages: Stages) -> Iterator[tuple[str, exp.Expr]]:
    """Yield what a hidden column says of each base table, as lineage values.

    Args:
        value: of the column.
        kind: how it carries lineage.
        key: a base table, or a stage whose rows it numbers.
        stages: the stages of the statement.
    """
    if key not in stages:
        yield key, as_set(value, kind)
        return
    for table in stages[key].hidden:
        yield from resolved(dl_compose(value.copy(), _relation(stages[key], table)), Kind.SET, table, stages)


def _relation(stage: Stage, table: str) -> exp.Subquery:
    number, lineage, *frames = _columns(stage.name, table, *stage.frames)
    relation = exp.Select(expressions=[named(dl_relation(number, lineage, *frames), "dl")])
    return exp.Subquery(this=relation.from_(exp.Table(this=name(stage.name)), copy=False))


def defined(query: exp.Query, ctes: Sequence[exp.CTE], stages: Stages) -> list[exp.CTE]:
    """Return the CTEs that a query needs: its stages, then the user's except those that became stages.

    Args:
        query: all that names stages, but for other stages.
        ctes: those that the user wrote in front of it.
        stages: the stages of the statement; some are of parts that no rule has kept.
    """
    kept: list[exp.CTE] = []
    for cte in reversed(ctes):
        if not cte.meta.get(_MOVED) or any(named_in(other, cte.alias) for other in (query, *kept)):
            kept.insert(0, cte)
    found: list[exp.CTE] = []
    for stage in reversed(stages.values()):
        if any(named_in(other, stage.name) for other in (query, *kept, *found)):
            found.insert(0, exp.CTE(this=_numbered(stage), alias=exp.TableAlias(this=name(stage.name))))
    return [*found, *kept]


def named_in(tree: exp.Expr, called: str) -> bool:
    """Say whether a tree reads a table of that name."""
    wanted = (called.lower(),)
    return any(tuple(part.lower() for part in table_name(table)) == wanted for table in tree.find_all(exp.Table))


def asked(result: exp.Query, stages: Stages) -> bool:
    """Say whether a subquery of an expression, or LATERAL, reads a stage, by itself or through CTEs, to more than join.

    Spark 4.3 puts the text of a CTE in there before it checks it, where it knows no chance. It takes columns away from
    a CTE that both a subquery and another place read.

    Args:
        result: the rewritten statement.
        stages: its stages.
    """
    reading = set(stages)
    for cte in result.find_all(exp.CTE, bfs=False):
        if any(node.name.lower() in reading for node in cte.this.find_all(exp.Table)):
            reading.add(cte.alias.lower())
    return any(
        node.name.lower() in reading and is_asked(node, result) and not (_is_looked_up(node) or _answers(node))
        for node in result.find_all(exp.Table)
    )


def _is_looked_up(stage: exp.Table) -> bool:
    """Say whether a name is that of a stage in `_relation`, which Spark evaluates once."""
    select = stage.find_ancestor(exp.Select)
    return select is not None and is_dl_relation(select.expressions[0].unalias())


def _answers(stage: exp.Table) -> bool:
    """Say whether it is read in a subquery of the outermost block, beside base tables, where Spark loses nothing."""
    return bool(stage.meta.get(_ANSWERS))


def _columns(*hidden: str) -> list[exp.Expr]:
    return [exp.column(name(hidden_column(each)), copy=False) for each in hidden]


def _numbered(stage: Stage) -> exp.Select:
    number = named(dl_number(*_columns(*stage.hidden, *stage.frames)), hidden_column(stage.name))
    numbered = exp.Select(expressions=[exp.Star(), number])
    return numbered.from_(derived_table(stage.query, "q"), copy=False)
