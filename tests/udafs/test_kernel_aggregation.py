"""dlunion in every plan Spark may choose: always the same bytes, and the ids a plain set would hold."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark_settings import INTERPRETED, configured
from tests.tiers import every_day

REPOSITORY = Path(__file__).parents[2]
HASHED = "spark.forward_lineage.hash_aggregation"
LARGEST = 2**63 - 1
# Makes the hash aggregation spill, sort and merge its buffers every 2000 rows.
SPILLING = {
    HASHED: "true",
    "spark.sql.TungstenAggregate.testFallbackStartsAt": "500, 2000",
    "spark.sql.codegen.wholeStage": "false",
}
INTERPRETED_HASHED = {HASHED: "true", **INTERPRETED}
SETTINGS = [
    {HASHED: "true"},
    {HASHED: "true", "spark.sql.adaptive.enabled": "false"},
    {HASHED: "true", "spark.sql.codegen.wholeStage": "false"},
    INTERPRETED_HASHED,
    SPILLING,
    {HASHED: "true", "spark.sql.shuffle.partitions": "7"},
    {HASHED: "false"},
    {HASHED: "false", "spark.sql.adaptive.enabled": "false"},
    {HASHED: "false", "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "2"},
    {HASHED: "false", "spark.sql.execution.useObjectHashAggregateExec": "false"},
]


QUICK = ({HASHED: "true"}, {HASHED: "false"})  # the others are in the full run


def named(chosen: dict[str, str]) -> str:
    return " ".join(f"{key.split('.')[-1]}={value}" for key, value in chosen.items())


@pytest.fixture(
    params=[
        pytest.param(chosen, id=named(chosen), marks=[] if chosen in QUICK else pytest.mark.slow) for chosen in SETTINGS
    ]
)
def sql(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    with configured(session, request.param):
        yield session


def pairs() -> list[tuple[int, int | None]]:
    """(group, id): groups of one row to thousands, repeats, NULLs, and ids at the edges of every encoding."""
    dice = random.Random(4)
    edges = [0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**32 - 1, 2**32, 2**32 + 1, LARGEST - 1, LARGEST]
    rows: list[tuple[int, int | None]] = [(0, None), (1, None), (1, None)]
    rows += [(2, edge) for edge in edges for _ in range(3)]
    rows += [(3, i) for i in range(5000)]
    rows += [(4, dice.randrange(2**22)) for _ in range(6000)]
    rows += [(5, 2**40 + i * 3) for i in range(3000)]
    rows += [(6, dice.randrange(9)) for _ in range(3000)]
    for group in range(10, 700):
        rows += [(group, dice.randrange(2**23)) for _ in range(dice.randrange(1, 8))]
    dice.shuffle(rows)
    return rows


PAIRS = pairs()
EXPECTED: dict[int, set[int]] = defaultdict(set)
for _group, _id in PAIRS:
    EXPECTED[_group] |= set() if _id is None else {_id}


Frames = Callable[[int], DataFrame]


@pytest.fixture(scope="module")
def frame(session: SparkSession) -> Iterator[Frames]:
    """The pairs in so many partitions; each is made once and kept by Spark."""
    made = cache(lambda partitions: session.createDataFrame(PAIRS, "g INT, id BIGINT").repartition(partitions).cache())
    yield made
    session.catalog.clearCache()


@pytest.fixture(scope="module")
def reference(session: SparkSession) -> dict[int, bytes]:
    """The bytes of each group, from one partition without any merge."""
    rows = [(group, each) for group, ids in EXPECTED.items() for each in [*sorted(ids), None]]
    session.createDataFrame(rows, "g INT, id BIGINT").coalesce(1).createOrReplaceTempView("sets")
    got = session.sql("SELECT g, dlunion(id) FROM sets GROUP BY g").collect()
    values = {row[0]: bytes(row[1]) for row in got}
    assert {value[0] for value in values.values()} == {0, 1, 2}, "all three encodings take part"
    return values


def as_text(data: DataFrame) -> list[str]:
    return sorted(map(str, data.collect()))  # NaN is not equal to itself


def ids_by_group(data: DataFrame) -> dict[int, list[int]]:
    return dict(tuple(row) for row in data.selectExpr("g", "dl_ids(d)").collect())


@pytest.mark.parametrize("partitions", every_day([2, 11], [11]))
def test_same_bytes_in_every_plan(
    sql: SparkSession, frame: Frames, reference: dict[int, bytes], partitions: int
) -> None:
    frame(partitions).createOrReplaceTempView("pairs")
    data = sql.sql("SELECT g, dlunion(id) AS d, count(*) AS n FROM pairs GROUP BY g")
    assert {row.g: bytes(row.d) for row in data.collect()} == reference
    assert ids_by_group(data) == {group: sorted(ids) for group, ids in EXPECTED.items()}


QUERIES: dict[str, str] = {
    "values of values": """
        SELECT g, dlunion(d) AS d FROM (SELECT g, id % 5 AS p, dlunion(id) AS d FROM pairs GROUP BY g, p) GROUP BY g""",
    "values and NULLs mixed": """
        SELECT g, dlunion(CASE WHEN id IS NULL THEN NULL ELSE dl_of(id) END) AS d FROM pairs GROUP BY g""",
    "values of three encodings": """
        SELECT g, dlunion(d) AS d FROM (
          SELECT g, dlunion(id) AS d FROM pairs WHERE id % 2 = 0 GROUP BY g
          UNION ALL SELECT g, dl_union(id, id) FROM pairs WHERE id % 2 = 1
          UNION ALL SELECT g, dl_of(NULL) FROM pairs) GROUP BY g""",
    "beside a filter": """
        SELECT g, dl_union(dlunion(id) FILTER (WHERE id % 2 = 0), dlunion(id) FILTER (WHERE id % 2 = 1)) AS d
        FROM pairs GROUP BY g""",
    "beside DISTINCT": "SELECT g, d FROM (SELECT g, dlunion(id) AS d, count(DISTINCT id) FROM pairs GROUP BY g)",
    "two DISTINCT": """
        SELECT g, d FROM (SELECT g, dlunion(id) AS d, count(DISTINCT id), sum(DISTINCT g) FROM pairs GROUP BY g)""",
    "DISTINCT itself": "SELECT g, dlunion(DISTINCT id) AS d FROM pairs GROUP BY g",
    "beside another object aggregate": """
        SELECT g, d FROM (SELECT g, dlunion(id) AS d, collect_list(id) FROM pairs GROUP BY g)""",
    "an expression of it": "SELECT g, dl_union(dlunion(id), dlunion(id + 0)) AS d FROM pairs GROUP BY g",
    "a subquery in its argument": """
        SELECT g, dlunion(id + (SELECT 0 * count(*) FROM pairs)) AS d FROM pairs GROUP BY g""",
    "beside many decimals": """
        SELECT g, d FROM (
          SELECT g, dlunion(id) AS d, sum(x), sum(x + 1), sum(x + 2), avg(x)
          FROM (SELECT *, CAST(g AS DECIMAL(15, 2)) AS x FROM pairs) GROUP BY g)""",
    "having": "SELECT g, dlunion(id) AS d FROM pairs GROUP BY g HAVING dl_size(dlunion(id)) >= 0",
    "whole partition window": "SELECT DISTINCT g, dlunion(id) OVER (PARTITION BY g) AS d FROM pairs",
    "decimal and string keys": """
        SELECT CAST(k AS INT) AS g, d FROM (
          SELECT CAST(g AS DECIMAL(20, 2)) AS k, CAST(g AS STRING) AS s, dlunion(id) AS d, avg(id), max(hex(id))
          FROM pairs GROUP BY 1, 2)""",
}  # fmt: skip


def in_turns() -> Iterator[object]:
    """Each query under the settings that differ most; in the long tier others take turns, with every fourth query."""
    for turn, (name, query) in enumerate(QUERIES.items()):
        for place, chosen in enumerate(SETTINGS):
            if chosen in (*QUICK, SPILLING) or (turn + place) % 4 == 0:
                marks = [] if chosen in QUICK else pytest.mark.slow if chosen == SPILLING else pytest.mark.long
                yield pytest.param(chosen, query, id=f"{name}-{named(chosen)}", marks=marks)


@pytest.mark.parametrize(("sql", "query"), list(in_turns()), indirect=["sql"])
def test_same_bytes_in_every_query(sql: SparkSession, frame: Frames, reference: dict[int, bytes], query: str) -> None:
    frame(3).createOrReplaceTempView("pairs")
    assert {row.g: bytes(row.d) for row in sql.sql(query).collect()} == reference


# 0.0, -0.0, NaN or NULL; 3.5 mixes up a CASE with both zeros among its values, with the kernel and without
ZEROS = "(id - id) * CASE id % 4 WHEN 0 THEN 1D WHEN 1 THEN -1D WHEN 2 THEN double('NaN') END"
BESIDE_DISTINCT: dict[str, str] = {
    "count": "SELECT g, dlunion(id) AS d, count(DISTINCT id % 7) FROM pairs GROUP BY g",
    "several": "SELECT g, count(DISTINCT id % 7), sum(DISTINCT id % 7), dlunion(id), dlunion(g) FROM pairs GROUP BY g",
    "all kinds": """
        SELECT g + 1, sum(id % 100), count(*), min(id), avg(CAST(id % 9 AS DECIMAL(12, 2))), count(DISTINCT id % 7, g),
          dlunion(id) FILTER (WHERE id % 2 = 0), max(id) FILTER (WHERE id % 3 = 0), count(id)
        FROM pairs GROUP BY g HAVING count(DISTINCT id % 7, g) > 2""",
    "no group": "SELECT count(DISTINCT id), dlunion(id), sum(g) FROM pairs",
    "no row": "SELECT count(DISTINCT id), dlunion(id), sum(g) FROM pairs WHERE g < 0",
    "no row of a group": "SELECT g, count(DISTINCT id), dlunion(id) FROM pairs WHERE g < 0 GROUP BY g",
    "zeros and NaN": f"""
        SELECT count(DISTINCT x), dlunion(id) FROM (
          SELECT id, {ZEROS} AS x, g FROM pairs)
        GROUP BY x""",
    "zeros as arguments": f"""
        SELECT g % 3, count(DISTINCT {ZEROS}),
          dlunion(id) FROM pairs GROUP BY g % 3""",
    "a constant": "SELECT g, count(DISTINCT 1), dlunion(id) FROM pairs GROUP BY g",
    "an argument that is a key": "SELECT g, count(DISTINCT g), dlunion(id) FROM pairs GROUP BY g",
    "values of values": """
        SELECT count(DISTINCT p), dlunion(d), sum(n) FROM (
          SELECT g, id % 5 AS p, dlunion(id) AS d, count(DISTINCT id % 2) AS n FROM pairs GROUP BY g, p) GROUP BY g""",
}  # fmt: skip


DAILY_BESIDE_DISTINCT = ("all kinds", "no row", "no row of a group", "zeros and NaN", "an argument that is a key")


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    every_day(BESIDE_DISTINCT.values(), [BESIDE_DISTINCT[each] for each in DAILY_BESIDE_DISTINCT]),
    ids=BESIDE_DISTINCT,
)
def test_as_spark_aggregates_beside_distinct(session: SparkSession, frame: Frames, query: str) -> None:
    """Spark's own plan, which sorts all rows at the 129th group, tells what must come out."""
    frame(3).createOrReplaceTempView("pairs")
    with configured(session, {HASHED: "false"}):
        expected = as_text(session.sql(query))
    for chosen in SETTINGS[0], INTERPRETED_HASHED, SPILLING:
        with configured(session, chosen):
            data = session.sql(query)
            plan = data._jdf.queryExecution().sparkPlan().toString()
            assert "ObjectHashAggregate" not in plan and "SortAggregate" not in plan
            assert as_text(data) == expected, named(chosen)


def test_long_values_that_rows_share(sql: SparkSession) -> None:
    """Two sets of thousands of ids come again and again, in turn and beside ids: of a subquery, of one row."""
    a, b = set(range(0, 9000, 3)), set(range(0, 9000, 2))
    data = sql.sql("""
        SELECT g, dlunion(CASE WHEN id % 7 = 0 THEN dl_of(100000 + id) WHEN id % 2 = g OR g = 2 THEN a ELSE b END) AS d
        FROM (SELECT id, id % 3 AS g, (SELECT dlunion(3 * id) FROM range(3000)) AS a FROM range(400))
        CROSS JOIN (SELECT dlunion(2 * id) AS b FROM range(4500))
        GROUP BY g""")
    own = {g: {100_000 + i for i in range(0, 400, 7) if i % 3 == g} for g in range(3)}
    sets = {0: a | b, 1: a | b, 2: a}
    assert ids_by_group(data) == {g: sorted(sets[g] | own[g]) for g in range(3)}


def test_more_long_values_than_are_remembered(session: SparkSession) -> None:
    """5,000 long sets, each four times, not one after the other; of 4,096 is known that a group has them."""
    data = session.sql("""
        SELECT id % 3 AS g, dlunion(dl_union(id % 5000, base)) AS d FROM range(0, 20000, 1, 2)
        CROSS JOIN (SELECT dlunion(10000 + id * 7919 % 1048573) AS base FROM range(1100)) GROUP BY 1""")
    base = {10_000 + i * 7919 % 1_048_573 for i in range(1100)}
    own = {g: {i % 5000 for i in range(g, 20_000, 3)} for g in range(3)}
    assert ids_by_group(data) == {g: sorted(base | own[g]) for g in range(3)}


@pytest.mark.parametrize(
    "ids",
    ["id", "id * 7919", "id div 3 * 1048583", "xxhash64(id div 2) & 9223372036854775807", "400000 - id"],
    ids=["dense", "far apart", "repeated", "anywhere", "descending"],
)
def test_large_groups_that_come_mixed(session: SparkSession, ids: str) -> None:
    """Some rows follow others of their group, most do not; and they are handed out to the groups several times."""
    group = "CASE WHEN id % 5000 < 400 THEN 0 ELSE pmod(hash(id), 30) END"
    mixed = f"SELECT {group} AS g, {ids} AS i FROM range(0, 400000, 1, 3)"
    data = session.sql(f"SELECT g, dl_ids(dlunion(i)) = array_sort(collect_set(i)) AS same FROM ({mixed}) GROUP BY g")
    assert [row.same for row in data.collect()] == 30 * [True]


def test_session_windows(sql: SparkSession) -> None:
    data = sql.sql("""
        SELECT min(id) AS first, dl_ids(dlunion(id)) AS ids
        FROM (SELECT id, timestamp_seconds(id * 60 + 6000 * (id div 5)) AS at FROM range(0, 40, 1, 3))
        GROUP BY session_window(at, '10 minutes')""")
    assert {row.first: row.ids for row in data.collect()} == {i: list(range(i, i + 5)) for i in range(0, 40, 5)}


@pytest.mark.parametrize(
    "sql",
    [*QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in (INTERPRETED_HASHED, SPILLING, SETTINGS[-2]))],
    ids=named,
    indirect=True,
)
def test_no_group(sql: SparkSession, frame: Frames) -> None:
    frame(3).createOrReplaceTempView("pairs")
    assert sql.sql("SELECT dl_ids(dlunion(id)) FROM pairs").first() == (sorted(set().union(*EXPECTED.values())),)
    assert sql.sql("SELECT hex(dlunion(id)), count(*) FROM pairs WHERE g < 0").first() == ("0000", 0)
    assert sql.sql("SELECT dlunion(id) FROM pairs WHERE g < 0 GROUP BY g").collect() == []
    none = sql.sql("SELECT hex(dlunion(id)), count(DISTINCT id), count(DISTINCT g) FROM pairs WHERE g < 0")
    assert none.first() == ("0000", 0, 0)
    none = sql.sql("SELECT hex((SELECT dlunion(id) FROM pairs p WHERE p.g = t.x)) FROM VALUES (-1) AS t(x)")
    assert none.first() == ("0000",), "a correlated subquery without rows"
    grouping = sql.sql(
        "SELECT g, dl_size(dlunion(id)) AS n FROM pairs WHERE g IN (4, 5) GROUP BY GROUPING SETS ((g), ())"
    )
    assert {row.g: row.n for row in grouping.collect()} == {
        4: len(EXPECTED[4]), 5: 3000, None: len(EXPECTED[4] | EXPECTED[5])
    }  # fmt: skip


FRAMES: dict[str, Callable[[int], range]] = {
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING": lambda i: range(max(0, i - 2), min(40, i + 2)),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": lambda i: range(i + 1),
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING": lambda i: range(i, 40),
    "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING": lambda i: range(max(0, i - 3), i),
}


@pytest.mark.parametrize("clause", FRAMES)
def test_window_frames(session: SparkSession, clause: str) -> None:
    for argument in ("id", "dl_of(id)"):
        rows = session.sql(
            f"SELECT id, dl_ids(dlunion({argument}) OVER (ORDER BY id {clause})) FROM range(40)"
        ).collect()
        assert {row[0]: row[1] for row in rows} == {i: list(FRAMES[clause](i)) for i in range(40)}


def test_the_hash_aggregation_is_chosen_and_generated(session: SparkSession) -> None:
    plan = session.sql("SELECT id % 7, sum(id), dlunion(id) FROM range(100) GROUP BY 1")
    plan.collect()
    text = plan._jdf.queryExecution().executedPlan().toString()
    assert "ObjectHashAggregate" not in text
    assert text.count("(1) HashAggregate") == 1, "partial aggregation has generated code"
    assert text.count("(2) HashAggregate") == 1, "and so has the final one"


@pytest.mark.slow
def test_groups_that_come_sorted(session: SparkSession) -> None:
    """Spark then plans a sort aggregation, which reads each group before it adds to the next."""
    groups = 300_000
    with configured(
        session, {"spark.sql.execution.replaceHashWithSortAgg": "true", "spark.sql.adaptive.enabled": "false"}
    ):
        source = f"SELECT id % {groups} AS k, id AS i FROM range(0, 3 * {groups}, 1, 2) DISTRIBUTE BY k SORT BY k"
        data = session.sql(f"SELECT k, sum(i) AS s, dlunion(i) AS d FROM ({source}) GROUP BY k")
        assert "SortAggregate" in data._jdf.queryExecution().executedPlan().toString()
        wrong = data.selectExpr(f"dl_ids(d) = array(k, k + {groups}, k + 2 * {groups}) AS ok").where("NOT ok").count()
        assert (data.count(), wrong) == (groups, 0)


def test_equal_aggregations_share_one_exchange(session: SparkSession) -> None:
    with configured(session, {"spark.sql.adaptive.enabled": "false"}):
        half = "SELECT id % 5 AS k, dlunion(id) AS d FROM range(100) GROUP BY 1"
        data = session.sql(f"SELECT a.k, a.d = b.d AS same FROM ({half}) a JOIN ({half}) b ON a.k = b.k")
        assert {row.same for row in data.collect()} == {True}
        assert "ReusedExchange" in data._jdf.queryExecution().executedPlan().toString()


WITH_LITTLE_MEMORY = """
import sys
from pathlib import Path
from forward_lineage.spark.local import local_session
from udafs.attach import attach

# 1 % of the heap is for execution: less than the groups take.
spark = local_session(
    "spill", master="local[2]", driver_memory="1g", log=Path(sys.argv[1]), spark__memory__fraction="0.01",
    spark__sql__shuffle__partitions="2",
)
attach(spark)
source = "(SELECT (id * 7919) % 80000 AS k, (id * 104729) % 600000 AS i FROM range(0, 600000, 1, 2))"
grouped = f"SELECT k, sum(i) AS s, dlunion(i) AS d, count(*) AS n FROM {source} GROUP BY k"
check = (
    "SELECT count(*), sum(n), sum(dl_size(d)), count_if(aggregate(dl_ids(d), 0L, (a, i) -> a + i) = s) FROM ({})"
)
for hashed in ("true", "false"):
    spark.conf.set("spark.forward_lineage.hash_aggregation", hashed)
    assert spark.sql(check.format(grouped)).first() == (80000, 600000, 600000, 80000), hashed
print("all well")
"""


@pytest.mark.long
@pytest.mark.timeout(900)  # a Spark of its own, on a machine that may be busy
def test_more_groups_than_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_LITTLE_MEMORY, str(tmp_path / "log")],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=880, check=False,
    )  # fmt: skip
    assert done.stdout.endswith("all well\n"), done.stderr[-3000:]
