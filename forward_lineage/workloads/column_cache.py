"""Columns that were computed lately, kept in this process for the next result that is made of the same table.

Drilling down saves one result after the other over the same rows; each needs a column or two that the one before did
not. The kept columns are of one version of a table, under the settings of the session. The tables used last stay, up to
`MOST_BYTES`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import pyarrow as pa

from forward_lineage.workloads.base_rows import BaseRows, Ids
from forward_lineage.workloads.columns import Coded, Valued

MOST_BYTES = 1 << 30


@dataclass
class KnownColumns:
    """The columns that are known of one table.

    Attributes:
        rows: how many it has; -1: nothing was computed yet.
        ids: of them, ascending; None: they are 0, 1, 2, ….
        types: of expressions, by text.
        coded: see `BaseRows`.
        valued: see `BaseRows`.

    """

    rows: int = -1
    ids: Ids | None = None
    types: dict[str, pa.DataType] = field(default_factory=dict)
    coded: dict[str, Coded] = field(default_factory=dict)
    valued: dict[str, Valued] = field(default_factory=dict)

    def add(self, more: BaseRows) -> None:
        """Take what was computed."""
        self.rows, self.ids = more.rows, more.ids
        self.coded |= more.coded
        self.valued |= more.valued

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        arrays = [each.codes for each in self.coded.values()]
        arrays += [part for each in self.valued.values() for part in (each.values, each.valid) if part is not None]
        return sum(each.nbytes for each in arrays)


class ColumnCache:
    """The tables that were used last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, KnownColumns] = OrderedDict()

    def of(self, table: str) -> KnownColumns:
        """Return what is known of a table, which is added to.

        Args:
            table: says which, in which version, under which settings.

        """
        found = self._known.setdefault(table, KnownColumns())
        self._known.move_to_end(table)
        return found

    def shrink(self) -> None:
        """Forget the tables that were used longest ago, until the rest is small enough; one that is too large, too."""
        while self._known and sum(each.size for each in self._known.values()) > MOST_BYTES:
            self._known.popitem(last=False)
