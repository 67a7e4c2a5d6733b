"""Short and long names of tables in several catalogs: what they mean after USE, and namespaces in namespaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.comparing import TRACKED, read_by_engine, traced
from tests.lakes.engines import CATALOG, FORMATS
from udafs.errors import ChangedError, NotRegisteredError, NotTracedError

FORMAT = "iceberg"  # of the second catalog
_HERE = {"delta": "spark_catalog.default", "iceberg": f"{CATALOG}.default"}
"""A namespace for each format; both are called `default` in their catalogs."""


@pytest.fixture
def lineage(lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """In each catalog, a table `origin` and one with lineage, `kept`, under the same short names; two base tables."""
    run = lineage.spark.sql
    run(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.default")
    for base, key in (("of_delta", 1), ("of_iceberg", 2)):
        run(f"CREATE OR REPLACE TEMP VIEW {base} AS SELECT {key} AS id, {10 * key} AS v")
        lineage.register(base, key="id")
    for kind in FORMATS:
        run(f"CREATE TABLE {_HERE[kind]}.origin (k bigint) USING {kind} TBLPROPERTIES ({TRACKED[kind]})")
        run(f"INSERT INTO {_HERE[kind]}.origin VALUES ({len(kind)})")
        lineage.sql(f"CREATE TABLE {_HERE[kind]}.kept USING {kind} AS SELECT v FROM of_{kind}")
    yield lineage
    run("USE spark_catalog.default")
    for kind in FORMATS:
        run(f"DROP TABLE {_HERE[kind]}.origin")
        run(f"DROP TABLE {_HERE[kind]}.kept")


def _with_ids(lineage: ForwardLineage, name: str, base: str) -> list[tuple[object, ...]]:
    return list(map(tuple, lineage.sql(f"SELECT v FROM {name}").selectExpr("v", f"dl_ids(DL.{base})").collect()))


@pytest.mark.parametrize("here", FORMATS)
def test_short_names_of_tables_with_lineage(lineage: ForwardLineage, here: str) -> None:
    lineage.spark.sql(f"USE {_HERE[here]}")
    key = 1 if here == "delta" else 2
    for name in ("kept", "default.kept", f"{_HERE[here]}.kept"):
        lineage.sql(f"UPDATE {name} SET v = v + 1")
    expected = [(10 * key + 3, [key])]
    for name in ("kept", "default.kept", f"{_HERE[here]}.kept"):
        assert _with_ids(lineage, name, f"of_{here}") == expected
    other = next(each for each in FORMATS if each != here)
    assert _with_ids(lineage, f"{_HERE[other]}.kept", f"of_{other}") == [(10 * (3 - key), [3 - key])]


def test_short_names_of_registered_tables(lineage: ForwardLineage) -> None:
    """One table may be registered under two names. In another catalog they mean another table, and are refused."""
    for name in ("origin", "default.origin"):
        lineage.register(name)
        assert [row.k for row in lineage.sql(f"SELECT k FROM {name}").collect()] == [len("delta")]
    lineage.spark.sql(f"USE {_HERE['iceberg']}")
    for name in ("origin", "default.origin"):
        with pytest.raises(ChangedError, match=r"the name means `ice`.`default`.`origin` now"):
            lineage.sql(f"SELECT k FROM {name}")
    lineage.register(f"{_HERE['iceberg']}.origin")
    for name in ("origin", "default.origin"):
        assert [row.k for row in lineage.sql(f"SELECT k FROM {name}").collect()] == [len("iceberg")]


def test_a_view_is_not_taken_for_a_table_of_its_name(lineage: ForwardLineage) -> None:
    run = lineage.spark.sql
    run("CREATE OR REPLACE VIEW spark_catalog.default.seen AS SELECT v FROM spark_catalog.default.kept")
    run(f"USE {_HERE['iceberg']}")
    try:
        with pytest.raises(NotRegisteredError, match=r"default\.seen is not a registered table"):
            lineage.sql("SELECT * FROM default.seen")
    finally:
        run("DROP VIEW spark_catalog.default.seen")


def test_namespaces_in_namespaces(lineage: ForwardLineage) -> None:
    run, within = lineage.spark.sql, f"{CATALOG}.sales.of_2026"
    orders, sums = f"{within}.orders", f"{within}.sums"
    for each in (f"{CATALOG}.sales", within):
        run(f"CREATE NAMESPACE IF NOT EXISTS {each}")
    run(f"CREATE TABLE {orders} (k bigint, v string) USING iceberg TBLPROPERTIES ({TRACKED['iceberg']})")
    try:
        run(f"INSERT INTO {orders} VALUES (1, 'a'), (2, 'b')")
        lineage.register(orders)
        assert traced(lineage, orders) == read_by_engine(lineage.spark, "iceberg", orders)
        for columns in (f"{orders}.*", f"{orders}.k, {orders}.v", f"upper({orders}.v) AS v, {orders}.k"):
            text = f"SELECT {columns} FROM {orders} WHERE {orders}.k > 1"
            assert lineage.sql(text).drop("DL").collect() == run(text).collect()
        lineage.sql(f"CREATE TABLE {sums} USING iceberg AS SELECT v, count(*) AS n FROM {orders} GROUP BY v")
        lineage.sql(f"UPDATE {sums} SET {sums}.n = {sums}.n + 8 WHERE {sums}.v = 'a'")
        set_all = f"{sums}.v = {orders}.v, {sums}.n = {sums}.n + {orders}.k - 1"
        lineage.sql(f"MERGE INTO {sums} USING {orders} ON {sums}.v = {orders}.v WHEN MATCHED THEN UPDATE SET {set_all}")
        called_alike = f"MERGE INTO {sums} USING (SELECT k FROM {orders}) AS sums ON {sums}.n = k"
        with pytest.raises(NotTracedError, match="Give the source another alias"):
            lineage.sql(f"{called_alike} WHEN MATCHED THEN UPDATE SET n = k")
        lineage.save(f"SELECT v FROM {orders} WHERE k = 2", "nested")
        run(f"INSERT INTO {orders} VALUES (3, 'c')")
        lineage.refresh(orders)
        with pytest.warns(UserWarning, match="you see its rows of version 1$"):
            assert [row.v for row in lineage.backward("nested").collect()] == ["b"]
        run(f"USE {within}")
        ids = {row[1]: [row[-1]] for row in read_by_engine(lineage.spark, "iceberg", orders)}
        for name in ("sums", sums):
            found = lineage.sql(f"SELECT v, n FROM {name}").selectExpr("v", "n", f"dl_ids(DL.`{orders}`)")
            assert sorted(map(tuple, found.collect())) == [("a", 9, ids["a"]), ("b", 2, ids["b"])]
        assert lineage.sql("SELECT * FROM orders").count() == 3
    finally:
        run(f"DROP TABLE {orders}")
        run(f"DROP TABLE IF EXISTS {sums}")


def test_what_is_read_of_a_table_is_no_table(lineage: ForwardLineage) -> None:
    for of in ("files", "snapshots", "history"):
        with pytest.raises(NotTracedError, match=f"{of} is no table, but a branch, a tag or another reading of"):
            lineage.register(f"{_HERE['iceberg']}.origin.{of}")
