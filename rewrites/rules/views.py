"""A view in FROM is its query.   [Zhang 2007, §3.3: V1 … Vm are base tables or intermediate views]

v  →  (Q') AS v (columns of v …), Q the text of the view
Requires: no CTE has the name.
Ensures:  the text sees neither the CTEs nor the columns of the query that uses the view; its columns have the view's
          names.
Nulls:    those of Q'.
Raises:   whatever the text is refused for, in the type of that refusal; NotTracedError when the view has lineage
          already, or is sampled. The place is that of the view's name.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import limits_of_exists
from rewrites.aliases import listed, table_name
from rewrites.block import Block
from rewrites.environment import TracedQuery
from rewrites.merged_columns import named_apart
from rewrites.qualifiers import by_alias
from rewrites.readings import names_in
from rewrites.refusals import refuse
from rewrites.row_estimates import renamed as estimated_as
from rewrites.scope import FromItem
from rewrites.tables import View
from rewrites.terms import LINEAGE_COLUMN, hidden_column, name
from udafs.errors import LineageError

_SAY_WHAT = (
    "Query it with spark.sql, or keep the query that it was made from with lineage.save(…), and trace through that."
)


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Replace the name of a view by its rewritten query."""
    parts = table_name(node)
    view = block.env.find(parts) if parts else None
    if not isinstance(view, View) or not isinstance(node, exp.Table):
        return None
    traced = _text(node, view, block)
    alias = node.args.get("alias") or exp.TableAlias(this=name(view.name.split(".")[-1]))
    columns = listed(node) or _columns(node, view, traced)
    alias.set("columns", [name(each) for each in (*columns, *map(hidden_column, traced.hidden))])
    if node.args.get("sample"):
        refuse(node, "TABLESAMPLE of a view is not traced", "Sample the tables inside it.")
    query = exp.Subquery(this=traced.tree, alias=alias)
    node.replace(query)
    estimated = estimated_as(traced.estimated, traced.columns, columns)
    return FromItem(alias.name, columns, traced.hidden, node=query, estimated=estimated)


def _columns(node: exp.Expr, view: View, traced: TracedQuery) -> tuple[str, ...]:
    """A view of all columns of a table that carries lineage shows its `DL`, too, which is no column of the user's."""
    if traced.columns is None or len(traced.columns) == len(view.columns):
        return view.columns
    users = tuple(each for each in view.columns if each.upper() != LINEAGE_COLUMN)
    if len(users) != len(traced.columns):
        what = f"view {view.name} shows the lineage of a table under another name than {LINEAGE_COLUMN}"
        refuse(node, what, "Make the view anew: name the columns in its query.")
    return users


def _text(node: exp.Table, view: View, block: Block) -> TracedQuery:
    """Rewrite the text of a view where neither CTEs nor enclosing blocks are seen."""
    env = block.env.of_view()
    try:
        query = env.parse(view.sql)
        if isinstance(query, exp.Values):
            query = exp.Select(expressions=[exp.Star()]).from_(query)
        if not isinstance(query, exp.Query):
            refuse(node, f"the text of view {view.name} is no query", "Make it anew, with CREATE VIEW … AS SELECT ….")
        env.texts[view.sql] = names_in(query)
        by_alias(query, env)
        if env.counts_what_decides:
            limits_of_exists.take_away(query)
        named_apart(query, env.names)
        return env.rewrite(query, env)
    except LineageError as error:
        if LINEAGE_COLUMN in view.columns:
            refuse(node, f"view {view.name} has lineage already, in its column {LINEAGE_COLUMN}", _SAY_WHAT)
        remedy = error.instead or "Trace the query that the view was made from."
        refuse(node, f"view {view.name}: {error.what}", remedy, type(error))
