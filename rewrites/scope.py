"""The columns that a SELECT block can see, and their sources: the names of Spark SQL, case-insensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from rewrites.refusals import nearest, refuse
from rewrites.row_estimates import Estimator, unknown
from rewrites.spark_functions import BARE_CONSTANTS, GROUPING_ID, UNIT_FIRST
from rewrites.terms import LINEAGE_COLUMN, Kind, Lineage, Term, column, hidden_column
from udafs.errors import WrongSqlError

Columns = tuple[str | None, ...] | None
"""Names of the user's columns in order; None for a name only Spark knows, or for all when their number is unknown."""


@dataclass
class FromItem:
    """Something in FROM that yields rows under a name.

    Attributes:
        alias: the name columns are qualified with.
        columns: the user's columns.
        hidden: base table → how its lineage is carried in the hidden column of this item.
        only_on: the SEMI or ANTI JOIN whose right side this is: its ON alone sees the columns.
        traced: whether its hidden columns count as lineage of the block's rows.
        nullable: whether an outer join may replace its row by NULLs.
        node: the rewritten subquery or the name of a CTE that it stands for, if its rows may be referred to.
        keeps_lineage: whether it is a table with a column `DL`, which is none of the user's columns.
        types: those of its columns that are known, by name in lower case.
        beside: a column that no star of the user's has, but that may be named: `_metadata` of files.
        estimated: gives what is expected of its rows.
    """

    alias: str
    columns: Columns
    hidden: Mapping[str, Kind] = field(default_factory=dict)
    only_on: exp.Join | None = None
    traced: bool = True
    nullable: bool = False
    node: exp.Expr | None = None
    keeps_lineage: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    beside: str = ""
    estimated: Estimator = unknown

    @property
    def in_star(self) -> bool:
        """Whether `*` includes its columns."""
        return self.only_on is None

    def has(self, column_name: str) -> bool | None:
        """Say whether it has the column; None: not known."""
        if column_name.lower() == self.beside:
            return True
        if self.columns is None:
            return None
        known = {known.lower() for known in self.columns if known is not None}
        if column_name.lower() in known:
            return True
        return None if None in self.columns else False

    def lineage(self) -> Lineage:
        """Return the terms that it gives to a row of the block."""
        if not self.traced:
            return {}
        return {
            table: [Term(column(self.alias, hidden_column(table)), kind, self.nullable)]
            for table, kind in self.hidden.items()
        }


_OUT = "blocks out"
_TYPE = "type"


def blocks_out(node: exp.Expr) -> int:
    """Return how many blocks further out a column reference was resolved; 0 for other nodes. Copies know it too."""
    return int(node.meta.get(_OUT, 0)) if isinstance(node, exp.Column) else 0


def type_of(node: exp.Expr) -> str | None:
    """Return the type of a column reference that was resolved, if it is known; copies know it too."""
    known = node.meta.get(_TYPE) if isinstance(node, exp.Column) else None
    return None if known is None else str(known)


def moved_out(expression: exp.Expr) -> exp.Expr:
    """Return a copy to stand in the block around its own: what was one block out there is at home here."""
    copy = expression.copy()
    for node in copy.find_all(exp.Column):
        node.meta[_OUT] = max(blocks_out(node) - 1, 0)
    return copy


class Scope:
    """The items that one block reads, and the block around it.

    Attributes:
        from_items: what stands in FROM, in the order in which the names come into sight.
        outer: the block around this one.
        on: the join there in whose ON this block stands.
        aliases: the names that the SELECT gives, lower case.
        names_itself: whether it leaves Spark to name a column after its expression: ``SELECT sum(x)``.
        correlated: whether the block mentions a column of a block around it.
        mentioned: what blocks inside this one have mentioned of it; a name without a qualifier may mean several.
    """

    def __init__(self, outer: Scope | None = None, on: exp.Join | None = None) -> None:
        self.from_items: list[FromItem] = []
        self.outer = outer
        self.on = on
        self.aliases: set[str] = set()
        self.names_itself = False
        self.mentioned: list[FromItem] = []
        self.correlated = False

    def from_item(self, alias: str) -> FromItem | None:
        """Return what is called so in FROM, of this block only."""
        return next((item for item in self.from_items if item.alias.lower() == alias.lower()), None)

    def seen_from(self, on: exp.Join | None) -> list[FromItem]:
        """Return what is seen from the ON of a join, or from any other clause."""
        return [item for item in self.from_items if item.only_on is None or item.only_on is on]

    def meant(self, node: exp.Column, on: exp.Join | None) -> list[FromItem]:
        """Return the sources that may have a column that stands in the ON of a join, or in another clause."""
        return _meant(node, self.seen_from(on))

    def visible_columns(self) -> list[str]:
        """Return all column names that are known here, for messages."""
        return [known for item in self.seen_from(None) for known in item.columns or () if known is not None]

    def resolve(self, node: exp.Column) -> bool:
        """Find what a column reference means; mark every block that it reaches out of as correlated.

        Returns:
            Whether something here or further out can have such a column.
        """
        crossed: list[Scope] = []
        scope: Scope | None = self
        around = node.find_ancestor(exp.Join, exp.Query)
        on = around if isinstance(around, exp.Join) else None
        while scope is not None:
            seen = scope.seen_from(on)
            if scope._sees(node, seen):
                for inner in crossed:
                    inner.correlated = True
                node.meta[_OUT] = len(crossed)
                _note_type(node, seen)
                scope.mentioned += _meant(node, seen) if crossed else []
                return True
            crossed.append(scope)
            on = scope.on
            scope = scope.outer
        return _is_not_a_column(node) or (self.names_itself and node.this.quoted and not node.table)

    def sees_further_out(self, node: exp.Column) -> bool:
        """Say whether a block around this one has, or may have, such a column."""
        if self.outer is None:
            return False
        return self.outer._sees(node, self.outer.seen_from(self.on)) or self.outer.sees_further_out(node)

    def resolve_star(self, node: exp.Column) -> None:
        """Find what `t.*` is the star of; in LATERAL it may be a source of a block around this one.

        A name that nothing in FROM has is that of a struct column, as is one of several parts: its fields are Spark's
        to find.
        """
        if node.args.get("db"):
            return
        crossed: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            if scope.from_item(node.table) is not None:
                for inner in crossed:
                    inner.correlated = True
                node.meta[_OUT] = len(crossed)
                return
            if any(item.has(node.table) is not False for item in scope.seen_from(None)):
                return
            crossed.append(scope)
            scope = scope.outer

    def source_of_star(self, node: exp.Column) -> FromItem | None:
        """Return what `t.*` is the star of, here or in a block further out; None for the fields of a struct column."""
        if node.args.get("db"):
            return None
        scope: Scope | None = self
        for _ in range(blocks_out(node)):
            scope = scope.outer if scope is not None else None
        return scope.from_item(node.table) if scope is not None else None

    def _keeps_lineage(self) -> bool:
        further_out = self.outer is not None and self.outer._keeps_lineage()
        return further_out or any(item.keeps_lineage for item in self.from_items)

    def _sees(self, node: exp.Column, seen: list[FromItem]) -> bool:
        parts = [part.name for part in node.parts]
        if any(_through(item, parts) for item in seen):
            return True
        first = parts[0]  # alone, or a struct column whose field follows
        return first.lower() in self.aliases or any(item.has(first) is not False for item in seen)

    def refuse_unknown(self, node: exp.Column) -> NoReturn:
        """Refuse a column reference that means nothing.

        Raises:
            WrongSqlError: always; NotTracedError for the column `DL` of a table that carries lineage.
        """
        qualifier = ".".join(part.name for part in list(node.parts)[:-1])
        item = self.from_item(node.parts[0].name) if qualifier else None
        if LINEAGE_COLUMN in (part.name.upper() for part in node.parts) and self._keeps_lineage():
            what = f"{node.sql()} is the lineage of a row, which the result carries in its own column {LINEAGE_COLUMN}"
            refuse(node, what, "Leave it out; or query the table with spark.sql(…), which shows all its columns.")
        if item is not None and item.only_on is not None:
            what = f"{qualifier} is the right side of a {item.only_on.kind} JOIN: only its ON sees {node.sql()}"
            refuse(node, what, "Select columns of the left side, or use an inner join.", WrongSqlError)
        if item is not None:
            known = [known for known in item.columns or () if known is not None]
            missing = node.parts[1].name
            refuse(node, f"{item.alias} has no column {missing}", nearest(missing, known), WrongSqlError)
        if qualifier:
            aliases = [item.alias for item in self.from_items]
            what = f"unknown relation {qualifier} in {qualifier}.{node.name}"
            refuse(node, what, nearest(qualifier, aliases), WrongSqlError)
        what = f"unknown column {node.name}"
        refuse(node, what, nearest(node.name, self.visible_columns()), WrongSqlError)


def _meant(node: exp.Column, seen: list[FromItem]) -> list[FromItem]:
    """Return the sources that may have the column: those whose name it gives, else those known to have it, else all."""
    parts = [part.name for part in node.parts]
    by_name = [item for item in seen if _through(item, parts)]
    known = [item for item in seen if item.has(parts[0])]
    return by_name or known or seen


def _note_type(node: exp.Column, seen: list[FromItem]) -> None:
    """Keep the type of a column beside its name, if only one source may have it and knows."""
    parts = [part.name for part in node.parts]
    sources = _meant(node, seen)
    if len(sources) == 1 and len(parts) == 1 + _through(sources[0], parts):
        node.meta[_TYPE] = sources[0].types.get(node.name.lower())


def _through(item: FromItem, parts: list[str]) -> bool:
    """Say whether a name goes through the item's alias to what can be a column of it; see `rewrites.qualifiers`."""
    return len(parts) > 1 and parts[0].lower() == item.alias.lower() and item.has(parts[1]) is not False


def _is_not_a_column(node: exp.Column) -> bool:
    """Say whether a bare name is a keyword-like function (`current_user`) or a unit (`timestampadd(MONTH, …)`)."""
    if node.table:
        return False
    if node.name.lower() in BARE_CONSTANTS or node.name.lower() == GROUPING_ID:
        return True
    parent = node.parent
    return isinstance(parent, exp.Anonymous) and parent.name.lower() in UNIT_FIRST and parent.expressions[0] is node
