"""The user's rows stay what they are, whatever is done with the frame next; and so does lineage that is still there.

Of stages that read each other Spark takes columns away, and pushes predicates into them, in several rounds. Where a
stage was then read by position as it had been before, dropping ``DL`` changed the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.settings import BY_REFERENCE
from tests.forward_lineage.tracing import continued_queries as queries
from tests.spark_settings import DEFAULTS, configured
from tests.tiers import every_day

SETTINGS: dict[str, dict[str, str]] = {"as it is": {}, "adaptive, compiled": DEFAULTS}


@pytest.fixture(scope="module")
def sessions(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ForwardLineage]]:
    """A session for each type of values, made when it is asked for."""

    class Sessions(dict[str, ForwardLineage]):
        def __missing__(self, kind: str) -> ForwardLineage:
            own = spark.newSession()
            queries.make_tables(own, kind)
            self[kind] = ForwardLineage(own, tmp_path_factory.mktemp(kind))
            for table in queries.TABLES:
                self[kind].register(table, key="id")
            return self[kind]

    yield Sessions()


CASES = [
    (kind, shape, use, "as it is")
    for kind in queries.TYPES
    for shape in queries.SHAPES
    for use in queries.CONTINUATIONS
]
TELLING = [  # each gave other rows, or failed within Spark
    ("int", "windows over a full join, filtered", "without lineage", "as it is"),
    ("string", "a running total read twice", "columns in reverse", "as it is"),
    ("decimal", "sessions", "counted", "as it is"),
]


@pytest.mark.parametrize(
    ("kind", "shape", "use", "setting"),
    every_day(
        [*CASES, *((*case[:3], "adaptive, compiled") for case in CASES if case[0] in ("int", "decimal"))], TELLING
    ),
)
def test_rows_are_those_without_lineage(
    sessions: dict[str, ForwardLineage], kind: str, shape: str, use: str, setting: str
) -> None:
    lineage, query, go_on = sessions[kind], queries.SHAPES[shape], queries.CONTINUATIONS[use]
    with configured(lineage.spark, SETTINGS[setting]):
        wanted = queries.rows_of(go_on(lineage.spark.sql(query)))
        assert queries.rows_of(go_on(lineage.sql(query))) == wanted
    assert wanted


@pytest.mark.parametrize(
    ("kind", "shape"),
    every_day(
        [(kind, shape) for kind in queries.TYPES for shape in queries.SHAPES],
        [("struct", "groups joined back, in a window")],
    ),
)
def test_lineage_is_that_by_value(sessions: dict[str, ForwardLineage], kind: str, shape: str) -> None:
    lineage, query = sessions[kind], queries.SHAPES[shape]
    with configured(lineage.spark, {BY_REFERENCE: "false"}):
        wanted = queries.rows_of(queries.with_ids(lineage.sql(query)))
        alone = queries.rows_of(queries.with_ids(lineage.sql(query).select("DL")))
    assert queries.rows_of(queries.with_ids(lineage.sql(query))) == wanted
    assert queries.rows_of(queries.with_ids(lineage.sql(query).select("DL"))) == alone
    assert wanted


def test_arrow_has_rows_that_an_outer_join_left_without_lineage(sessions: dict[str, ForwardLineage]) -> None:
    """Arrow refuses a struct that is NULL if its fields are said to be never so."""
    lineage = sessions["int"]
    traced = lineage.sql(f"SELECT id FROM {next(iter(queries.TABLES))}")
    rows = lineage.spark.range(-1, 1).join(traced, "id", "left").orderBy("id").toArrow().to_pylist()
    assert rows[0] == {"id": -1, "DL": None}
