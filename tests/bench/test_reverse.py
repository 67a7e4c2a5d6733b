"""The reverse queries find the lineage that we find: the rival is slower or faster, but not wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import LineageError
from tests.bench.reverse import reverse_query
from tests.bench.sessions import Sessions
from tests.bench.test_rivals import QUERIES, sessions
from tests.bench.tracing_back import TracingBack
from tests.bench.workloads import WORKLOADS

__all__ = ["sessions"]  # the fixture

Lineage = dict[tuple[object, ...], set[tuple[str, int]]]


def forward(data: DataFrame) -> Lineage:
    """Base rows of each different result row, over all its copies: more, a reverse query cannot know."""
    tables = data.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    ids = [f"dl_ids(DL.`{table}`) as `{table}`" for table in tables]
    width = len(data.columns) - 1
    found: Lineage = defaultdict(set)
    for row in data.selectExpr("* except (DL)", *ids).collect():
        found[tuple(row)[:width]] |= {(t, i) for t, ids_ in zip(tables, tuple(row)[width:], strict=True) for i in ids_}
    return {row: ids for row, ids in found.items() if ids}


def base_rows(names: Sequence[str], ids: Iterable[int | None]) -> set[tuple[str, int]]:
    """Columns `nation_id` and `nation_id_2` are both of nation; an outer join leaves NULL where nothing matched."""
    return {(name.rpartition("_id")[0], i) for name, i in zip(names, ids, strict=True) if i is not None}


def backward(data: DataFrame, width: int) -> Lineage:
    found: Lineage = defaultdict(set)
    for row in data.collect():
        found[tuple(row)[:width]] |= base_rows(data.columns[width:], tuple(row)[width:])
    return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "name"), QUERIES)
def test_the_reverse_query_finds_the_lineage(
    sessions: Callable[[str], Sessions],
    workload: str,
    name: str,
    tmp_path: Path,
) -> None:
    found = sessions(workload)
    text = WORKLOADS[workload].query(name)
    expected = forward(found.lineage.sql(text))
    back = TracingBack(found.plain, found.numbered, text, tmp_path / "result")
    width = back.query.width
    assert backward(back.trace_all(), width) == expected
    back.put_away()
    for row in back.sample[:2]:
        one = back.trace(row)
        ids = set().union(*(base_rows(one.columns, each) for each in one.collect()))
        back.put_away()
        assert ids == expected.get(tuple(row), set())


def test_an_aggregate_over_an_aggregate_is_materialised() -> None:
    query = reverse_query(
        "SELECT c, count(*) FROM (SELECT a, count(*) AS c FROM t GROUP BY a) AS u GROUP BY c ORDER BY c"
    )
    assert query.views == (("u", "SELECT a AS a, count(*) AS c, a AS __key0 FROM t GROUP BY a"),)
    assert query.on == (1,)
    assert query.ids == ("t_id",)


def test_a_result_without_its_keys_is_materialised_with_them() -> None:
    query = reverse_query("SELECT sum(b) FROM t GROUP BY a HAVING sum(b) > 1")
    assert query.views == (("__keyed", "SELECT sum(b) AS c1, a AS __key0 FROM t GROUP BY a HAVING sum(b) > 1"),)


def test_one_block_needs_no_view() -> None:
    query = reverse_query("SELECT a, sum(b) FROM t, u WHERE t.x = u.x GROUP BY a HAVING sum(b) > 1")
    assert not query.views
    assert query.core == "SELECT a AS k1, t.t_id AS t_id, u.u_id AS u_id FROM t, u WHERE t.x = u.x"
    assert query.one_row(["n", 2], ["string", "bigint"]) == (
        f"SELECT t_id, u_id FROM ({query.core}) WHERE k1 = CAST(:k1 AS string)",
        {"k1": "n"},
    )
    assert query.one_row([None, 2], ["string", "bigint"])[0].endswith("WHERE k1 IS NULL")


@pytest.mark.parametrize(
    "text", ["SELECT a FROM t UNION SELECT a FROM u", "WITH c AS (SELECT a FROM t) SELECT a FROM c"]
)
def test_what_has_no_reverse_query_says_so(text: str) -> None:
    with pytest.raises(LineageError, match="reverse method"):
        reverse_query(text)


def test_an_empty_result_has_no_row_to_trace(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).selectExpr("id as t_id").createOrReplaceTempView("reverse_empty")
    back = TracingBack(spark, spark, "SELECT t_id FROM reverse_empty WHERE t_id > 5", tmp_path / "result")
    with pytest.raises(LineageError, match="no row"):
        back.trace_one()
