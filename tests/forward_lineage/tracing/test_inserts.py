"""INSERT in all its forms: into plain targets the plain rows, into targets with `DL` the rows with their lineage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import LineageError, NotTracedError, WrongSqlError

TABLES = ("plain", "parts", "carries", "carries_parts")


@pytest.fixture(scope="module")
def targets(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    """Plain targets and such with `DL`, each also partitioned by b; base (k, g) is (1, 10), (2, 20)."""
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("home"))
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW base AS SELECT id AS k, id * 10 AS g FROM range(1, 3)")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW another AS SELECT id AS k FROM range(1)")
    lineage.register("base", key="k")
    lineage.register("another", key="k")
    spark.sql("CREATE TABLE plain (a BIGINT DEFAULT 7, b BIGINT) USING parquet")
    spark.sql("CREATE TABLE parts (a BIGINT, b BIGINT) USING parquet PARTITIONED BY (b)")
    lineage.sql("CREATE TABLE carries USING parquet AS SELECT k AS a, g AS b FROM base")
    lineage.sql("CREATE TABLE carries_parts USING parquet PARTITIONED BY (b) AS SELECT k AS a, g AS b FROM base")
    yield lineage
    for table in TABLES:
        spark.sql(f"DROP TABLE {table}")
    drop_views(spark)


@pytest.fixture
def lineage(targets: ForwardLineage) -> ForwardLineage:
    """The same targets, empty."""
    for table in TABLES:
        targets.spark.sql(f"TRUNCATE TABLE {table}")
    return targets


TWO = [(1, 10), (2, 20)]
FORMS = [
    ("INSERT INTO {} SELECT k, g FROM base", TWO),
    ("insert into table {}\n select k, g -- as they are\n from base;", TWO),
    ("INSERT INTO {} (a, b) SELECT k, g FROM base", TWO),
    ("INSERT INTO {} (b, a) SELECT g, k FROM base", TWO),
    ("INSERT INTO {} BY NAME SELECT g AS b, k AS a FROM base", TWO),
    ("INSERT OVERWRITE {} SELECT k, g FROM base", TWO),
    ("INSERT OVERWRITE TABLE {} (b, a) SELECT g, k FROM base", TWO),
    ("INSERT INTO {} FROM base SELECT k, g", TWO),
    ("INSERT INTO {} (SELECT k, g FROM base)", TWO),
    ("WITH c AS (SELECT k, g FROM base) INSERT INTO {} SELECT * FROM c", TWO),
    ("INSERT INTO {} WITH c AS (SELECT k, g FROM base) SELECT * FROM c", TWO),
    ("INSERT INTO {} SELECT max(k), sum(g) FROM base", [(2, 30)]),
]
PARTITIONED = [
    ("INSERT INTO {} PARTITION (b = 1) SELECT k FROM base", [(1, 1), (2, 1)]),
    ("INSERT OVERWRITE {} PARTITION (b = 1) SELECT k FROM base", [(1, 1), (2, 1)]),
    ("INSERT INTO {} PARTITION (b = 1) (a) SELECT k FROM base", [(1, 1), (2, 1)]),
    ("INSERT INTO {} PARTITION (b) SELECT k, g FROM base", TWO),
    ("INSERT INTO {} SELECT k, g FROM base", TWO),
    ("INSERT INTO {} BY NAME SELECT g AS b, k AS a FROM base", TWO),
]
TWICE = [(1, 0), (2, 0), (10, 1), (20, 1)]
# What our front end does not read, and Spark does.
SPARKS = [
    ("plain", "INSERT INTO plain VALUES (DEFAULT, 2)", [(7, 2)]),
    ("plain", "INSERT INTO plain (b, a) VALUES (1, DEFAULT)", [(7, 1)]),
    ("plain", "FROM base INSERT INTO plain SELECT k, g", TWO),
    ("plain", "FROM base INSERT INTO plain SELECT k, 0 INSERT INTO plain SELECT g, 1", TWICE),
    ("parts", "INSERT OVERWRITE parts PARTITION (b = 9) IF NOT EXISTS SELECT k FROM base", [(1, 9), (2, 9)]),
]  # fmt: skip


def rows(lineage: ForwardLineage, table: str) -> list[tuple[int, int]]:
    return sorted((row.a, row.b) for row in lineage.spark.sql(f"SELECT a, b FROM {table}").collect())


def sets(lineage: ForwardLineage, table: str) -> dict[int, list[int]]:
    found = lineage.spark.sql(f"SELECT a, dl_ids(DL.base) AS ids FROM {table}").collect()
    return {row.a: list(row.ids) for row in found}


# Every day each form goes into a table of one kind or the other.
@pytest.mark.parametrize(("sql", "found"), every_day(FORMS, [FORMS[at] for at in (1, 3, 4, 6, 10, 11)]))
def test_into_a_plain_table(lineage: ForwardLineage, sql: str, found: list[tuple[int, int]]) -> None:
    assert lineage.sql(sql.format("plain")).columns == []
    assert rows(lineage, "plain") == found


@pytest.mark.parametrize(("sql", "found"), every_day(PARTITIONED, [PARTITIONED[1], PARTITIONED[3]]))
def test_into_plain_partitions(lineage: ForwardLineage, sql: str, found: list[tuple[int, int]]) -> None:
    lineage.sql(sql.format("parts"))
    assert rows(lineage, "parts") == found


@pytest.mark.parametrize(("table", "sql", "found"), SPARKS)
def test_forms_that_spark_alone_reads(
    lineage: ForwardLineage, table: str, sql: str, found: list[tuple[int, int]]
) -> None:
    assert lineage.rewrite(sql) == sql, "it runs as it is"
    lineage.sql(sql)
    assert rows(lineage, table) == found


def test_with_parameters(lineage: ForwardLineage) -> None:
    lineage.sql("INSERT INTO plain SELECT k, g FROM base WHERE k = :k", args={"k": 2})
    assert rows(lineage, "plain") == [(2, 20)]


@pytest.mark.parametrize(("sql", "found"), every_day(FORMS, lambda form: FORMS.index(form) not in (4, 6, 10)))
def test_into_a_table_with_lineage(lineage: ForwardLineage, sql: str, found: list[tuple[int, int]]) -> None:
    lineage.sql(sql.format("carries"))
    assert rows(lineage, "carries") == found
    assert sets(lineage, "carries") == ({1: [1], 2: [2]} if len(found) == 2 else {2: [1, 2]})


@pytest.mark.parametrize(("sql", "found"), PARTITIONED)
def test_into_partitions_with_lineage(lineage: ForwardLineage, sql: str, found: list[tuple[int, int]]) -> None:
    lineage.sql(sql.format("carries_parts"))
    assert rows(lineage, "carries_parts") == found
    assert sets(lineage, "carries_parts") == {1: [1], 2: [2]}


_EACH = {0: ([], [0]), 1: ([1], []), 2: ([2], [])}
OF_SOME_TABLES = [
    ("SELECT k, 1 FROM another WHERE k = 0", {0: ([], [0])}),
    ("SELECT k, g FROM base", {1: ([1], []), 2: ([2], [])}),
    ("SELECT another.k, g FROM another CROSS JOIN base WHERE g = 20", {0: ([2], [0])}),
    ("SELECT k, count(*) FROM (SELECT k FROM another UNION ALL SELECT k FROM base) GROUP BY k", _EACH),
    ("SELECT sum(b.k), max(c.g) FROM base AS b JOIN base AS c ON b.k < c.k", {1: ([1, 2], [])}),
    ("(SELECT k, g FROM base EXCEPT SELECT k, k FROM another) ORDER BY k LIMIT 1", {1: ([1], [])}),
    ("SELECT a + 5, b FROM of_both WHERE a = 9", {14: ([1], [0])}),
    ("SELECT 7, 7", {7: ([], [])}),
]


@pytest.mark.parametrize("columns", ["", "(b, a)"])
@pytest.mark.parametrize(("query", "expected"), OF_SOME_TABLES)
def test_rows_of_some_of_the_base_tables(
    lineage: ForwardLineage, query: str, expected: dict[int, tuple[list[int], list[int]]], columns: str
) -> None:
    """The fields of the others are empty, in whatever order the query reads its tables."""
    lineage.sql("CREATE TABLE of_both USING parquet AS SELECT 9 AS a, g AS b FROM another JOIN base WHERE base.k = 1")
    try:
        if columns == "(b, a)":
            query = f"SELECT q.y, q.x FROM ({query}) AS q(x, y)"
        lineage.sql(f"INSERT INTO of_both {columns} {query}")
        found = lineage.sql("SELECT * FROM of_both").selectExpr("a", "dl_ids(DL.base) AS b", "dl_ids(DL.another) AS t")
        there = {row.a: (row.b, row.t) for row in found.collect()}
        assert there == {9: ([1], [0]), **expected}
        sums = lineage.sql("SELECT count(*) AS n FROM of_both").selectExpr("n", "dl_ids(DL.another) AS ids").first()
        assert sums is not None
        assert sums.n == 1 + len(expected)
        assert sums.ids == [0]
    finally:
        lineage.spark.sql("DROP TABLE of_both")


def test_a_table_that_does_not_say_what_its_lineage_means(lineage: ForwardLineage) -> None:
    """It gets rows with their lineage; only, no query traces through it."""
    lineage.spark.sql("CREATE TABLE by_hand (a BIGINT, DL STRUCT<base: BINARY>) USING parquet")
    try:
        lineage.sql("INSERT INTO by_hand SELECT k FROM base")
        lineage.spark.sql(lineage.rewrite("INSERT INTO by_hand SELECT k FROM base"))
        assert sets(lineage, "by_hand") == {1: [1], 2: [2]}
        with pytest.raises(NotTracedError, match=r"^by_hand has a column DL and does not say what it means"):
            lineage.sql("SELECT a FROM by_hand")
    finally:
        lineage.spark.sql("DROP TABLE by_hand")


MADE_OF_NOTHING = [
    "INSERT INTO {} VALUES (3, 4), (5, 6)",
    "INSERT INTO {} (b, a) VALUES (4, 3), (6, 5)",
    "INSERT INTO {} SELECT * FROM VALUES (3, 4), (5, 6) AS x(a, b) WHERE a > 0",
    "INSERT INTO {} SELECT id, id + 1 FROM range(3, 6, 2)",
    "INSERT INTO {} (b, a) SELECT id + 1, id FROM range(3, 6, 2)",
    "INSERT INTO {} BY NAME SELECT id + 1 AS b, id AS a FROM range(3, 6, 2)",
    "INSERT OVERWRITE {} WITH c AS (SELECT 3 AS a) SELECT a, 4 FROM c UNION SELECT 5, 6",
]


@pytest.mark.parametrize("table", ["carries", "carries_parts"])
@pytest.mark.parametrize("sql", every_day(MADE_OF_NOTHING, [MADE_OF_NOTHING[at] for at in (1, 2, 5, 6)]))
def test_rows_that_are_made_of_no_base_row(lineage: ForwardLineage, table: str, sql: str) -> None:
    """They say so: queries go on tracing through the table."""
    lineage.sql(sql.format(table))
    assert rows(lineage, table) == [(3, 4), (5, 6)]
    assert sets(lineage, table) == {3: [], 5: []}
    lineage.sql(f"INSERT INTO {table} SELECT k, g FROM base")
    found = lineage.sql(f"SELECT sum(a) AS a FROM {table}")
    assert found.selectExpr("a", "dl_ids(DL.base) AS ids").collect() == [(11, [1, 2])]


def test_into_one_partition(lineage: ForwardLineage) -> None:
    lineage.sql("INSERT INTO carries_parts PARTITION (b = 4) VALUES (3)")
    assert (rows(lineage, "carries_parts"), sets(lineage, "carries_parts")) == ([(3, 4)], {3: []})


def test_rows_whose_lineage_is_written_by_hand(lineage: ForwardLineage) -> None:
    lineage.sql("INSERT INTO carries VALUES (1, 2, NULL)")
    lineage.sql("INSERT INTO carries (a, b, DL) SELECT 3, 4, named_struct('base', dl_of(2))")
    lineage.sql("INSERT INTO carries SELECT 5, 6, named_struct('base', dl_of(1))")
    assert rows(lineage, "carries") == [(1, 2), (3, 4), (5, 6)]
    assert sets(lineage, "carries WHERE a > 1") == {3: [2], 5: [1]}


@pytest.mark.parametrize("form", ["'{}' USING csv", "USING parquet OPTIONS ('path' '{}')"])
def test_into_a_folder(lineage: ForwardLineage, tmp_path: Path, form: str) -> None:
    """A folder has no columns; it gets the rows that it would get without lineage."""
    lineage.sql(f"INSERT OVERWRITE DIRECTORY {form.format(tmp_path / 'out')} SELECT k, g FROM base")
    found = lineage.spark.read.format("csv" if "csv" in form else "parquet").load(str(tmp_path / "out"))
    assert sorted((int(row[0]), int(row[1])) for row in found.collect()) == TWO
    assert len(found.columns) == 2


REFUSED = [
    *(
        (
            f"INSERT INTO carries REPLACE {which} SELECT k, g FROM base",
            "INSERT … REPLACE into a table with a column DL, which takes rows by position alone (line 1, column 13). "
            "Run DELETE FROM … WHERE …, then INSERT INTO …, each with lineage.sql.",
        )
        for which in ("WHERE a = 1", "USING (a)")
    ),
    (
        "INSERT INTO carries SELECT k, k FROM another",
        "rows made of another go into carries, whose column DL is lineage in base. Run ALTER TABLE carries ADD COLUMNS "
        "(DL.`another` BINARY) with lineage.sql. Delta and Iceberg know such a column. For other formats, make the "
        "table anew, or use lineage.save(…).",
    ),
    (
        "INSERT INTO carries SELECT k, g FROM base JOIN another USING (k)",
        "rows made of another go into carries, whose column DL is lineage in base. Run ALTER TABLE carries ADD COLUMNS "
        "(DL.`another` BINARY) with lineage.sql. Delta and Iceberg know such a column. For other formats, make the "
        "table anew, or use lineage.save(…).",
    ),
    (
        "INSERT INTO carries SELECT k, g FROM base\nLINEAGE ON g",
        "LINEAGE ON in an INSERT: what its ids stand for cannot be kept with the rows (line 2, column 1). "
        "Save the query with lineage.save(…), or leave the clause out.",
    ),
    (
        "INSERT INTO plain SELECT k, g FROM base LINEAGE ON g",
        "LINEAGE ON in an INSERT: what its ids stand for cannot be kept with the rows (line 1, column 41). "
        "Save the query with lineage.save(…), or leave the clause out.",
    ),
    (
        "FROM base INSERT INTO carries SELECT k, g",
        "a form of INSERT that is not traced into a table with a column DL: several INSERTs from one FROM "
        "(line 1, column 1). Write INSERT INTO or OVERWRITE the table, PARTITION (…) and (columns) if need be, then "
        "the query.",
    ),
]


@pytest.mark.parametrize(("sql", "message"), REFUSED)
def test_what_has_no_place_for_its_lineage(lineage: ForwardLineage, sql: str, message: str) -> None:
    with pytest.raises(NotTracedError) as refused:
        lineage.sql(sql)
    assert str(refused.value) == message
    assert rows(lineage, "carries") == []


def test_sparks_own_complaints(lineage: ForwardLineage) -> None:
    with pytest.raises(WrongSqlError, match=r"too many data columns"):
        lineage.sql("INSERT INTO plain SELECT k, g, 1 FROM base")
    with pytest.raises(WrongSqlError, match=r"`nope` cannot be resolved"):
        lineage.sql("INSERT INTO carries SELECT k, nope FROM base")
    with pytest.raises(WrongSqlError, match=r"too many data columns"):
        lineage.sql("INSERT INTO carries SELECT k, g, 1 FROM base")
    with pytest.raises(LineageError, match=r"nowhere"):
        lineage.sql("INSERT INTO nowhere SELECT k FROM base")


def test_a_script_is_no_insert(lineage: ForwardLineage) -> None:
    with pytest.raises(LineageError):
        lineage.sql("BEGIN INSERT INTO plain SELECT k, g FROM base; SELECT k FROM base; END")
    assert rows(lineage, "plain") == []


def test_an_insert_returns_nothing_to_save(lineage: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match=r"^a statement that is no query has no rows to save"):
        lineage.save("INSERT INTO plain SELECT k, g FROM base", "kept")
    assert rows(lineage, "plain") == []
