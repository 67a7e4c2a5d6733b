"""The eight TPC-H tables: keys, the order a lineage id should follow, and sizes.   [TPC-H specification, 1.4, 4.2.5]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Table:
    """One table of TPC-H.

    Attributes:
        name: the table's name, and with `.parquet` its file's.
        key: the columns of its primary key. (Below scale factor 0.01 the generator repeats keys of `partsupp`.)
        order_by: the column that row ids should follow so that lineage clusters: chronological where the table has
            a date, else the first column of the key.   [Zhang 2007, §4.1: "we assign ids in chronological order such
            as shipdate or orderdate. If such an order is not available, we assign based on the key"]
        rows_per_scale: rows at scale factor 1, and in proportion at others; None for `lineitem`, whose size is drawn.
        fixed_rows: rows at every scale factor, for `nation` and `region`.

    """

    name: str
    key: tuple[str, ...]
    order_by: str
    rows_per_scale: int | None = None
    fixed_rows: int | None = None

    def rows(self, scale: float) -> int | None:
        """Return the table's number of rows at a scale factor; None where only generating it tells."""
        if self.fixed_rows is not None:
            return self.fixed_rows
        return None if self.rows_per_scale is None else int(self.rows_per_scale * scale)


_TABLES = (
    Table("region", ("r_regionkey",), "r_regionkey", fixed_rows=5),
    Table("nation", ("n_nationkey",), "n_nationkey", fixed_rows=25),
    Table("supplier", ("s_suppkey",), "s_suppkey", 10_000),
    Table("customer", ("c_custkey",), "c_custkey", 150_000),
    Table("part", ("p_partkey",), "p_partkey", 200_000),
    Table("partsupp", ("ps_partkey", "ps_suppkey"), "ps_partkey", 800_000),
    Table("orders", ("o_orderkey",), "o_orderdate", 1_500_000),
    Table("lineitem", ("l_orderkey", "l_linenumber"), "l_shipdate"),
)

TABLES: Mapping[str, Table] = MappingProxyType({table.name: table for table in _TABLES})
"""The eight tables by name, small ones first."""
