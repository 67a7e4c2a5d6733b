"""Every consuming query equals the same by hand: sets of rows, carried along pairs (row, id) with Python's own sets.

Over random relations: two groupings, a self-join, and two results further down, one of which reads the table as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.conftest import rows_with_lineage
from tests.shared_state import drop_views

SAVED = {
    "by_a": "SELECT a AS c, count(*) AS n FROM base GROUP BY a",
    "by_b": "SELECT b AS c, min(k) AS n FROM base WHERE a IS NOT NULL GROUP BY b",
    "pairs": "SELECT x.c, y.k AS n FROM base x JOIN base y ON x.a = y.b",
    "counted": "SELECT n AS c, sum(c) AS n FROM by_a GROUP BY n",
    "both": "SELECT by_b.c, base.k AS n FROM by_b JOIN base ON by_b.c = base.c",
}
CONDITIONS = ["c > 1", "c IS NULL OR n < 4", "n % 2 = 0", "c IN (0, 2) AND n IS NOT NULL", "false"]


@dataclass
class World:
    """Tables, and what rows of results were made of.

    Attributes:
        lineage: the session's.
        rows: table → id → row.
        meets: (table, condition) → ids.
        pairs: (result, table) → pairs of row and id.

    """

    lineage: ForwardLineage
    rows: dict[str, dict[int, tuple[object, ...]]]
    meets: dict[tuple[str, str], set[int]]
    pairs: dict[tuple[str, str], set[tuple[int, int]]]

    def step(self, ids: set[int], table: str, then: str) -> tuple[str, set[int]]:
        """From rows of one table to those of the next: the function that leads there, and the rows."""
        if (table, then) in self.pairs:
            return "BACKWARD", {each for row, each in self.pairs[table, then] if row in ids}
        return "FORWARD", {row for row, each in self.pairs[then, table] if each in ids}

    def near(self, table: str) -> list[str]:
        """The tables that a step may lead to."""
        return sorted({b for a, b in self.pairs if a == table} | {a for a, b in self.pairs if b == table})


def _base(seed: int) -> str:
    chance = random.Random(seed)
    small = ["NULL", "0", "1", "2", "3"]
    rows = (f"({k}, {', '.join(chance.choice(small) for _ in range(4))})" for k in chance.sample(range(40), 14))
    return f"SELECT CAST(k AS INT) k, a, b, c, n FROM VALUES {', '.join(rows)} AS base(k, a, b, c, n)"


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.long)])  # another world goes the same way
def world(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    home: Path = tmp_path_factory.mktemp("home")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW base AS {_base(request.param)}")
    lineage = ForwardLineage(spark, home)
    lineage.register("base", key="k")
    pairs = {}
    for name, sql in SAVED.items():
        saved = lineage.save(sql, name)
        above = {table.name for table in saved.tables} | {"base"}
        for table in above:
            found = lineage.table(f"lineage_of({name}, {table})").collect()
            pairs[name, table] = {(row.row, row.id) for row in found}
    tables = ["base", *SAVED]
    rows = {table: {row[0]: tuple(row[1:]) for row in lineage.rows(table).collect()} for table in tables}
    meets = {
        (table, condition): {row.row_id for row in lineage.rows(table).where(condition).collect()}
        for table in tables
        for condition in CONDITIONS
    }
    yield World(lineage, rows, meets, pairs)
    drop_views(spark)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_as_by_hand(world: World, data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(["base", *SAVED]))
    text, ids = table, set(world.rows[table])
    for _ in range(data.draw(st.integers(1, 3))):
        condition = data.draw(st.sampled_from([None, *CONDITIONS]))
        if condition is not None:
            text, ids = f"{text} WHERE {condition}", ids & world.meets[table, condition]
        then = data.draw(st.sampled_from(world.near(table)))
        function, ids = world.step(ids, table, then)
        text, table = f"{function}({text}, {then})", then
    wanted = sorted(((world.rows[table][each], {table: [each]}) for each in ids), key=repr)
    assert rows_with_lineage(world.lineage.sql(f"SELECT * FROM {text}")) == wanted
    grouped: dict[object, list[int]] = {}
    for each in ids:
        c = dict(zip(world.lineage.spark.table("base").columns, world.rows[table][each], strict=False))
        key = c["c"] if table == "base" else world.rows[table][each][0]
        grouped.setdefault(key, []).append(each)
    frame = world.lineage.sql(f"SELECT c, count(*) AS n FROM {text} AS x GROUP BY c")
    by_group = [((key, len(found)), {table: sorted(found)}) for key, found in grouped.items()]
    assert rows_with_lineage(frame) == sorted(by_group, key=repr)
