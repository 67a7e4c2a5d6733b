"""dlunion where each group has one range, or one id: planned as a number, with the bytes of the set."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from forward_lineage.columns.ranges import Partition
from forward_lineage.spark.versions import arrow_frame
from tests.spark_settings import INTERPRETED, configured
from tests.udafs.test_functions import session

__all__ = ["session"]

HASHED = "spark.forward_lineage.hash_aggregation"
FRAGMENTS = f"dl_fragment(a, X'{Partition('t', 'a', pa.array(range(10, 90, 10), pa.int64())).packed.hex()}') AS dl"
R, S = f"(SELECT *, {FRAGMENTS} FROM r) AS r", f"(SELECT *, {FRAGMENTS} FROM s) AS s"

ONE = {
    "the column": f"SELECT a, count(*), dlunion(dl) FROM {R} GROUP BY a",
    "one that is equal": f"SELECT s.a, sum(r.v), dlunion(r.dl) FROM {R} JOIN s ON r.a = s.a AND r.v > s.v GROUP BY s.a",
    "one that is equal by another": f"SELECT u.a, dlunion(r.dl) FROM {R}, s, s AS u"
    " WHERE r.a = s.a AND s.a = u.a GROUP BY u.a",
    "beside others": f"SELECT v, a, dlunion(dl) FROM {R} WHERE v > 3 GROUP BY v, a",
    "padded": f"SELECT s.a, dlunion(s.dl) FROM r LEFT JOIN {S} ON r.a = s.a AND s.v > 50 GROUP BY s.a",
    "padded, by the other side": f"SELECT r.a, dlunion(s.dl) FROM r LEFT JOIN {S} ON r.a = s.a GROUP BY r.a",
    "a filter": f"SELECT a, dlunion(dl) FILTER (WHERE v > 40) FROM {R} GROUP BY a",
    "beside DISTINCT": f"SELECT a, count(DISTINCT v), dlunion(dl) FROM {R} GROUP BY a",
    "an expression over it": f"SELECT a, dl_size(dlunion(dl)) FROM {R} GROUP BY a HAVING dl_size(dlunion(dl)) > 0",
}
MOST = "(SELECT max(a) AS most, max(v) AS id FROM s) AS m"
ONE |= {
    "of one row": f"SELECT v, dlunion(m.id) FROM r JOIN {MOST} ON r.a < m.most GROUP BY v",
    "of one row, all": f"SELECT dlunion(m.id) FROM r JOIN {MOST} ON r.a < m.most WHERE r.v > 20",
    "of one row, padded": f"SELECT v, dlunion(id) FROM r LEFT JOIN {MOST} ON r.a < m.most AND m.most < 50 GROUP BY v",
    "of one row, of none": f"SELECT v, dlunion(id) FROM r LEFT JOIN (SELECT * FROM {MOST} WHERE id < 0) ON true"
    " GROUP BY v",
    "of one row, among them": f"SELECT v, dlunion(id) FILTER (WHERE a > 50) FROM r CROSS JOIN {MOST} GROUP BY v",
    "of one row, further in": "SELECT w, dlunion(id)"
    f" FROM (SELECT r.v + 1 AS w, id, s.a FROM r JOIN s ON r.a = s.a, {MOST}) WHERE a > 3 GROUP BY w",
}
SEVERAL = {
    "of two rows": "SELECT r.v, dlunion(m.id) FROM r, (SELECT v AS id FROM s ORDER BY v, a LIMIT 2) AS m GROUP BY r.v",
    "of one row, or another": f"SELECT v, dlunion(id) FROM (SELECT r.v, id FROM r, {MOST} UNION ALL SELECT v, a FROM s)"
    " GROUP BY v",
    "of one row each": "SELECT r.v, dlunion(x) FROM r, LATERAL (SELECT max(s.v) AS x FROM s WHERE s.a = r.a)"
    " GROUP BY r.v",
    "another column": f"SELECT v, dlunion(dl) FROM {R} GROUP BY v",
    "an expression": f"SELECT a % 7, dlunion(dl) FROM {R} GROUP BY a % 7",
    "all rows": f"SELECT dlunion(dl) FROM {R}",
    "one that is less": f"SELECT s.a, dlunion(r.dl) FROM {R} JOIN s ON r.a < s.a GROUP BY s.a",
    "one that need not be equal": f"SELECT s.a, dlunion(r.dl) FROM {R} LEFT JOIN s ON r.a = s.a GROUP BY s.a",
    "equal or not": f"SELECT s.a, dlunion(r.dl) FROM {R}, s WHERE r.a = s.a OR r.v = s.v GROUP BY s.a",
    "both padded": f"SELECT r.a, dlunion(s.dl) FROM r FULL JOIN {S} ON r.a = s.a GROUP BY r.a",
    "all groupings": f"SELECT a, v, dlunion(dl) FROM {R} GROUP BY ROLLUP (a, v)",
    "other rows": f"SELECT a, dlunion(dl) FROM (SELECT a, dl FROM {R} UNION ALL SELECT v, dl FROM {S}) GROUP BY a",
    "another value under its name": f"SELECT a, dlunion(dl) FROM (SELECT v AS a, dl FROM {R}) GROUP BY a",
}


@pytest.fixture
def tables(session: SparkSession) -> SparkSession:
    dice = random.Random(9)
    for name, size in (("r", 400), ("s", 150)):
        rows = [(dice.choice([None, dice.randrange(100)]), dice.randrange(100)) for _ in range(size)]
        columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
        frame = arrow_frame(session, pa.table(columns, ["a", "v"])).repartition(3)
        frame.createOrReplaceTempView(name)
    return session


def rows_and_plan(session: SparkSession, query: str) -> tuple[list[str], str]:
    frame = session.sql(query)
    return sorted(map(repr, frame.collect())), frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize("query", ONE.values(), ids=ONE)
def test_a_group_of_one_fragment_carries_a_number(tables: SparkSession, query: str) -> None:
    found, plan = rows_and_plan(tables, query)
    assert "partial_min(" in plan and "partial_dlunion(" not in plan
    with configured(tables, INTERPRETED):
        assert rows_and_plan(tables, query)[0] == found
    with configured(tables, {HASHED: "false"}):
        wanted, plan = rows_and_plan(tables, query)
    assert "partial_dlunion(" in plan
    assert found == wanted


@pytest.mark.parametrize("query", SEVERAL.values(), ids=SEVERAL)
def test_a_group_of_several_carries_a_set(tables: SparkSession, query: str) -> None:
    found, plan = rows_and_plan(tables, query)
    assert "partial_dlunion(" in plan
    with configured(tables, {HASHED: "false"}):
        assert rows_and_plan(tables, query)[0] == found
