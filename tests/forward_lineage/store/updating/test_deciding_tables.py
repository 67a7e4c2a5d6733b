"""Results whose queries read tables that no row is traced to: a change of these makes them stale, too."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.embedded.questions import Questions
from forward_lineage.results import trusted_tables
from forward_lineage.session.rows_since import reads_of
from tests.shared_state import drop_views

#: Queries over `asked` that `deciding` decides; none has lineage in it.
QUERIES = {
    "d_not_exists": "SELECT id FROM asked a WHERE NOT EXISTS (SELECT 1 FROM deciding d WHERE d.id = a.id)",
    "d_exists": "SELECT id FROM asked a WHERE EXISTS (SELECT 1 FROM deciding d WHERE d.id = a.id)",
    "d_in": "SELECT id FROM asked WHERE id IN (SELECT id FROM deciding)",
    "d_except": "SELECT id FROM asked EXCEPT SELECT id FROM deciding",
    "d_anti": "SELECT id FROM asked a LEFT ANTI JOIN deciding d ON a.id = d.id",
    "d_semi": "SELECT id FROM asked a LEFT SEMI JOIN deciding d ON a.id = d.id",
    "d_scalar": "SELECT id FROM asked WHERE id >= (SELECT max(id) FROM deciding)",
    "d_having": "SELECT id, count(*) AS n FROM asked GROUP BY id HAVING id IN (SELECT id FROM deciding)",
    "d_with": "WITH d AS (SELECT id + 0 AS id FROM deciding) SELECT id FROM asked WHERE id NOT IN (SELECT id FROM d)",
    "d_view": "SELECT id FROM asked WHERE id IN (SELECT id FROM view_of_deciding)",
    "d_granules": "SELECT id FROM asked WHERE id IN (SELECT id FROM deciding) LINEAGE ON (asked.x)",
    "d_nothing_traced": "SELECT 1 AS id WHERE EXISTS (SELECT 1 FROM deciding WHERE id = 2)",
}


@pytest.fixture(scope="module")
def decided(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    """Results of all queries, one over a result that decides, and `deciding` changed after they were saved."""
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("decided") / "home")
    _register(lineage, "asked", "(1, 1), (2, 2), (3, 3)")
    _register(lineage, "deciding", "(1, 1)")
    spark.sql("CREATE OR REPLACE TEMP VIEW view_of_deciding AS SELECT id FROM deciding")
    for name, sql in QUERIES.items():
        lineage.save(sql, name)
    lineage.save("SELECT id FROM asked WHERE id > (SELECT max(id) FROM d_in)", "d_of_result")
    lineage.save(lineage.sql(QUERIES["d_not_exists"]), "d_of_frame")
    _register(lineage, "deciding", "(2, 2)")
    yield lineage
    drop_views(spark)


def _register(lineage: ForwardLineage, name: str, rows: str) -> None:
    source = lineage.spark.sql(f"SELECT * FROM VALUES {rows} AS v(id, x)")
    lineage.register(name, source=source, key="id")


def _stale(lineage: ForwardLineage) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in lineage.stale().collect():
        found.setdefault(row.result, []).append(row.table)
    return found


def _updated(lineage: ForwardLineage) -> dict[str, str]:
    """Bring all up to date; what was saved from a frame with `DL` is left, and a warning says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {row.result: row.way for row in lineage.update().collect()}


def test_they_are_stale_and_update_makes_them_right(decided: ForwardLineage) -> None:
    spark = decided.spark
    assert decided.describe("d_in").decided_by[0].name == "deciding"
    assert [table.name for table in decided.describe("d_in").tables] == ["asked"]
    stale = _stale(decided)
    assert stale == {name: ["deciding"] for name in (*QUERIES, "d_of_frame", "d_of_result")}
    assert Questions(decided.home).stale().first(100)[0]
    ways = _updated(decided)
    assert ways.pop("d_of_frame") == "left"
    partly = {"d_not_exists", "d_exists", "d_in", "d_except", "d_scalar", "d_with", "d_of_result"}
    assert {name for name, way in ways.items() if way == "partly"} == partly
    assert {way for name, way in ways.items() if name not in partly} == {"recomputed"}
    for name in (*QUERIES, "d_of_result"):
        sql = decided.describe(name).sql.partition("LINEAGE ON")[0]
        assert sorted(spark.table(name).collect()) == sorted(spark.sql(sql).collect()), name
    assert _stale(decided) == {"d_of_frame": ["deciding"]}


def test_a_version_without_other_rows_is_proven(decided: ForwardLineage) -> None:
    _register(decided, "deciding", "(2, 2), (3, 3)")
    _register(decided, "deciding", "(2, 2)")
    ways = _updated(decided)
    assert ways["d_nothing_traced"] == "untouched"
    assert decided.describe("d_nothing_traced").decided_by[0].version == decided.tables()["deciding"].version
    assert _stale(decided) == {"d_of_frame": ["deciding"]}


def test_rows_that_went_unseen_leave_nothing_proven(decided: ForwardLineage, tmp_path: Path) -> None:
    """Of a file that was written over only hashes are left, and no lineage tells what a row decided."""
    spark, file = decided.spark, f"{tmp_path}/lost"
    for rows in ("(1), (2)", "(2)"):
        spark.sql(f"SELECT * FROM VALUES {rows} AS v(id)").write.mode("overwrite").parquet(file)
        if "lost" in decided.tables():
            decided.refresh("lost")
        else:
            spark.read.parquet(file).createOrReplaceTempView("lost")
            decided.register("lost", key="id", path=file, hashes=True)
            decided.save("SELECT id FROM asked a WHERE NOT EXISTS (SELECT 1 FROM lost l WHERE l.id = a.id)", "d_lost")
    (row,) = decided.update("d_lost").collect()
    assert row.way == "recomputed" and "lost only decides" in row.why
    assert sorted(each.id for each in spark.table("d_lost").collect()) == [1, 3]


def test_one_that_is_taken_on_trust_is_said(decided: ForwardLineage) -> None:
    """Nobody would notice that it changed."""
    decided.spark.sql("CREATE OR REPLACE TEMP VIEW trusted_decider AS SELECT 2 AS id")
    decided.register("trusted_decider", key="id", trusted=True)
    decided.save("SELECT id FROM asked WHERE id IN (SELECT id FROM trusted_decider)", "d_trusted")
    assert "trusted_decider" in trusted_tables(decided.stale())


def test_a_cell_has_read_them(decided: ForwardLineage) -> None:
    """So that a notebook tells when such a table changes."""
    read = reads_of(decided, "sql", (), decided.sql(QUERIES["d_not_exists"]))
    assert {each.name for each in read} == {"asked", "deciding"}
