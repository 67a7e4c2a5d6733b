"""A view is its query.   [Zhang 2007, §3.3: V1 … Vm are base tables or intermediate views]

v  →  (Q') AS v (columns of v …), Q the text of the view
Scope: the text sees neither the CTEs nor the columns of the query that uses the view.
Raises: LineageError when the text of a view cannot be rewritten, or reads a table that is called like a CTE around the
        use of the view: written out there, it would read the CTE. The place is that of the view's name.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.block import Block
from rewrites.refusals import refuse
from rewrites.scope import FromItem
from rewrites.tables import View
from rewrites.terms import LINEAGE_COLUMN, hidden_column, name
from udafs.errors import LineageError


def expand(node: exp.Table, view: View, block: Block) -> FromItem:
    """Replace the name of a view by its rewritten query."""
    env = replace(block.env, ctes={}, outer=None, captured=block.env.captured.union(block.env.ctes))
    try:
        query = env.parse(view.sql)
        if not isinstance(query, exp.Query):
            refuse(node, f"The text of view {view.name} is no query")
        traced = env.rewrite(query, env)
    except LineageError as error:
        if LINEAGE_COLUMN in view.columns:
            made = "Query it with spark.sql, or trace the query that it was made from."
            refuse(node, f"View {view.name} has lineage already, in its column {LINEAGE_COLUMN}", made)
        refuse(node, f"View {view.name}: {error.what}", error.instead)
    alias = node.args.get("alias") or exp.TableAlias(this=name(view.name.split(".")[-1]))
    listed = [identifier.name for identifier in alias.args.get("columns") or []]
    columns = tuple(listed) or view.columns
    alias.set("columns", [name(each) for each in (*columns, *map(hidden_column, traced.hidden))])
    parts = () if node.alias else tuple(part.name for part in node.parts)
    if node.args.get("sample"):
        refuse(node, "TABLESAMPLE of a view is not traced", "Sample the tables inside it.")
    node.replace(exp.Subquery(this=traced.tree, alias=alias))
    return FromItem(alias.name, columns, traced.hidden, parts=parts)
