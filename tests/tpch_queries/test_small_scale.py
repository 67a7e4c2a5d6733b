"""TPC-H at scale factor 0.01: queries have answers, lineage leaves those as they are, and leads back to them.

Completeness: base tables cut down to the lineage of a result row give that row back, and no other. [Zhang 2007,
Theorems 1 and 5] say so for a tree: a table that a query reads twice counts as two tables. So every reading gets a name
of its own here, `lineitem_1`, `lineitem_2`, …, over the same file, and lineage has no more than each reading needs;
`forward-lineage check` tries the queries as they are. Lineage is control lineage, so that predicates' subqueries find
what they found.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from pyspark.sql import DataFrame, Row, SparkSession
from sqlglot import exp

import tpch_queries
from forward_lineage import ForwardLineage
from tests.tpch_queries.answer_set import ROWS
from tests.tpch_queries.sessions import plain_session
from udafs.lineage_set import LineageSet

SAMPLE = 1  # result rows of each query; `forward-lineage check` tries more

# At this scale no part fits Q17, whose sum is NULL then. No other query may answer NULL.
MAY_BE_NULL = {"q17"}

# S8 joins what S2 to S7 join; of the queries that join, filter and group, and no more, three are enough every day.
SELDOM = [f"s{number}" for number in range(2, 8)]
PLAIN = ["q5", "q6", "q7", "q8", "q10", "q12", "q14", "q19"]


def but_for(seldom: list[str]) -> list[object]:
    """Return the queries, those in `seldom` for the long tier only."""
    return [pytest.param(name, marks=pytest.mark.long) if name in seldom else name for name in tpch_queries.names()]


Ids = Mapping[str, np.ndarray]
Answers = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tpch: Path) -> SparkSession:
    return plain_session(spark, tpch)


@pytest.fixture(scope="module")
def answers(plain: SparkSession) -> Answers:
    """What plain Spark answers; each query is asked once."""
    return cache(lambda name: plain.sql(tpch_queries.query(name)).collect())


def counted(rows: list[Row]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in rows)


@pytest.mark.parametrize("name", tpch_queries.names())
def test_there_is_an_answer(answers: Answers, name: str) -> None:
    rows = answers(name)
    assert 0 < len(rows) <= ROWS[name]
    if name not in MAY_BE_NULL:
        assert not any(value is None for row in rows for value in row)


def test_the_chain_keeps_its_rows(answers: Answers) -> None:
    """S2–S8 join S1 along foreign keys only, so that each adds columns and neither rows nor duplicates."""
    dates = [Counter((row.o_orderdate, row.l_shipdate) for row in answers(f"s{number}")) for number in range(1, 9)]
    assert dates[0]
    assert all(found == dates[0] for found in dates)


def user_columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema if field.name != "DL"]


# Those whose rows and witnesses are asked for below have their rows compared there, under control.
@pytest.mark.parametrize("name", but_for([name for name in tpch_queries.names() if name not in (*PLAIN, "q2", "q21")]))
def test_lineage_leaves_the_result_as_it_is(
    answers: Answers, traced: ForwardLineage, plain: SparkSession, name: str
) -> None:
    text = tpch_queries.query(name)
    wanted = plain.sql(text)
    found = {semantics: traced.sql(text, semantics=semantics) for semantics in ("data", "control")}
    for frame in found.values():
        assert frame.columns == [*wanted.columns, "DL"]
        assert user_columns(frame) == user_columns(wanted)
    assert counted(found["data"].drop("DL").collect()) == counted(answers(name))


@pytest.mark.long  # most of them every day in the test of witnesses: each reading has a name of its own there
@pytest.mark.parametrize("name", tpch_queries.names())
def test_control_lineage_leaves_the_rows_as_they_are(answers: Answers, traced: ForwardLineage, name: str) -> None:
    found = traced.sql(tpch_queries.query(name), semantics="control").drop("DL").collect()
    assert counted(found) == counted(answers(name))


# ---------------------------------------------------------------- witnesses


def as_a_tree(text: str) -> str:
    """Return a query in which every reading of a base table has a name of its own."""
    tree = sqlglot.parse_one(text, dialect="spark")
    seen: Counter[str] = Counter()
    for table in tree.find_all(exp.Table, bfs=False):
        if table.name in tpch_queries.TABLES:
            seen[table.name] += 1
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
            table.set("this", exp.to_identifier(f"{table.name}_{seen[table.name]}"))
    return tree.sql("spark")


def readings() -> list[tuple[str, str]]:
    """Return the names that `as_a_tree` gives, each with its table."""
    trees = (sqlglot.parse_one(as_a_tree(tpch_queries.query(name)), dialect="spark") for name in tpch_queries.names())
    named = {table.name: table.name.rpartition("_")[0] for tree in trees for table in tree.find_all(exp.Table)}
    return sorted((reading, table) for reading, table in named.items() if table in tpch_queries.TABLES)


class Cuts:
    """Sessions that have nothing but some rows of the tables."""

    def __init__(self, spark: SparkSession, folder: Path, scratch: Path) -> None:
        self.spark = spark
        self.scratch = scratch
        files = {table: folder / f"{table}.parquet" for table in tpch_queries.TABLES}
        self.rows = {table: _plain_strings(pq.read_table(file)) for table, file in files.items()}
        self.schemas = {table: spark.read.parquet(str(file)).schema for table, file in files.items()}
        self.made = 0

    def session(self, ids: Ids) -> SparkSession:
        """Return a session that has, of every reading in `ids`, the rows with these ids."""
        session = self.spark.newSession()
        self.made += 1
        for reading, rows in ids.items():
            file = self.scratch / f"{self.made}-{reading}.parquet"
            table = reading.rpartition("_")[0]
            pq.write_table(self.rows[table].take(rows), file)
            session.read.schema(self.schemas[table]).parquet(str(file)).createOrReplaceTempView(reading)
        return session


def _plain_strings(table: pa.Table) -> pa.Table:
    """Return the table with `string` for `string_view`, of which Arrow cannot take rows."""
    fields = [field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]
    return table.cast(pa.schema(fields))


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    lineage = ForwardLineage(spark.newSession(), home=tmp_path_factory.mktemp("lineage_home"))
    for reading, table in readings():
        lineage.register(reading, path=tpch / f"{table}.parquet")  # one file each: an id is a position
    return lineage


@pytest.fixture(scope="module")
def cuts(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Cuts:
    return Cuts(spark, tpch, tmp_path_factory.mktemp("cut"))


@pytest.fixture(scope="module")
def traced_rows(lineage: ForwardLineage) -> Answers:
    """Rows with control lineage; each query is asked once."""
    return cache(lambda name: lineage.sql(as_a_tree(tpch_queries.query(name)), semantics="control").collect())


def rows_of(data: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in data.collect()]


def witnesses(rows: list[Row], seed: str) -> list[tuple[tuple[object, ...], Ids]]:
    """Return sample rows of a result and, of each reading, the ids of their lineage."""
    sample = random.Random(seed).sample(rows, min(SAMPLE, len(rows)))
    return [(tuple(row)[:-1], _decoded(row["DL"])) for row in sample]


def _decoded(lineage: Row) -> Ids:
    return {reading: np.fromiter(LineageSet.from_bytes(value), np.int64) for reading, value in lineage.asDict().items()}


# The groups of Q1 have the rows of a whole table, which is slow to no purpose: Q3, Q9 and Q18 group, too.
@pytest.mark.parametrize("name", but_for([*SELDOM, *PLAIN, "q1"]))
def test_lineage_gives_the_row_back(answers: Answers, traced_rows: Answers, cuts: Cuts, name: str) -> None:
    tree = as_a_tree(tpch_queries.query(name))
    traced = traced_rows(name)
    assert Counter(tuple(row)[:-1] for row in traced) == counted(answers(name))
    for row, ids in witnesses(traced, seed=name):
        assert rows_of(cuts.session(ids).sql(tree)) == [row]


@pytest.mark.parametrize(
    ("name", "reading"),
    [
        pytest.param("q1", "lineitem_1", marks=pytest.mark.long),
        ("q3", "orders_1"),
        ("q9", "partsupp_1"),
        ("q13", "orders_1"),
        ("q18", "lineitem_1"),
    ],
)
def test_one_base_row_fewer_does_not(traced_rows: Answers, cuts: Cuts, name: str, reading: str) -> None:
    """The test above can fail: these rows need every base row of their lineage.   [Zhang 2007, Theorem 2]"""
    tree = as_a_tree(tpch_queries.query(name))
    row, ids = witnesses(traced_rows(name), seed=name)[0]
    fewer = {**ids, reading: ids[reading][1:]}
    assert len(fewer[reading]) == len(ids[reading]) - 1
    assert rows_of(cuts.session(fewer).sql(tree)) != [row]


def test_every_reading_has_a_name_of_its_own() -> None:
    found = as_a_tree("select * from nation n1, nation as n2 where exists (select * from region join nation on true)")
    assert found == (
        "SELECT * FROM nation_1 AS n1 CROSS JOIN nation_2 AS n2 WHERE EXISTS(SELECT * FROM region_1 AS region "
        "JOIN nation_3 AS nation ON TRUE)"
    )
