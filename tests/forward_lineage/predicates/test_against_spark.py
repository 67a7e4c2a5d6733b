"""Whatever is decided here, Spark decides in the same way, ANSI or not, over thousands of random conditions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.predicates.reading import read_condition
from forward_lineage.predicates.typing import Predicate, typed
from forward_lineage.predicates.unsupported import Doubtful
from forward_lineage.spark.versions import arrow_table
from tests.forward_lineage.predicates.random_conditions import Conditions, rows

AT_ONCE = 250  # columns of a query

Decided = dict[str, list[bool]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(rows(), path, row_group_size=50)
    return path


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark.newSession()


@pytest.fixture(scope="module", params=[1_000, pytest.param(8_000, marks=pytest.mark.long)])
def decided(session: SparkSession, file: Path, request: pytest.FixtureRequest) -> Decided:
    """What is decided here of so many conditions that are drawn; most are doubtful, so that few must not be left."""
    arrays = {name: column.combine_chunks() for name, column in zip(rows().column_names, rows().columns, strict=True)}
    columns = session.read.parquet(str(file)).dtypes
    conditions, found = Conditions(seed=2024), {}
    for _ in range(request.param):
        text = conditions.draw()
        try:
            found[text] = meaning(text, columns).holds(arrays).to_pylist()
        except Doubtful:
            continue
    assert len(found) > request.param // 4
    return found


def meaning(text: str, columns: list[tuple[str, str]]) -> Predicate:
    return typed(read_condition(text), columns)


def by_spark(frame: DataFrame, texts: list[str]) -> Decided:
    tests = [F.coalesce(F.expr(text), F.lit(False)).alias(f"c{place}") for place, text in enumerate(texts)]
    table = arrow_table(frame.coalesce(1).select(*tests))
    return dict(zip(texts, (column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("ansi", [True, False])
def test_what_is_decided_is_what_spark_decides(session: SparkSession, file: Path, decided: Decided, ansi: bool) -> None:
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    frame, texts = session.read.parquet(str(file)), list(decided)
    for first in range(0, len(texts), AT_ONCE):
        for text, found in by_spark(frame, texts[first : first + AT_ONCE]).items():
            assert decided[text] == found, text


def test_where_conditions_are_pushed_down_to_the_file(session: SparkSession, file: Path, decided: Decided) -> None:
    """Spark's reader leaves out groups of rows by their statistics."""
    session.conf.set("spark.sql.ansi.enabled", "true")
    frame = session.read.parquet(str(file)).select("*", F.col("_metadata.row_index").alias("__at"))
    for text in [each for each in decided if "x" in each.lower() or " OR " not in each][:60]:
        found = sorted(arrow_table(frame.where(text).select("__at")).column(0).to_pylist())
        assert found == [place for place, holds in enumerate(decided[text]) if holds], text
