"""Views over a join: it is saved once, its rows are the base rows, and the views are over the saved result.

A row of a star schema's join is a row of its fact with what the dimensions say of it. Saved with lineage, it leads back
to both. All views of a page count the same rows, so all must have the same FROM.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import parse, print_sql
from forward_lineage.views.view_sql import SAVE_IT, is_result
from rewrites.refusals import position_of, refuse
from udafs.errors import NotTracedError

_SAME = "Write the same FROM, with all joins, in each view: they count the same rows."
Named = dict[tuple[str, str], str]


@dataclass(frozen=True)
class Joined:
    """A join, and views over it.

    Attributes:
        name: what it is saved as; another one for another query.
        sql: its query: the columns that the views need.
        tables: the names of its tables.
        views: the queries over it, by the name of the view.

    """

    name: str
    sql: str
    tables: tuple[str, ...]
    views: dict[str, str]


def over_join(views: Mapping[str, str]) -> Joined | None:
    """Find the join that views are over; None: they are over a table, or are saved results.

    Args:
        views: as for `ForwardLineage.views`.

    Raises:
        NotTracedError: they are over several joins, or over a join and a table; or it joins more than tables.

    """
    trees = {name: _select(sql) for name, sql in views.items() if not is_result(sql)}
    joins = {name: tree for name, tree in trees.items() if tree is not None and tree.args.get("joins")}
    if not joins:
        return None
    first = _check_same(trees, next(iter(joins)))
    tables = tuple(_tables(first))
    names = _names(joins.values())
    items = [f"{_written(table, column)} AS {_quoted(name)}" for (table, column), name in names.items()]
    sql = f"SELECT {', '.join(items)} {_source(first)}"
    words = "_".join(re.sub(r"\W", "", each.split(".")[-1]) for each in tables)[:40].lower()
    saved = f"joined_{words}_{hashlib.sha256(sql.encode()).hexdigest()[:8]}"
    return Joined(saved, sql, tables, {name: _over(tree, names, saved) for name, tree in joins.items()})


def _check_same(trees: Mapping[str, exp.Select | None], first: str) -> exp.Select:
    """See to it that all views are over what the first one is over; returns that one."""
    one = trees[first]
    assert one is not None, "a view that joins"
    for name, tree in trees.items():
        if tree is None or _source(tree) != _source(one):
            what = f"view {name} is over something else than {first}, which joins tables"
            raise NotTracedError(what, at=None if tree is None else position_of(tree), instead=_SAME)
    return one


def _select(sql: str) -> exp.Select | None:
    tree = parse(sql).tree
    return tree if isinstance(tree, exp.Select) else None


def _source(tree: exp.Select) -> str:
    parts = [tree.args.get("from_"), *tree.args.get("joins", [])]
    return " ".join(print_sql(part.copy()).strip() for part in parts if part is not None)


def _tables(tree: exp.Select) -> Iterator[str]:
    for part in [tree.args["from_"], *tree.args["joins"]]:
        if not isinstance(part.this, exp.Table):
            refuse(part.this, "a view that joins something else than tables", SAVE_IT)
        table = part.this.copy()
        table.set("alias", None)
        yield print_sql(table)


def _columns(tree: exp.Select) -> Iterator[exp.Column]:
    """The columns of the join that a view names; its own aliases, in GROUP BY and ORDER BY, are none."""
    aliases = {each.alias.lower() for each in tree.expressions if isinstance(each, exp.Alias)}
    for part, is_order in (*((each, False) for each in tree.expressions), *_others(tree)):
        for column in part.find_all(exp.Column):
            is_alias = isinstance(part, exp.Group | exp.Order) and not column.table and column.name.lower() in aliases
            if column.args.get("db") is not None:
                refuse(column, "a field of a column over a join in a view", SAVE_IT)
            if not is_alias:
                yield column
            elif not is_order and not _is_that_column(tree, column):
                instead = "Write GROUP BY with the expression, or with its place."
                refuse(column, f"GROUP BY {column.name}, an alias that may be a column, over a join in a view", instead)


def _others(tree: exp.Select) -> Iterator[tuple[exp.Expr, bool]]:
    for name in ("where", "group", "order"):
        if tree.args.get(name) is not None:
            yield tree.args[name], name == "order"


def _is_that_column(tree: exp.Select, column: exp.Column) -> bool:
    """Whether the alias is that of a column which is called so itself: then it is all one which of the two is meant."""
    return any(
        isinstance(each, exp.Alias)
        and each.alias.lower() == column.name.lower()
        and isinstance(each.this, exp.Column)
        and each.this.name.lower() == column.name.lower()
        for each in tree.expressions
    )


def _names(trees: Iterable[exp.Select]) -> Named:
    """Name each column of the saved join: by its own name, if no other column has it."""
    keys = dict.fromkeys(_key(column) for tree in trees for column in _columns(tree))
    found: Named = {}
    for table, column in keys:
        alone = sum(other == column for _, other in keys) == 1 or not table
        name = column if alone else f"{table}_{column}"
        while name in found.values():
            name += "_"
        found[table, column] = name
    return found


def _key(column: exp.Column) -> tuple[str, str]:
    return column.table.lower(), column.name.lower()


def _over(tree: exp.Select, names: Named, saved: str) -> str:
    found = tree.copy()
    items = []
    for each in found.expressions:
        items.append(each if isinstance(each, exp.Alias | exp.Star) else exp.alias_(each, _called(each), quoted=True))
    found.set("expressions", items)
    for column in list(_columns(found)):
        column.set("this", exp.to_identifier(names[_key(column)], quoted=True))
        column.set("table", None)
    found.set("from_", exp.From(this=exp.to_table(saved)))
    found.set("joins", None)
    return print_sql(found)


def _called(item: exp.Expr) -> str:
    """Return Spark's name of an item without an alias."""
    if isinstance(item, exp.Column):
        return item.name
    bare = item.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return print_sql(bare)


def _written(table: str, column: str) -> str:
    return _quoted(column) if not table else f"{_quoted(table)}.{_quoted(column)}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
