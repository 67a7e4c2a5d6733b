"""VALUES and table functions in FROM: rows that come from no table.

VALUES (…), …   →  unchanged
range(10)       →  unchanged
Requires: –
Ensures:  the tree is unchanged; the columns are known if Spark's names for them are.
Nulls:    –
Raises:   NotTracedError for a table as argument of a function.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import listed
from rewrites.block import Block
from rewrites.refusals import refuse, refuse_others
from rewrites.scope import FromItem

CALL_IT_FOR_EACH_ROW = (
    "Call it for each row: FROM t, LATERAL f(t.x); or register what it gives: lineage.register(name, source=frame)."
)
_COLUMNS = {"range": ("id",), "explode": ("col",), "explode_outer": ("col",)}


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Note the columns of VALUES or of a table function; they have no lineage."""
    if isinstance(node, exp.Values):
        return FromItem(node.alias, listed(node) or _numbered(node))
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Anonymous | exp.Values):
        return None
    refuse_others(node, ("this", "alias"), "a table function")
    if isinstance(node.this, exp.Values):  # within the parentheses of a join
        return FromItem(node.alias or block.env.names.fresh("v"), listed(node) or _numbered(node.this))
    refuse_tables_inside(node.this)
    columns = listed(node) or _COLUMNS.get(node.this.name.lower())
    return FromItem(node.alias or block.env.names.fresh("f"), columns)


def _numbered(values: exp.Values) -> tuple[str, ...]:
    first = values.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    return tuple(f"col{i + 1}" for i in range(width))


def refuse_tables_inside(function: exp.Expr) -> None:
    """Refuse a table, or a subquery, as argument of a function in FROM.

    Raises:
        NotTracedError: there is one.
    """
    if any(_is_table(part) for part in function.walk() if part is not function):
        what = f"a table as argument of {function.name.lower()} is not traced"
        refuse(function, what, CALL_IT_FOR_EACH_ROW)


def _is_table(argument: exp.Expr) -> bool:
    """Sqlglot takes `TABLE(t)`, an argument, for a function of a column t."""
    called_table = isinstance(argument, exp.Anonymous) and argument.name.upper() == "TABLE"
    return called_table or isinstance(argument, exp.Query | exp.Table)
