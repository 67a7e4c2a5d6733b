"""What is tried with the tables of each catalog, beside what the engine says of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.comparing import TRACKED, Rows, read_by_engine, traced
from udafs.errors import ChangedError

_ORDERS = [(11, "Ada", 50), (12, "Bob", 70), (13, "Ada", 20), (14, "Cyd", 40)]


@dataclass(frozen=True)
class Catalog:
    """A catalog in two sessions, each of which keeps to itself what it knows of the tables.

    Attributes:
        name: the catalog's.
        kind: the format of its tables.
        spark: the session that lineage is told of.
        other: the other session.

    """

    name: str
    kind: str
    spark: SparkSession
    other: SparkSession

    def rows(self, table: str) -> Rows:
        """What the engine says of the rows of a table, each with its id."""
        return read_by_engine(self.other, self.kind, f"{self.name}.db.{table}")

    def first_version(self, table: str) -> int:
        """The first version with rows."""
        if self.kind == "delta":
            return 1
        found = self.spark.sql(f"SELECT snapshot_id FROM {self.name}.db.{table}.snapshots ORDER BY committed_at")
        return int(found.collect()[0][0])


def check_table_that_others_change(catalog: Catalog, lineage: ForwardLineage) -> None:
    """Register a table by name, let another session change it, refresh, and ask for versions, changes, old rows."""
    spark, name = catalog.spark, f"{catalog.name}.db.orders"
    spark.sql(
        f"CREATE TABLE {name} (o_id bigint, customer string, amount int) USING {catalog.kind} "
        f"TBLPROPERTIES ({TRACKED[catalog.kind]})"
    )
    spark.sql(f"INSERT INTO {name} VALUES {', '.join(map(str, _ORDERS))}")
    before = catalog.rows("orders")
    assert {row[:3] for row in before} == set(_ORDERS)
    lineage.register(name)
    assert traced(lineage, name) == before
    lineage.save(f"SELECT customer, sum(amount) AS amount FROM {name} GROUP BY customer", "by_customer")

    catalog.other.sql(f"UPDATE {name} SET amount = 75 WHERE o_id = 12")
    with pytest.raises(ChangedError, match="refresh"):
        lineage.sql(f"SELECT * FROM {name}")
    lineage.refresh(name)
    now = catalog.rows("orders")
    assert len(now) == len(before) and {row[:3] for row in now} != set(_ORDERS)
    assert traced(lineage, name) == now
    (bob,) = {row[3] for row in now if row[0] == 12}
    assert [tuple(row) for row in lineage.changed(name, since=1).collect()] == [(bob, "written")]
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        was = lineage.backward("by_customer", where="customer = 'Bob'").collect()
    assert [(row.o_id, row.amount) for row in was] == [(12, 70)]
    assert traced(lineage, f"{name} VERSION AS OF {catalog.first_version('orders')}") == before
    catalog.other.sql(f"DROP TABLE {name}")
    with pytest.raises(ChangedError, match="is no table with a log any more"):
        lineage.sql(f"SELECT * FROM {name}")


def check_merge(catalog: Catalog, lineage: ForwardLineage) -> None:
    """Make a table with lineage, and change it by a MERGE."""
    spark, name = catalog.spark, f"{catalog.name}.db.balances"
    for view, rows in (("old", "(1, 'Ada', 50), (2, 'Bob', 70)"), ("news", "(7, 'Bob', 100), (8, 'Dan', 5)")):
        spark.sql(f"CREATE TEMP VIEW {view} AS SELECT * FROM VALUES {rows} AS t(id, customer, amount)")
        lineage.register(view, key="id")
    both = "SELECT o.customer, o.amount FROM old AS o LEFT JOIN news AS n ON false"
    lineage.sql(f"CREATE TABLE {name} USING {catalog.kind} AS {both}")
    lineage.sql(
        f"MERGE INTO {name} AS b USING news AS n ON b.customer = n.customer "
        "WHEN MATCHED THEN UPDATE SET amount = b.amount + n.amount "
        "WHEN NOT MATCHED THEN INSERT (customer, amount) VALUES (n.customer, n.amount)"
    )
    found = lineage.sql(f"SELECT * FROM {name}").selectExpr(
        "customer", "amount", "dl_ids(DL.old) AS old", "dl_ids(DL.news) AS news"
    )
    assert sorted((row.customer, row.amount, row.old, row.news) for row in found.collect()) == [
        ("Ada", 50, [1], []),
        ("Bob", 170, [2], [7]),
        ("Dan", 5, [], [8]),
    ]
