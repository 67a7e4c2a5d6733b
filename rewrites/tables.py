"""Facts about tables that the rules need: their columns, where rows are read, what identifies a row or makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

LINEAGE_COLUMN = "DL"
"""What the column is called that says what a row was made of."""
HIDDEN_PREFIX = "__dl_"
"""What names of hidden columns begin with."""
FILE_METADATA = "_metadata"
"""The column that Spark adds to tables of files, which no star shows and no subquery hands on."""


class ColumnFacts(Protocol):
    """What is known of the values of a column, about."""

    @property
    def distinct(self) -> float:
        """How many different ones there are."""

    @property
    def most_frequent(self) -> float:
        """The share of the rows, 0 to 1, that the most frequent one has."""

    def share_between(self, low: str | None, high: str | None) -> float:
        """Return the share of the rows whose value lies between two, written as literals; None: no bound."""


class Statistics(Protocol):
    """Facts about the rows of a table: enough to tell a thousand from a million."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def distinct(self, names: Sequence[str]) -> float | None:
        """Return how many combinations of values columns have, about; None: nothing is known of any of them."""

    def column(self, name: str) -> ColumnFacts | None:
        """Return what is known of a column, by name in any case; None: nothing. It may read a sample of it."""


@dataclass(frozen=True)
class BaseTable:
    """A table whose rows carry ids.

    Attributes:
        name: the name that queries use, its parts joined by dots; it also names the field of `DL`.
        columns: the user's columns in order, as Spark spells them.
        relation: Spark SQL that stands after FROM and yields at least `columns`,
            e.g. ``sales`` or ``parquet.`/data/x```.
        row_id: Spark SQL expression over `relation` (its hidden `_metadata` included) of type BIGINT:
            non-negative, unique, never NULL. [Zhang 2007, §3, the global function id(t)]
        identified: a name, or a parenthesised query, with `columns` and the columns of `row_id`, if `relation` has no
            id to offer. (Ids from a dictionary are joined in.) None: `row_id` is over `relation`.
        ids: what its ids mean, as it is written with tables that carry them; nothing to the rules. None: what `row_id`
            says.
        types: of `columns`, as Spark's `DataType.simpleString` spells them; none: not known.
        statistics: of its rows; None: nothing is known. They say nothing about what it is.
    """

    name: str
    columns: tuple[str, ...]
    relation: str
    row_id: str
    identified: str | None = None
    ids: str | None = None
    types: tuple[str, ...] = ()
    statistics: Statistics | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class StoredTable:
    """A table that carries the lineage of its rows, in a column `DL`: an inner query that was stored.

    Attributes:
        name: what messages call it.
        columns: the user's columns in order: without `DL`.
        lineage: the base tables, in the order of the fields of `DL`.
        semantics: whether that is data or control lineage: ``"data"``, ``"control"``.
        meaning: what it says of its lineage; nothing to the rules.
        check: by which the kernel knows that it still says so.
        open: under control semantics, whether rows might be in it that are not, see `rewrites.non_monotonic`.
        fleeting: its columns that might have other values; None: any.
        gone: base table → ids whose rows are gone, as ranges: ``"3-5,9-12"`` without 5 and 12.
        only: base table → SQL of the set of ids that are asked for; no entry: all.
        carried: where its rows are read with their lineage, if not where it is named. It has its columns, and behind
            them a set for each of `lineage`, in columns that `carried_column` names. Then there is no `DL` to be
            checked.
        by_chance: whether it may have other rows when it is read again.
        added: those of `lineage` whose NULL is the empty set, where the row has lineage at all.
    """

    name: str
    columns: tuple[str, ...]
    lineage: tuple[str, ...]
    semantics: str
    meaning: str
    check: str
    open: bool = False
    fleeting: tuple[str, ...] | None = ()
    gone: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    carried: str = ""
    by_chance: bool = False
    added: frozenset[str] = frozenset()


def carried_column(place: int) -> str:
    """Return the name of the column of a set in `StoredTable.carried`, by its place in `lineage`."""
    return f"{HIDDEN_PREFIX}{place}"


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


Source = BaseTable | StoredTable | View
"""What a name in FROM may mean, if it is not that of a CTE."""


class Tables(Protocol):
    """The registered tables, and the views over them."""

    def find(self, parts: Sequence[str]) -> Source | None:
        """Return what a query calls by this name; None when there is nothing."""

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the full name that Spark lets columns of a table or view be qualified with, if it has no alias.

        Its last part, or its last parts, do as well: catalog, database and table; of a temporary view its name alone.
        """

    def is_variable(self, parts: Sequence[str]) -> bool:
        """Say whether a name that no column has is a variable of the session, or a field of one."""

    def names(self) -> Sequence[str]:
        """Return the names of all tables, for messages."""
