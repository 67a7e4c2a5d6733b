"""HAVING over keys and aggregates that are not selected, written so that Spark always finds their columns.

    SELECT max(v) AS m FROM t GROUP BY k HAVING k > 1
    →  SELECT * EXCEPT (__key1) FROM (SELECT max(v) AS m, k AS __key1 FROM t GROUP BY k HAVING __key1 > 1) AS __keys1

Spark 4.3 looks for these columns once, and has forgotten those of the groups if a correlated subquery, in another
branch of a set operation or another derived table, was resolved meanwhile; plain queries fail of it, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.frontend.dialect import print_sql
from rewrites.aliases import output_name
from rewrites.block import is_aggregate
from rewrites.terms import derived_table, name, named


def with_keys_selected(sql: str) -> str:
    """Return a query with the keys and aggregates of each HAVING selected, and left out again one level further out."""
    tree = parse(sql).tree
    holder = exp.Paren(this=tree)
    number = itertools.count(1)
    for select in list(holder.find_all(exp.Select)):
        keys = list(_keys(select))
        if keys and not select.args.get("distinct"):
            _select(keys, select, number)
    return print_sql(holder.this)


def _keys(select: exp.Select) -> Iterator[exp.Expr]:
    having, group = select.args.get("having"), select.args.get("group")
    if having is None or group is None:
        return
    selected = {output_name(item).lower() for item in select.expressions}
    for node in having.walk(prune=lambda inner: isinstance(inner, exp.Query) or is_aggregate(inner)):
        if is_aggregate(node) or (isinstance(node, exp.Column) and node.name.lower() not in selected):
            yield node.parent if isinstance(node.parent, exp.Filter) else node


def _select(keys: list[exp.Expr], select: exp.Select, number: Iterator[int]) -> None:
    wrapped = exp.Select()
    select.replace(wrapped)
    names = [f"__key{next(number)}" for _ in keys]
    for key, called in zip(keys, names, strict=True):
        select.append("expressions", named(key.copy(), called))
        key.replace(exp.column(name(called)))
    star = exp.Star(except_=[exp.column(name(called)) for called in names])
    wrapped.set("expressions", [star])
    wrapped.from_(derived_table(select, f"__keys{next(number)}"), copy=False)
    if select.args.get("with_"):
        wrapped.set("with_", select.args["with_"].pop())
