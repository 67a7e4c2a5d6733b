"""Shapes and types that the API makes easily: melted and pivoted rows, CHAR, collations, VARIANT, pipes, recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import rows_with_lineage
from tests.tiers import every_day

pytestmark = pytest.mark.since("4.0", "VARIANT, collations and pipe syntax")

TABLES = {
    "quarters": ("id INT, g STRING, q1 INT, q2 INT", "(1, 'a', 1, 2), (2, 'b', 3, 4), (3, 'a', 3, NULL)"),
    "short": ("id INT, c CHAR(3), v VARCHAR(4)", "(11, 'ab', 'x'), (12, 'b', 'yy')"),
    "wide": ("id INT, c CHAR(5), s STRUCT<c: CHAR(2)>", "(21, 'ab', named_struct('c', 'z')), (22, 'q', NULL)"),
    "lower": ("id INT, c STRING COLLATE UTF8_LCASE", "(31, 'Ab'), (32, 'aB'), (33, 'c')"),
    "lists": ("id INT, a ARRAY<INT>, text STRING", "(41, array(1, 3), '{\"a\":{\"b\":[7]}}'), (42, array(2), '[]')"),
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("strange") / "home")
    for name, (columns, rows) in TABLES.items():
        lineage.spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
        lineage.spark.sql(f"INSERT INTO {name} VALUES {rows}")
        lineage.register(name, key="id")
    yield lineage
    for name in TABLES:
        lineage.spark.sql(f"DROP TABLE {name}")


class Tables:
    """The tables as DataFrames, and what is often made of them."""

    def __init__(self, lineage: ForwardLineage) -> None:
        self.spark = lineage.spark
        self.quarters, self.short, self.wide, self.lower, self.lists = map(lineage.spark.table, TABLES)
        self.melted = self.quarters.unpivot(["id", "g"], ["q1", "q2"], "k", "v")
        self.pivoted = self.quarters.groupBy("g").pivot("q1", [1, 3]).agg(F.sum("q2"))
        self.variants = self.lists.select("id", F.parse_json("text").alias("v"))


class Shape(NamedTuple):
    """A DataFrame, and the SQL whose rows and lineage are the same."""

    frame: Callable[[Tables], DataFrame]
    sql: str


MELTED = "(SELECT * FROM quarters UNPIVOT INCLUDE NULLS (v FOR k IN (q1, q2)))"
PIVOTED = "(SELECT * FROM (SELECT g, q1, q2 FROM quarters) PIVOT (sum(q2) FOR q1 IN (1 AS `1`, 3 AS `3`)) AS p)"

SHAPES: dict[str, Shape] = {
    "melted, groups": Shape(lambda t: t.melted.groupBy("k").sum("v"), f"SELECT k, sum(v) FROM {MELTED} GROUP BY k"),
    "melted, one group": Shape(lambda t: t.melted.agg(F.sum("v")), f"SELECT sum(v) FROM {MELTED}"),
    "melted, rollup": Shape(
        lambda t: t.melted.rollup("k").sum("v"), f"SELECT k, sum(v) FROM {MELTED} GROUP BY ROLLUP (k)"
    ),
    "melted, key sets": Shape(
        lambda t: t.melted.groupingSets([["k"], ["g"], []], "k", "g").agg(F.max("v"), F.grouping_id()),
        f"SELECT k, g, max(v), grouping_id() FROM {MELTED} GROUP BY GROUPING SETS ((k), (g), ())",
    ),
    "melted, the first of each": Shape(
        lambda t: t.melted.dropDuplicates(["k", "g"]).select("k", "g"), f"SELECT k, g FROM {MELTED} GROUP BY k, g"
    ),
    "melted and joined with itself": Shape(
        lambda t: (
            t.melted.alias("x").join(t.melted.alias("y"), F.expr("x.id = y.v AND x.k = y.k")).select("x.id", "y.g")
        ),
        f"SELECT x.id, y.g FROM {MELTED} x JOIN {MELTED} y ON x.id = y.v AND x.k = y.k",
    ),
    "pivoted on the right of a join": Shape(
        lambda t: t.quarters.join(t.pivoted, "g").select("id", "1"),
        f"SELECT id, `1` FROM quarters JOIN {PIVOTED} USING (g)",
    ),
    "pivoted on the right of a left join": Shape(
        lambda t: t.quarters.join(t.pivoted, "g", "left").select("id", "3"),
        f"SELECT id, `3` FROM quarters LEFT JOIN {PIVOTED} USING (g)",
    ),
    "pivoted, both sides": Shape(
        lambda t: t.pivoted.join(t.pivoted.select("g"), "g"),
        f"SELECT * FROM {PIVOTED} JOIN (SELECT g FROM {PIVOTED}) USING (g)",
    ),
    "exploded on the left of a join": Shape(
        lambda t: t.lists.select(F.explode("a").alias("id")).join(t.quarters, "id").select("id", "g"),
        "SELECT e.id, g FROM (SELECT explode(a) AS id FROM lists) AS e JOIN quarters ON quarters.id = e.id",
    ),
    "CHAR": Shape(lambda t: t.short, "SELECT * FROM short"),
    "CHAR, another column": Shape(lambda t: t.short.select("v"), "SELECT v FROM short"),
    "CHAR, compared with texts": Shape(
        lambda t: t.short.filter("c = 'ab' OR c IN ('b    ', 'zz')").select("id", F.length("c")),
        "SELECT id, length(c) FROM short WHERE c = 'ab' OR c IN ('b    ', 'zz')",
    ),
    "CHAR, compared with CHAR": Shape(
        lambda t: t.short.join(t.wide, t.short.c == t.wide.c).select(t.short.id, t.wide.c),
        "SELECT short.id, wide.c FROM short JOIN wide ON short.c = wide.c",
    ),
    "CHAR in a struct": Shape(
        lambda t: t.wide.filter("s.c = 'z '").select("s.c"), "SELECT s.c FROM wide WHERE s.c = 'z '"
    ),
    "CHAR, groups": Shape(lambda t: t.short.groupBy("c").count(), "SELECT c, count(1) AS count FROM short GROUP BY c"),
    "collated": Shape(
        lambda t: t.lower.filter("c = 'AB'").select("id", F.collate("c", "UTF8_BINARY").alias("c")),
        "SELECT id, collate(c, 'UTF8_BINARY') AS c FROM lower WHERE c = 'AB'",
    ),
    "collated where it is compared": Shape(
        lambda t: t.spark.sql("SELECT id FROM quarters WHERE g COLLATE UTF8_LCASE = 'A'"),
        "SELECT id FROM quarters WHERE g COLLATE UTF8_LCASE = 'A'",
    ),
    "collated groups": Shape(
        lambda t: t.lower.groupBy(F.lower("c").alias("c")).count(),
        "SELECT lower(c) AS c, count(1) AS count FROM lower GROUP BY lower(c)",
    ),
    "VARIANT, read as a type": Shape(
        lambda t: t.variants.select("id", F.try_variant_get("v", "$.a.b[0]", "int").alias("x")),
        "SELECT id, try_variant_get(parse_json(text), '$.a.b[0]', 'int') AS x FROM lists",
    ),
    "VARIANT, read as a struct": Shape(
        lambda t: t.variants.filter("id = 41").select(F.variant_get("v", "$.a", "struct<b: array<bigint>>").alias("x")),
        "SELECT variant_get(parse_json(text), '$.a', 'struct<b: array<bigint>>') AS x FROM lists WHERE id = 41",
    ),
    "a sample with a seed": Shape(
        lambda t: t.quarters.sample(fraction=0.6, seed=5).filter("id < 9"),
        "SELECT * FROM quarters TABLESAMPLE (60 PERCENT) REPEATABLE (5) WHERE id < 9",
    ),
    "pipes": Shape(
        lambda t: t.spark.sql(
            "FROM quarters |> WHERE id > 1 |> EXTEND q1 + 1 AS x |> AGGREGATE sum(x) AS s GROUP BY g"
        ),
        "SELECT g, sum(q1 + 1) AS s FROM quarters WHERE id > 1 GROUP BY g",
    ),
}

RECURSION = """WITH RECURSIVE r AS (SELECT id, g FROM quarters WHERE id = 1
    UNION ALL SELECT q.id, q.g FROM r JOIN quarters q ON q.id = r.id + 1) """

DAILY = ("melted, rollup", "melted and joined with itself", "pivoted, both sides", "CHAR, compared with CHAR", "pipes")


@pytest.mark.parametrize(
    ("shape", "semantics"),
    every_day(product(SHAPES, ("data", "control")), lambda case: case[0] in DAILY and case[1] == "data"),
)
def test_traced_as_its_sql(lineage: ForwardLineage, shape: str, semantics: str) -> None:
    frame = SHAPES[shape].frame(Tables(lineage))
    found = lineage.trace(frame, semantics)
    assert found.columns == [*frame.columns, "DL"]
    rows = rows_with_lineage(found)
    assert [row for row, _ in rows] == sorted(map(tuple, frame.collect()), key=repr)
    assert rows == rows_with_lineage(lineage.sql(SHAPES[shape].sql, semantics=semantics))


@pytest.mark.since("4.1", "WITH RECURSIVE")
def test_a_recursion_that_is_read_twice(lineage: ForwardLineage) -> None:
    sql = RECURSION + "SELECT x.g, count(*) AS n FROM r x JOIN r y ON x.id <= y.id GROUP BY x.g"
    frame = lineage.spark.sql(sql).filter("n > 1")
    rows = rows_with_lineage(lineage.trace(frame))
    assert rows == [(("a", 4), {"quarters": [1, 2, 3]}), (("b", 2), {"quarters": [1, 2, 3]})]
    assert rows == [row for row in rows_with_lineage(lineage.sql(sql)) if row[0][1] > 1]  # type: ignore[operator]
