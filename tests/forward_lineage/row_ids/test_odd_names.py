"""Tables whose names have backticks, dots, spaces, quotes, capitals: registered, queried, saved, asked back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli.frame_rows import decoded
from forward_lineage.row_ids.clustering import lineage_pairs
from forward_lineage.spark.settings import configured
from forward_lineage.spark.tables import full_name
from tests.forward_lineage.row_ids.conftest import DERBY, write
from tests.tiers import every_day

ODD = ["`we``ird.t`", '`It\'s "A" t`', "`Select`", "MixedCase", "`größe`"]
SOME = every_day(ODD, [ODD[0]])
OTHERS = every_day(ODD, [ODD[1]])
DATABASE = "odd.`o``dd db`"


def check_all(lineage: ForwardLineage, name: str, value: str, ids: list[int]) -> None:
    """Ask everything that can be asked of a registered table with these ids."""
    query = f"SELECT {value} AS value FROM {name} ORDER BY value"
    frame = lineage.sql(query)
    assert [list(row.DL[0]) for row in decoded(frame).collect()] == [[i] for i in ids]
    assert sorted(row.id for row in lineage_pairs(frame, name).collect()) == sorted(ids)
    lineage.save(query, "kept")
    assert [row.row_id for row in lineage.backward("kept", rows=[0, 1], table=name).collect()] == sorted(ids[:2])
    assert [row.row_id for row in lineage.forward(name, ids=[ids[1]], result="kept").collect()] == [1]
    assert lineage.table(f"lineage_of(kept, {name})").count() == len(ids)
    assert lineage.rows(name, [ids[0]]).count() == 1
    assert lineage.refresh(name).version == lineage.tables()[name].version
    lineage.unregister(name)


@pytest.mark.parametrize("name", OTHERS)
def test_a_view(lineage: ForwardLineage, name: str) -> None:
    lineage.spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT id AS `i``d. \"x'` FROM range(3)")
    lineage.register(name, key="i`d. \"x'")
    check_all(lineage, name, "`i``d. \"x'`", [0, 1, 2])


@pytest.mark.parametrize("name", SOME)
def test_files(lineage: ForwardLineage, tmp_path: Path, name: str) -> None:
    place = tmp_path / "f`iles it's" / "a b.parquet"
    write(place, [7, 8, 9])
    lineage.register(name, path=place.parent)
    check_all(lineage, name, "v", [0, 1, 2])


def test_a_copy(lineage: ForwardLineage, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", [7, 8, 9], **{"or`der": [3, 2, 1]})
    lineage.register(ODD[0], path=tmp_path / "t.parquet", order_by="`or``der`")
    check_all(lineage, ODD[0], "v", [2, 1, 0])


def test_a_dictionary(lineage: ForwardLineage) -> None:
    lineage.spark.sql(f"CREATE TEMPORARY VIEW {ODD[1]} AS SELECT concat('k', id) AS `k``e y` FROM range(3)")
    lineage.register(ODD[1], key=["k`e y"])
    check_all(lineage, ODD[1], "`k``e y`", [0, 1, 2])


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A catalog that takes any name, as that of a database server; Spark's own takes letters, digits and _."""
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    settings = {
        "spark.sql.catalog.odd": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.odd.url": f"jdbc:derby:memory:{tmp_path.name};create=true",
        "spark.sql.catalog.odd.driver": DERBY,
    }
    session = spark.newSession()
    with configured(session, settings):
        yield session


@pytest.mark.since("4.0", "a catalog of JDBC that makes tables of any name")
@pytest.mark.parametrize("table", OTHERS)
def test_a_table_of_a_catalog(catalog: SparkSession, tmp_path: Path, table: str) -> None:
    name = f"{DATABASE}.{table}"
    catalog.sql(f"CREATE TABLE {name} (`i``d` BIGINT)")
    catalog.sql(f"INSERT INTO {name} VALUES (0), (1), (2)")
    lineage = ForwardLineage(catalog, tmp_path / "home")
    identity = lineage.register(name, key="i`d", trusted=True).identity
    assert identity == full_name(catalog, name) == f"`odd`.`o``dd db`.`{table.strip('`')}`"
    check_all(lineage, name, "`i``d`", [0, 1, 2])
