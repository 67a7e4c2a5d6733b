"""Columns of type CHAR of different lengths: Spark pads them where it sees them compared, with lineage, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.tiers import every_day

TABLES = {
    "short": "(k INT, c CHAR(3), n INT) USING parquet|(1, 'ab', 5), (2, 'abc', 1), (3, 'zz', 9), (4, NULL, 2)",
    "long": "(k INT, c CHAR(5), n INT) USING parquet|(7, 'ab', 3), (8, 'abc', 4), (9, 'q', 8), (10, 'ab', 7)",
}
SAME = "FROM long b WHERE b.c = a.c"
#: By name: a query, its semantics, and of which rows of `long` each of its rows is made; None: not looked at.
QUERIES: dict[str, tuple[str, str, list[list[int]] | None]] = {
    "exists": (f"SELECT k FROM short a WHERE EXISTS (SELECT 1 {SAME}) ORDER BY k", "control", [[7, 10], [8]]),
    "not exists": (f"SELECT k FROM short a WHERE NOT EXISTS (SELECT 1 {SAME}) ORDER BY k", "control", [[], []]),
    "a value": (f"SELECT k FROM short a WHERE 6 < (SELECT max(k) {SAME}) ORDER BY k", "control", [[7, 10], [8]]),
    "with a literal": (
        f"SELECT k, (SELECT sum(n) {SAME} AND (b.c = 'ab' OR b.n < a.n)) AS m FROM short a ORDER BY k",
        "data",
        [[7, 10], [], [], []],
    ),
    "an order": (
        "SELECT k, (SELECT sum(n) FROM long b WHERE b.n = a.n - 1 AND b.c >= a.c) AS m FROM short a ORDER BY k",
        "data",
        [[8], [], [], []],
    ),
    "renamed": (
        "SELECT k, (SELECT sum(n) FROM (SELECT c AS d, n FROM long) b WHERE b.d = a.e AND b.n < a.n + 9 AND b.d <= a.e)"
        " AS m FROM (SELECT k, n, c AS e FROM short) a ORDER BY k",
        "data",
        [[7, 10], [8], [], []],
    ),
    "of groups": (
        "WITH g AS (SELECT c, count(*) AS n FROM long GROUP BY c)"
        " SELECT k FROM short a WHERE EXISTS (SELECT 1 FROM g WHERE g.c = a.c AND g.n < a.n) ORDER BY k",
        "control",
        [[7, 10]],
    ),
    "groups": (
        f"SELECT n % 2 AS r, count(*) AS m FROM short a WHERE EXISTS (SELECT 1 {SAME}) GROUP BY 1",
        "control",
        None,
    ),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    for name, said in TABLES.items():
        columns, rows = said.split("|")
        spark.sql(f"CREATE TABLE {name} {columns}")
        spark.sql(f"INSERT INTO {name} VALUES {rows}")
    yield
    for name in TABLES:
        spark.sql(f"DROP TABLE {name}")


@pytest.fixture
def chars(tables: None, lineage: ForwardLineage) -> ForwardLineage:
    for name in TABLES:
        lineage.register(name, key="k")
    return lineage


@pytest.mark.parametrize("name", every_day(QUERIES, ["exists", "a value", "with a literal", "of groups"]))
def test_rows_and_lineage(chars: ForwardLineage, name: str) -> None:
    sql, semantics, of_long = QUERIES[name]
    found = chars.sql(sql, semantics=semantics)
    assert found.drop("DL").collect() == chars.spark.sql(sql).collect()
    if of_long is not None:
        assert [ids for (ids,) in found.selectExpr("dl_ids(DL.long)").collect()] == of_long


def test_saved_in_parts(chars: ForwardLineage) -> None:
    """A stage is written to files, and read again as columns of type CHAR."""
    sql = "WITH g AS (SELECT c, count(*) AS n FROM long GROUP BY c) SELECT a.k, g.n FROM short a JOIN g ON g.c = a.c"
    chars.save(sql, "joined")
    rows = chars.result("joined").collect()
    assert sorted(map(tuple, rows)) == sorted(map(tuple, chars.spark.sql(sql).collect())) == [(1, 2), (2, 1)]


def test_no_sketch_of_what_is_padded(chars: ForwardLineage) -> None:
    chars.tune("eager", least=0)
    sql = "SELECT sum(n) AS s FROM long WHERE c = 'ab'"
    assert [chars.run(sql).collect() for _ in range(2)] == [chars.spark.sql(sql).collect()] * 2
    assert "of type CHAR" in chars.decisions()[-1].why
    other = "SELECT sum(n) AS s FROM long WHERE n > 3"
    assert [chars.run(other).collect() for _ in range(2)] == [chars.spark.sql(other).collect()] * 2
    assert str(chars.decisions()[-2].way) == "capture"
