"""Tables of Iceberg's Hadoop, JDBC and REST catalogs by their names, beside what the engine says of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.engines import NoEngineError
from tests.lakes.rest_catalog import rest_catalog
from tests.shared_state import drop_views
from udafs.errors import ChangedError

_ORDERS = [(11, "Ada", 50), (12, "Bob", 70), (13, "Ada", 20), (14, "Cyd", 40)]


@dataclass(frozen=True)
class Catalog:
    """A catalog in two sessions, each of which keeps to itself what it knows of the tables.

    Attributes:
        name: the catalog's.
        spark: the session that lineage is told of.
        other: the other session.

    """

    name: str
    spark: SparkSession
    other: SparkSession

    def rows(self, table: str) -> set[tuple[object, ...]]:
        """What the engine says of the rows of a table, each with its id."""
        return {tuple(row) for row in self.other.sql(f"SELECT *, _row_id FROM {self.name}.db.{table}").collect()}


@pytest.fixture(params=["hadoop", "jdbc", "rest"])
def catalog(request: pytest.FixtureRequest, lakes: SparkSession, tmp_path: Path) -> Iterator[Catalog]:
    if request.param != "rest":
        yield _catalog(lakes, request.param, _settings(request.param, tmp_path / "lake"))
        return
    try:
        with rest_catalog(tmp_path / "rest") as address:
            yield _catalog(lakes, "rest", {"type": "rest", "uri": address})
    except NoEngineError as error:
        pytest.skip(str(error))


def _settings(kind: str, folder: Path) -> Mapping[str, str]:
    folder.mkdir()
    uri = {"uri": f"jdbc:sqlite:{folder / 'catalog.db'}"} if kind == "jdbc" else {}
    return {"type": kind, "warehouse": str(folder / "warehouse"), **uri}


def _catalog(lakes: SparkSession, kind: str, settings: Mapping[str, str]) -> Catalog:
    name, sessions = f"of_{kind}", (lakes.newSession(), lakes.newSession())
    for spark in sessions:
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in settings.items():
            spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    sessions[0].sql(f"CREATE NAMESPACE {name}.db")
    return Catalog(name, *sessions)


@pytest.fixture
def lineage(catalog: Catalog, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(catalog.spark, home=tmp_path / "home")
    drop_views(catalog.spark)


def test_a_table_that_others_change(catalog: Catalog, lineage: ForwardLineage) -> None:
    spark, name = catalog.spark, f"{catalog.name}.db.orders"
    spark.sql(
        f"CREATE TABLE {name} (o_id bigint, customer string, amount int) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3')"
    )
    spark.sql(f"INSERT INTO {name} VALUES {', '.join(map(str, _ORDERS))}")
    before = catalog.rows("orders")
    assert {row[:3] for row in before} == set(_ORDERS)
    lineage.register(name)
    assert _traced(lineage, f"SELECT * FROM {name}", name) == before
    lineage.save(f"SELECT customer, sum(amount) AS amount FROM {name} GROUP BY customer", "by_customer")

    catalog.other.sql(f"UPDATE {name} SET amount = 75 WHERE o_id = 12")
    with pytest.raises(ChangedError, match="refresh"):
        lineage.sql(f"SELECT * FROM {name}")
    lineage.refresh(name)
    now = catalog.rows("orders")
    assert len(now) == len(before) and {row[:3] for row in now} != set(_ORDERS)
    assert _traced(lineage, f"SELECT * FROM {name}", name) == now
    (bob,) = {row[3] for row in now if row[0] == 12}
    assert [tuple(row) for row in lineage.changed(name, since=1).collect()] == [(bob, "written")]
    assert [row.o_id for row in lineage.backward("by_customer", where="customer = 'Bob'").collect()] == [12]

    (first, *_) = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").first()
    past = f"{name.replace('.', '_')}_as_of_{first}"
    assert _traced(lineage, f"SELECT * FROM {name} VERSION AS OF {first}", past) == before


def test_merge_into_a_table_with_lineage(catalog: Catalog, lineage: ForwardLineage) -> None:
    spark, name = catalog.spark, f"{catalog.name}.db.balances"
    for view, rows in (("old", "(1, 'Ada', 50), (2, 'Bob', 70)"), ("news", "(7, 'Bob', 100), (8, 'Dan', 5)")):
        spark.sql(f"CREATE TEMP VIEW {view} AS SELECT * FROM VALUES {rows} AS t(id, customer, amount)")
        lineage.register(view, key="id")
    lineage.sql(
        f"CREATE TABLE {name} USING iceberg AS SELECT o.customer, o.amount FROM old AS o LEFT JOIN news AS n ON false"
    )
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


def _traced(lineage: ForwardLineage, sql: str, field: str) -> set[tuple[object, ...]]:
    frame = lineage.sql(sql)
    found = frame.selectExpr(*frame.columns[:-1], f"dl_ids(DL.`{field}`) AS ids").collect()
    assert all(len(row.ids) == 1 for row in found)
    return {(*row[:-1], row.ids[0]) for row in found}
