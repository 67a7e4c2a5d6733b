"""PIVOT: rows as without lineage, and each made of its whole group, however Spark takes the grouping apart."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.tiers import every_day
from udafs.errors import NotTracedError

pytestmark = pytest.mark.since("4.2", "a name behind PIVOT, which the rewriting gives it")

_ROWS = """SELECT id, nullif(id % 4, 3) AS g, IF(id % 5 = 0, NULL, concat('h', id % 3)) AS h, nullif(id % 6, 5) AS k,
    concat('w', id % 3) AS w, CAST(id * 7 % 13 AS DECIMAL(12, 2)) / 4 AS d, nullif(id % 11, 2) AS n,
    CAST(id * 3 % 17 AS DOUBLE) AS x FROM range(80)"""
_AGGREGATES = (
    "sum(n)", "count(*)", "count(n)", "avg(d)", "sum(d)", "max(x)", "min(d)", "count(DISTINCT n)", "sum(n) + count(*)",
    "max(s)", "sum(n) FILTER (WHERE n > 4)", "array_size(collect_set(n))", "sum(x) / 2",
)  # fmt: skip
_FOR = {
    "k": ["0", "1", "3", "7", "NULL"],
    "w": ["'w0'", "'w2'", "'nobody'"],
    "(k, w)": ["(0, 'w0')", "(1, 'w1')", "(9, 'w9')", "(NULL, 'w2')"],
}


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    home, session = tmp_path_factory.mktemp("pivots"), spark.newSession()
    session.sql(_ROWS).repartition(3).write.parquet(str(home / "rows"))
    lineage = ForwardLineage(session, home=home / "home")
    lineage.register("pivoted", path=home / "rows", key="id")
    lineage.register("other", path=home / "rows", key="id")
    yield lineage


def _drawn(seed: int) -> tuple[list[str], str]:
    """The columns that a PIVOT groups by, and the query; what it adds up and spreads has other columns."""
    chance = random.Random(seed)
    group = chance.choice([["g"], ["h"], ["g", "h"], ["h", "g"], ["id % 3 AS z"], []])
    spread = chance.choice(list(_FOR))
    values = chance.sample(_FOR[spread], chance.randint(1, 3))
    added = chance.sample(_AGGREGATES, chance.randint(1, 3))
    named = ", ".join(f"{each} AS a{place}" for place, each in enumerate(added))
    needed = [name for name in ("n", "d", "x") if any(f"({name}" in each or f" {name}" in each for each in added)]
    if any("max(s)" in each for each in added):
        needed.append("concat('s', n) AS s")
    columns = ", ".join([*group, *spread.strip("()").split(", "), *needed])
    listed = ", ".join(f"{value} AS v{place}" for place, value in enumerate(values))
    rows = chance.choice([f"SELECT {columns} FROM pivoted", f"SELECT {columns} FROM pivoted WHERE id % 7 < 4"])
    names = [each.rpartition(" AS ")[2] for each in group]
    return names, f"SELECT * FROM ({rows}) PIVOT ({named} FOR {spread} IN ({listed}))"


def _made_of(frame: DataFrame, names: list[str]) -> dict[tuple[object, ...], list[int]]:
    groups = defaultdict(list)
    for row in frame.collect():
        groups[tuple(row[name] for name in names)].append(row["id"])
    return {key: sorted(ids) for key, ids in groups.items()}


@pytest.mark.parametrize("seed", every_day(range(200), range(12)))
def test_a_random_pivot(lineage: ForwardLineage, seed: int) -> None:
    names, sql = _drawn(seed)
    session = lineage._parts.tables.spark
    alone = sorted(map(repr, map(tuple, session.sql(sql).collect())))
    if not names and "NULL AS v" in sql:
        with pytest.raises(NotTracedError):
            lineage.sql(sql)
        return
    found = lineage.sql(sql)
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    assert "Window" not in plan, plan
    rows = found.selectExpr("* EXCEPT (DL)", "dl_ids(DL.pivoted) AS ids").collect()
    assert sorted(repr(tuple(row)[:-1]) for row in rows) == alone
    condition = "WHERE id % 7 < 4" if "id % 7" in sql else ""
    base = session.sql(f"SELECT *, id % 3 AS z FROM pivoted {condition}")
    assert {tuple(row[name] for name in names): row.ids for row in rows} == _made_of(base, names)


def test_of_a_join(lineage: ForwardLineage) -> None:
    joined = "SELECT p.g, p.k, o.n FROM pivoted p JOIN other o ON o.id = p.id + 1"
    sql = f"SELECT * FROM ({joined}) PIVOT (sum(n) AS s, count(*) AS c FOR k IN (0, 1))"
    found = lineage.sql(sql)
    assert "Window" not in found._jdf.queryExecution().optimizedPlan().toString()
    rows = found.selectExpr("g", "dl_ids(DL.pivoted) AS p", "dl_ids(DL.other) AS o").collect()
    ids = _made_of(lineage._parts.tables.spark.sql("SELECT g, id FROM pivoted WHERE id < 79"), ["g"])
    assert {(row.g,): row.p for row in rows} == ids
    assert {(row.g,): row.o for row in rows} == {key: [each + 1 for each in found] for key, found in ids.items()}


@pytest.mark.parametrize(("added", "column"), [("sum(n), count(*)", "n"), ("max(h), count(*)", "h")])
@pytest.mark.parametrize("group", ["g, ", ""])
def test_of_no_rows(lineage: ForwardLineage, group: str, added: str, column: str) -> None:
    """One row, where nothing is grouped by; else none."""
    sql = f"SELECT * FROM (SELECT {group}k, {column} FROM pivoted WHERE id < 0) PIVOT ({added} FOR k IN (0, 1))"
    rows = lineage._parts.tables.spark.sql(sql).collect()
    assert lineage.sql(sql).drop("DL").collect() == rows
    assert len(rows) == (not group)
    assert [row.made_of for row in lineage.sql(sql).selectExpr("dl_size(DL.pivoted) AS made_of").collect()] == [
        0
    ] * len(rows)


def test_null_among_the_values_where_nothing_is_grouped_by(lineage: ForwardLineage) -> None:
    sql = "SELECT * FROM (SELECT {}k FROM pivoted) PIVOT (count(*) FOR k IN (0, NULL AS none))"
    with pytest.raises(NotTracedError, match="NULL among the values") as refusal:
        lineage.sql(sql.format(""))
    assert "'all' AS part" in str(refusal.value)
    traced = lineage.sql(sql.format("'all' AS part, "))
    assert traced.drop("DL").collect() == lineage._parts.tables.spark.sql(sql.format("'all' AS part, ")).collect()
