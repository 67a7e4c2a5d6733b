"""Of a query's lineage, what is captured: which tables, which of their rows, and when.   [Smoke, §3.2, §4.1, §4.2]"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from forward_lineage.spark.names import split_name
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.saved_result import TracedTable
from udafs.errors import BadArgumentError

When = Literal["now", "later", "auto"]
WHEN: tuple[When, ...] = ("now", "later", "auto")


@dataclass(frozen=True)
class Scope:
    """The lineage that is to be captured, by the user's arguments.

    Attributes:
        tables: names of the only tables whose lineage is captured; None: all that the query reads.
        where: table → condition over its columns: lineage in rows that meet it is all that is captured.
        when: with the rows, at the first question, or whichever costs less.

    """

    tables: tuple[str, ...] | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    when: When = "now"

    @classmethod
    def of(cls, tables: Collection[str] | None, where: Mapping[str, str] | None, when: When) -> Scope:
        """Take arguments of `ForwardLineage.save`.

        Raises:
            BadArgumentError: they are of no type that it takes.

        """
        if when not in WHEN:
            raise BadArgumentError(f"capture={when!r} is not known", instead=f"Use one of {', '.join(WHEN)}.")
        listed = tables is None or (not isinstance(tables, str) and all(isinstance(each, str) for each in tables))
        if not listed:
            raise BadArgumentError("tables= takes names of tables", instead='Write tables=["sales"].')
        conditions = {} if where is None else where
        if not isinstance(conditions, Mapping) or not all(
            isinstance(c, str) for pair in conditions.items() for c in pair
        ):
            raise BadArgumentError(
                "where= takes a condition for a table", instead="""Write where={"sales": "price > 10"}."""
            )
        return cls(None if tables is None else tuple(tables), dict(conditions), when)

    @property
    def is_all_now(self) -> bool:
        """Whether all lineage is captured with the rows."""
        return self.tables is None and not self.where and self.when == "now"

    def of_tables(self, read: Sequence[str]) -> Scope:
        """Return the same with the names that the tables have.

        Args:
            read: the tables that the query is traced to.

        Raises:
            BadArgumentError: it names another one.

        """
        names = None if self.tables is None else tuple(dict.fromkeys(_named(name, read) for name in self.tables))
        where = {_named(name, read): condition for name, condition in self.where.items()}
        if len(where) < len(self.where):
            raise BadArgumentError("where= names a table twice", instead="Join the conditions with AND.")
        for name in where:
            if names is not None and name not in names:
                raise BadArgumentError(
                    f"where= restricts lineage in {name}, of which tables= captures none",
                    instead=f"Name {name} in tables=, too, or leave its condition out.",
                )
        return replace(self, tables=names, where=where)

    def is_captured(self, table: str) -> bool:
        """Tell whether any lineage in a table is captured."""
        return self.tables is None or table in self.tables

    def applied(self, table: TracedTable) -> TracedTable:
        """Return a table with what is captured of it."""
        if not self.is_captured(table.name):
            return replace(table, captured=Captured.NEVER)
        captured = Captured.LATER if self.when == "later" else Captured.NOW
        return replace(table, captured=captured, only=self.where.get(table.name))


ALL_NOW = Scope()
"""All lineage is captured with the rows."""


def scope_left(tables: Sequence[TracedTable]) -> Scope:
    """Return the scope of what a save left for later."""
    left = [table for table in tables if table.captured is Captured.LATER]
    where = {table.name: table.only for table in left if table.only is not None}
    return Scope(tuple(table.name for table in left), where)


def _named(name: str, read: Sequence[str]) -> str:
    known = {each.lower(): each for each in read}
    found = known.get(name.lower()) or known.get(".".join(split_name(name)).lower())
    if found is None:
        raise BadArgumentError(
            f"the query is not traced to {name}",
            instead=f"It is traced to {', '.join(read)}." if read else "It is traced to no table.",
        )
    return found
