"""Pipe syntax as the query that says the same with SELECT … FROM …; pure trees.

Each operator goes into the SELECT before it as long as that still has all rows and columns of its FROM and WHERE; else
that becomes a subquery in FROM, under the name that its columns were qualified with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from forward_lineage.frontend.nodes import PipeStep
from rewrites.aliases import listed, output_name, table_name
from rewrites.outermost import CLAUSES
from rewrites.refusals import refuse
from rewrites.tables import BaseTable, StoredTable, Tables, View
from udafs.errors import WrongSqlError

PIPED = "piped"
"""In the `meta` of a query that was written with pipes: the query in front, and the steps."""
_CONDITIONS = "conditions"  # in the `meta` of a SELECT: those that its WHERE is made of
_READING = {"from_", "joins", "laterals", "where", "windows"}


def piped(query: exp.Query, steps: Sequence[PipeStep]) -> exp.Query:
    """Return the query that a query and steps behind it mean; made of their trees."""
    for step in steps:
        query = _MEANING[step.name](query, step)
    return query


def name_columns(tree: exp.Expr, tables: Tables) -> None:
    """Put names in place of stars one of whose columns ``|> SET`` gives another value: Spark has no word for that.

    Raises:
        NotTracedError: the columns are not known.
        WrongSqlError: there is no such column.
    """
    stars = [star for star in tree.find_all(exp.Star) if star.args.get("replace")]
    for star in reversed(stars):  # inner ones first
        select, assigned = star.parent, star.args["replace"][0]
        assert isinstance(select, exp.Select)
        columns = _columns_of_from(select, tables)
        if columns is None:
            what = f"|> SET {assigned.alias} where the columns are not known"
            refuse(assigned.args["alias"], what, "Name them before it: |> SELECT a, b, ….")
        select.set("expressions", _assigned(columns, assigned))


def _assigned(columns: Sequence[exp.Identifier], assigned: exp.Alias) -> list[exp.Expr]:
    wanted = assigned.alias.lower()
    if not any(column.name.lower() == wanted for column in columns):
        what = f"there is no column {assigned.alias} for |> SET"
        refuse(assigned.args["alias"], what, "Use |> EXTEND for a new column.", WrongSqlError)
    return [assigned.copy() if each.name.lower() == wanted else exp.Column(this=each.copy()) for each in columns]


def _columns_of_from(select: exp.Select, tables: Tables) -> list[exp.Identifier] | None:
    from_ = select.args.get("from_")
    if from_ is None or select.args.get("joins") or select.args.get("laterals") or from_.this.args.get("pivots"):
        return None
    item = from_.this
    if names := listed(item):
        return [exp.to_identifier(each, quoted=True) for each in names]
    if isinstance(item, exp.Subquery):
        return None if item.args.get("joins") else _columns_of(item.this, tables)
    parts = table_name(item)
    if len(parts) == 1 and (cte := _cte(item, parts[0])) is not None:
        names = listed(cte)
        return [exp.to_identifier(each, quoted=True) for each in names] if names else _columns_of(cte.this, tables)
    found = tables.find(parts) if parts else None
    if not isinstance(found, BaseTable | StoredTable | View) or not found.columns:
        return None
    return [exp.to_identifier(each, quoted=True) for each in found.columns]


def _columns_of(query: exp.Expr, tables: Tables) -> list[exp.Identifier] | None:
    while isinstance(query, exp.Subquery | exp.SetOperation):
        query = query.this
    if not isinstance(query, exp.Select):
        return None
    columns: list[exp.Identifier] = []
    for item in query.expressions:
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            return None
        if isinstance(item, exp.Star):
            found = _columns_of_from(query, tables)
            if found is None:
                return None
            excepted = {each.name.lower() for each in item.args.get("except_") or ()}
            columns += [each for each in found if each.name.lower() not in excepted]
        elif called := output_name(item):
            columns.append(exp.to_identifier(called, quoted=True))
        else:
            return None
    return columns


def _cte(node: exp.Expr, called: str) -> exp.CTE | None:
    around: exp.Expr | None = node.parent
    while around is not None:
        with_clause = around.args.get("with_")
        ctes: list[exp.CTE] = with_clause.expressions if with_clause is not None else []
        found = next((cte for cte in ctes if cte.alias.lower() == called.lower()), None)
        if found is not None:
            return found
        around = around.parent
    return None


def _is_open(query: exp.Expr) -> bool:
    """Say whether it is SELECT * FROM … WHERE …, which more may be said of."""
    if (
        not isinstance(query, exp.Select)
        or len(query.expressions) != 1
        or not isinstance(query.expressions[0], exp.Star)
    ):
        return False
    return not any(query.expressions[0].args.values()) and {key for key, value in query.args.items() if value} <= {
        "expressions",
        *_READING,
    }


def _open(query: exp.Query) -> exp.Select:
    """Return a SELECT * of the rows of a query."""
    if isinstance(query, exp.Select) and _is_open(query):
        query.meta.pop("written", None)
        return query
    return _around(query)


def _around(query: exp.Query, alias: exp.Identifier | None = None) -> exp.Select:
    called = alias or _qualifier(query)
    item: exp.Expr = query
    if not isinstance(query, exp.Values) and not (isinstance(query, exp.Subquery) and not _is_cut(query)):
        item = exp.Subquery(this=query)
    if called is not None:
        item.set("alias", exp.TableAlias(this=called.copy()))
    return exp.Select(expressions=[exp.Star()]).from_(item, copy=False)


def _qualifier(query: exp.Expr) -> exp.Identifier | None:
    """Return the name that qualifies the columns of a query whose rows come from one place."""
    from_ = query.args.get("from_") if isinstance(query, exp.Select) else None
    if from_ is None or query.args.get("joins") or query.args.get("laterals"):
        return None
    pivots = from_.this.args.get("pivots")
    called = (pivots[-1] if pivots else from_.this).args.get("alias")
    if called is not None and isinstance(called.this, exp.Identifier):
        return called.this
    is_named = isinstance(from_.this, exp.Table) and isinstance(from_.this.this, exp.Identifier) and not pivots
    return from_.this.this if is_named else None


def _is_cut(query: exp.Expr) -> bool:
    return any(query.args.get(clause) for clause in CLAUSES)


def _select(query: exp.Query, step: PipeStep) -> exp.Query:
    block, wanted = _open(query), step.args["query"]
    windows = [*(block.args.get("windows") or ()), *(wanted.args.get("windows") or ())]
    for part, value in wanted.args.items():
        block.set(part, value)
    block.set("windows", windows or None)
    return block


def _extend(query: exp.Query, step: PipeStep) -> exp.Query:
    block = _open(query)
    block.set("expressions", [exp.Star(), *step.expressions])
    return block


def _drop(query: exp.Query, step: PipeStep) -> exp.Query:
    block = _open(query)
    block.set("expressions", [exp.Star(except_=[exp.Column(this=each) for each in step.expressions])])
    return block


def _assign(query: exp.Query, step: PipeStep) -> exp.Query:
    """Each assignment sees the one before it."""
    for each in step.expressions:
        block = _open(query)
        assigned = exp.Alias(this=each.expression, alias=each.this)
        block.set("expressions", [exp.Star(replace=[assigned])])
        query = block
    return query


def _alias(query: exp.Query, step: PipeStep) -> exp.Query:
    return _around(query, step.expressions[0])


def _where(query: exp.Query, step: PipeStep) -> exp.Query:
    """Several become one condition, put together as Spark does it."""
    block = _open(query)
    before = block.args.get("where")
    conditions = block.meta.get(_CONDITIONS) or ([before.this] if before is not None else [])
    conditions = [*conditions, step.expressions[0]]
    condition = conditions[-1].copy()
    for each in reversed(conditions[:-1]):
        condition = exp.and_(each, condition)
    block.set("where", exp.Where(this=condition))
    block.meta[_CONDITIONS] = conditions
    return block


def _aggregate(query: exp.Query, step: PipeStep) -> exp.Query:
    block = _open(query)
    groups = step.args.get("group") or []
    keys = [(each.this if isinstance(each, exp.Alias) else each).copy() for each in groups]
    block.set("expressions", [*groups, *step.expressions])
    block.set("group", exp.Group(expressions=keys) if keys else None)
    return block


def _join(query: exp.Query, step: PipeStep) -> exp.Query:
    join: exp.Join = step.args["query"]
    block = _open(query)
    if (
        block.args.get("laterals")
        or block.args.get("windows")
        or (block.args.get("where") and not _may_follow(block, join))
    ):
        block = _around(block)
    block.append("joins", join)
    return block


def _may_follow(block: exp.Select, join: exp.Join) -> bool:
    """Say whether rows may be joined before WHERE leaves some out: where FROM has no name of its own for a subquery."""
    kept = join.side in ("", "LEFT") and join.kind in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI")
    return bool(block.args.get("joins")) and kept and not join.method and not join.args.get("using")


def _set_operation(query: exp.Query, step: PipeStep) -> exp.Query:
    operation: exp.SetOperation = step.args["query"]
    inside = isinstance(query, exp.SetOperation) or _is_cut(query)
    operation.set("this", exp.Subquery(this=query) if inside else query)
    return operation


def _sample(query: exp.Query, step: PipeStep) -> exp.Query:
    block = _open(query)
    from_ = block.args.get("from_")
    item = from_.this if from_ is not None else None
    is_table = isinstance(item, exp.Table) and not any(item.args.get(part) for part in ("sample", "pivots"))
    if not is_table or any(block.args.get(part) for part in _READING - {"from_"}):
        block = _around(block)
    block.args["from_"].this.set("sample", step.args["query"])
    return block


def _pivot(query: exp.Query, step: PipeStep) -> exp.Query:
    item = exp.Subquery(this=query, pivots=[step.args["query"]])
    return exp.Select(expressions=[exp.Star()]).from_(item, copy=False)


def _organise(query: exp.Query, step: PipeStep) -> exp.Query:
    """ORDER BY, LIMIT, WINDOW and the like: of what is there, unless another one was said before."""
    wanted = {part: value for part, value in step.args["query"].args.items() if value}
    windows = wanted.pop("windows", None)
    ordered = wanted.keys() - {"limit", "offset"}
    taken = {clause for clause in CLAUSES if query.args.get(clause)}
    again = (
        "limit" in taken or (taken - {"offset"} and ordered) or ("offset" in taken and (ordered or "offset" in wanted))
    )
    if isinstance(query, exp.Values | exp.Subquery) or again or (windows and not _is_open(query)):
        query = _around(query)
    for part, value in wanted.items():
        query.set(part, value)
    if windows:
        query.set("windows", windows)
    return query


_MEANING: Mapping[str, Callable[[exp.Query, PipeStep], exp.Query]] = {
    "AGGREGATE": _aggregate,
    "AS": _alias,
    "DROP": _drop,
    "EXCEPT": _set_operation,
    "EXTEND": _extend,
    "INTERSECT": _set_operation,
    "JOIN": _join,
    "ORDER": _organise,
    "PIVOT": _pivot,
    "SELECT": _select,
    "SET": _assign,
    "TABLESAMPLE": _sample,
    "UNION": _set_operation,
    "WHERE": _where,
    "tail": _organise,
}
