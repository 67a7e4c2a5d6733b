"""What the rules need to know about a base table: its columns, where its rows are read, and what identifies a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class BaseTable:
    """A table whose rows carry ids.

    Attributes:
        name: the name that queries use, one to three parts joined by dots; it also names the field of `DL`.
        columns: the user's columns in order, as Spark spells them.
        relation: Spark SQL that stands after FROM and yields at least `columns`,
            e.g. ``sales`` or ``parquet.`/data/x```.
        row_id: Spark SQL expression over `relation` (its hidden `_metadata` included) of type BIGINT:
            non-negative, unique, never NULL. [Zhang 2007, §3, the global function id(t)]
        identified: a name, or a parenthesised query, with `columns` and whatever `row_id` needs, when `relation` has no
            id to offer (ids from a dictionary are joined in); None: `row_id` is over `relation`.
    """

    name: str
    columns: tuple[str, ...]
    relation: str
    row_id: str
    identified: str | None = None


@dataclass(frozen=True)
class View:
    """A name for a query: its text is rewritten where the name is used.

    Attributes:
        name: the name that queries use.
        columns: the view's columns in order; they may differ from the names that its text gives.
        sql: the text of the query.
    """

    name: str
    columns: tuple[str, ...]
    sql: str


class Tables(Protocol):
    """The registered tables, and the views over them."""

    def find(self, parts: Sequence[str]) -> BaseTable | View | None:
        """Return what a query calls by this name of one to three parts; None when there is nothing."""

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say whether a name that no column has is a variable of the session, or a field of one."""

    def names(self) -> Sequence[str]:
        """Return the names of all tables, for messages."""
