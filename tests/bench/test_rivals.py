"""The rivals answer the same queries, and what they collect is the lineage: two ways to the same ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import walmart_demo.data
from tests.bench.sessions import Sessions
from tests.bench.workloads import TPCH, WALMART, WORKLOADS

#: All of them are in the long tier: what is compared with has no part in what users get.
QUERIES = [
    pytest.param(workload.folder, name, marks=pytest.mark.long)
    for workload in (TPCH, WALMART)
    for name in workload.names
]


@pytest.fixture(scope="module")
def sessions(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sessions]:
    """Give the sessions of a workload: TPC-H at scale factor 0.01, two of Walmart's stores."""
    folders = {
        "tpch": lambda: tpch,
        "walmart": lambda: walmart_demo.data.generate(2, folder=tmp_path_factory.mktemp("walmart") / "two"),
    }

    @cache
    def of(workload: str) -> Sessions:
        home = tmp_path_factory.mktemp("lineage_home")
        return Sessions.over(WORKLOADS[workload], spark.newSession(), folders[workload](), home)

    return of


def id_columns(data: DataFrame) -> list[str]:
    return [name for name in data.columns if name.endswith(("_id", "_ids"))]


def plain(rows: list[Row], width: int) -> list[tuple[object, ...]]:
    return [tuple(row)[:width] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "name"), QUERIES)
def test_the_rival_answers_the_same(sessions: Callable[[str], Sessions], workload: str, name: str) -> None:
    expected = sessions(workload).plain.sql(WORKLOADS[workload].query(name))
    found = sessions(workload).numbered.sql(WORKLOADS[workload].rival(name))
    width = len(expected.columns)
    assert found.columns[width:] == id_columns(found)
    assert Counter(plain(found.collect(), width)) == Counter(plain(expected.collect(), width))


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "name"), QUERIES)
def test_the_rival_collects_the_lineage(sessions: Callable[[str], Sessions], workload: str, name: str) -> None:
    by_hand = sessions(workload).numbered.sql(WORKLOADS[workload].rival(name))
    width = len(by_hand.columns) - len(id_columns(by_hand))
    tables = [column.removesuffix("_ids").removesuffix("_id") for column in id_columns(by_hand)]
    traced = sessions(workload).lineage.sql(WORKLOADS[workload].query(name))
    fields = traced.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    assert set(tables) <= set(fields)
    # A table that only a predicate's subquery reads gives no data lineage.
    others = [table for table in fields if table not in tables]
    ids = [f"dl_ids(DL.`{table}`) as `{table}`" for table in (*tables, *others)]
    rows = traced.selectExpr("* except (DL)", *ids).collect()
    assert all(found == [] for row in rows for found in tuple(row)[width + len(tables) :])
    assert annotated([tuple(row)[: width + len(tables)] for row in rows], width) == annotated(by_hand.collect(), width)


def annotated(rows: Sequence[tuple[object, ...]], width: int) -> Counter[tuple[object, ...]]:
    """Count rows with their ids; one id and a set of one are the same."""
    return Counter(
        tuple(row)[:width] + tuple(tuple(sorted(set(ids))) if isinstance(ids, list) else (ids,) for ids in row[width:])
        for row in rows
    )
