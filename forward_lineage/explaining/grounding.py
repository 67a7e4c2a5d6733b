"""Queries over the tables of a version: CTEs and views put in place, base tables read as they were, with their ids.

Text that is made here is Spark's alone: it reads rows, nothing is traced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.explaining.past_tables import NamesThen
from forward_lineage.frontend import parse, print_sql
from forward_lineage.frontend.parsing import read_fragment
from forward_lineage.spark.names import in_backticks, quoted
from rewrites.aliases import listed, table_name
from rewrites.refusals import refuse
from rewrites.tables import BaseTable, View
from udafs.errors import NotTracedError

ROW_ID = "__why_id"
"""The column with the number of a row, beside those of a relation."""
INSTEAD = "Ask about the query that it is made of, saved by itself."
_OF_TABLE = {"this", "db", "catalog", "alias"}


@dataclass(frozen=True)
class Inner:
    """A query in FROM.

    Attributes:
        tree: the query, in which other names are put in place already.
        columns: the names of its columns, if a list or a view gives them.
        name: of the view, the saved result or the CTE; "" of a subquery.

    """

    tree: exp.Expr
    columns: tuple[str, ...] = ()
    name: str = ""


class Grounding:
    """Puts what names mean in their place.

    Args:
        names: what they meant.

    Attributes:
        texts: of the views and results that were met, by name.

    """

    def __init__(self, names: NamesThen) -> None:
        self._names = names
        self.texts: dict[str, str] = {}

    def inlined(self, tree: exp.Expr, ctes: Mapping[str, Inner] | None = None) -> exp.Expr:
        """Return a query with its CTEs in place of their names; other names stay.

        Raises:
            NotTracedError: WITH RECURSIVE.

        """
        return self._inlined(tree.copy(), dict(ctes or {}))

    def _inlined(self, tree: exp.Expr, ctes: dict[str, Inner]) -> exp.Expr:
        clause = tree.args.get("with_")
        if clause is not None:
            if clause.args.get("recursive"):
                refuse(clause, "WITH RECURSIVE is not followed", INSTEAD)
            for cte in clause.expressions:
                name = cte.alias.lower()
                ctes = {**ctes, name: Inner(self._inlined(cte.this.copy(), ctes), listed(cte), cte.alias)}
            tree.set("with_", None)
        for child in list(tree.iter_expressions()):
            self._put_in(child, ctes)
        return tree

    def _put_in(self, node: exp.Expr, ctes: dict[str, Inner]) -> None:
        parts = table_name(node)
        if len(parts) == 1 and parts[0].lower() in ctes:
            inner = ctes[parts[0].lower()]
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(parts[0], quoted=True))
            alias = alias.copy()
            if inner.columns and not alias.args.get("columns"):
                alias.set("columns", [exp.to_identifier(each, quoted=True) for each in inner.columns])
            made = exp.Subquery(this=inner.tree.copy(), alias=alias)
            made.meta["cte"] = inner.name
            made.set("joins", node.args.get("joins"))
            node.replace(made)
            for join in made.args.get("joins") or ():
                self._put_in(join, ctes)
        elif isinstance(node, exp.Query):
            self._inlined(node, ctes)
        else:
            for child in list(node.iter_expressions()):
                self._put_in(child, ctes)

    def grounded(self, tree: exp.Expr) -> str:
        """Return the text of an inlined query, each table in it read in its old version."""
        return print_sql(self.grounded_tree(tree))

    def grounded_tree(self, tree: exp.Expr) -> exp.Expr:
        """Return an inlined query, or an expression with subqueries, each table in it read in its old version."""
        copied = tree.copy()
        for table in list(copied.find_all(exp.Table)):
            parts = table_name(table)
            if not parts:
                continue
            query = read_fragment(f"SELECT * FROM {self.relation(table)}")
            assert isinstance(query, exp.Select), "it is written here"
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True))
            made = exp.Subquery(this=query, alias=alias.copy())
            made.set("joins", table.args.get("joins"))
            if table is copied:
                return made
            table.replace(made)
        return copied

    def relation(self, table: exp.Table) -> str:
        """Return an item of FROM with the columns of an old table."""
        found = self.meaning(table)
        if isinstance(found, Inner):
            return f"({self.grounded(found.tree)})"
        columns = ", ".join(map(quoted, found.columns))
        return f"(SELECT {columns} FROM {found.relation})"

    def with_ids(self, table: BaseTable, alias: str) -> str:
        """Return a base table with the ids of its rows, under an alias."""
        columns = ", ".join(map(quoted, table.columns))
        read = table.identified or table.relation
        return f"(SELECT {columns}, {table.row_id} AS {ROW_ID} FROM {read}) AS {in_backticks(alias)}"

    def meaning(self, table: exp.Table) -> BaseTable | Inner:
        """Return the base table that a name meant, or the query of a view or saved result.

        Raises:
            NotTracedError: it is something else, or is read in part.

        """
        parts = table_name(table)
        odd = [name for name, value in table.args.items() if value and name not in _OF_TABLE | {"joins"}]
        if odd or not parts:
            refuse(table, f"{print_sql(table)} in FROM is not followed", INSTEAD)
        found = self._names.find(parts)
        if isinstance(found, View):
            self.texts[found.name] = found.sql
            return Inner(self.inlined(parse(found.sql).tree), found.columns, found.name)
        if not isinstance(found, BaseTable):
            raise NotTracedError(f"{'.'.join(parts)} is no registered table", instead=INSTEAD)
        return found
