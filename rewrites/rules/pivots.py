"""PIVOT: a row is made of its whole group. UNPIVOT: of the row it was cut from.   [Zhang 2007, §3.3, aggregation]

V PIVOT (f(x) FOR y IN (…))  →  (SELECT *, dlunion(__dl_t) OVER (PARTITION BY G) AS __dl_t FROM V') PIVOT (…)
    G: the columns that PIVOT groups by without saying so, i.e. all that it does not mention. The union is the same
    for all rows of a group, so that it may be one more grouping column. The kernel computes it with the groups, so that
    no row has a copy of it (`udafs/scala/aggregation/GroupedWindows.scala`). Where G is empty, PIVOT has a row of no
    rows, too, which one more grouping column would take away: V' has a row of NULLs more then, which no value of y is
    equal to, so that it adds nothing.
V UNPIVOT (…)  →  V' UNPIVOT (…): columns that are not mentioned are kept.
Requires: –
Ensures:  the columns of the result, which only Spark knows, are its own; one hidden column a table.
Nulls:    NULL is a group of its own, in PARTITION BY as in PIVOT.
Raises:   NotTracedError for several PIVOTs, and if the columns that PIVOT groups by are not known. Also for columns
          behind it that are named like those of the relation before it, and for NULL among the values of a PIVOT that
          groups by no column.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import TracedQuery
from rewrites.lineage_functions import dlunion
from rewrites.refusals import refuse
from rewrites.scope import FromItem
from rewrites.terms import Kind, absent, derived_table, hidden_column, name, named


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Rewrite what a PIVOT or UNPIVOT reads, as a query of its own."""
    pivots = node.args.get("pivots")
    if not pivots:
        return None
    pivot = pivots[0]
    if len(pivots) > 1:
        refuse(pivot, "several PIVOTs of one relation are not traced", "Put the first into a subquery.")
    called = node.alias_or_name
    if called and not pivot.alias:
        _refuse_name(called, node, pivot, block)
    traced, joins = _source(node, block)
    hidden, tree = dict(traced.hidden), traced.tree
    if not pivot.args.get("unpivot"):
        tree = _with_lineage_of_group(traced, pivot, called, block)
        hidden = dict.fromkeys(hidden, Kind.SET)
    if not pivot.alias:
        pivot.set("alias", exp.TableAlias(this=name(block.env.names.fresh("p"))))
    alias = exp.TableAlias(this=name(called)) if called else None  # what PIVOT adds up may be named by it
    node.replace(exp.Subquery(this=tree, alias=alias, pivots=[pivot], joins=joins))
    return FromItem(pivot.alias, None, hidden)


def _refuse_name(called: str, node: exp.Expr, pivot: exp.Pivot, block: Block) -> None:
    """Refuse columns behind a PIVOT that are named as the relation before it: what we put there has another name."""
    word = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
    inside = {id(column) for column in node.find_all(exp.Column)}
    for column in block.select.find_all(exp.Column):
        if column.table.lower() == called.lower() and id(column) not in inside:
            what = f"{called}.{column.name}, behind the {word} of {called}, is not traced"
            refuse(column, what, f"Write {word} (…) AS p, and p in front of the column.")


def _source(node: exp.Expr, block: Block) -> tuple[TracedQuery, list[exp.Expr] | None]:
    node.set("pivots", None)
    joins = node.args.get("joins")
    node.set("joins", None)
    inner = exp.select(exp.Star()).from_(node.copy())
    return block.env.rewrite(inner, block.env), joins


def _with_lineage_of_group(traced: TracedQuery, pivot: exp.Pivot, called: str, block: Block) -> exp.Query:
    if traced.columns is None or None in traced.columns:
        what = "the columns that this PIVOT groups by are not known"
        refuse(pivot, what, "Name the columns in a subquery before PIVOT.")
    columns = [column for column in traced.columns if column is not None]
    known = {column.lower() for column in columns}
    mentioned = {_mentioned(column, called.lower(), known) for column in pivot.find_all(exp.Column)}
    group = [column for column in columns if column.lower() not in mentioned]
    if not traced.hidden:
        return traced.tree
    tree = traced.tree if group else _with_a_row(traced, columns, pivot, block.env.names.fresh("q"))
    for projection in tree.expressions[-len(traced.hidden) :]:
        union = exp.Window(
            this=dlunion(projection.this.copy()),
            partition_by=[exp.Column(this=name(column)) for column in group],
        )
        projection.this.replace(union)
    return tree


def _with_a_row(traced: TracedQuery, columns: list[str], pivot: exp.Pivot, alias: str) -> exp.Query:
    """Return the rows that PIVOT reads, and one of NULLs made of nothing."""
    values = [value for field in pivot.args["fields"] for value in field.expressions]
    if any(all(isinstance(each, exp.Null) for each in _parts(value)) for value in values):
        what = "NULL among the values of a PIVOT that groups by no column is not traced"
        refuse(pivot, what, "Group by a constant: in a subquery before PIVOT, select 'all' AS part, too.")
    hidden = [hidden_column(table) for table in traced.hidden]
    nothing = [named(exp.null(), column) for column in columns]
    nothing += [named(absent(kind), each) for each, kind in zip(hidden, traced.hidden.values(), strict=True)]
    rows = exp.union(traced.tree, exp.select(*nothing), distinct=False, copy=False)
    read: list[exp.Expr] = [exp.Column(this=name(each)) for each in columns]
    read += [named(exp.Column(this=name(each)), each) for each in hidden]
    return exp.select(*read, copy=False).from_(derived_table(rows, alias), copy=False)


def _parts(value: exp.Expr) -> list[exp.Expr]:
    """Return the parts of one of the values: of several columns, or of one."""
    plain = value.this if isinstance(value, exp.Alias | exp.PivotAlias) else value
    return plain.expressions if isinstance(plain, exp.Tuple) else [plain.unnest()]


def _mentioned(column: exp.Column, called: str, known: set[str]) -> str:
    """Return which column of the relation is read: of a struct, only a field may be named."""
    parts = [part.name.lower() for part in column.parts]
    for place, (qualifier, after) in enumerate(pairwise(parts)):
        if qualifier == called and after in known and not known.intersection(parts[:place]):
            return after
    return parts[0] if parts[0] in known else parts[-1]
