"""Every example of docs/semantics.md: its rows, and its lineage under both semantics."""

from __future__ import annotations

import pytest
import sqlparse
from pyspark.sql import DataFrame, Row, SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.results import meaning_of
from tests.conftest import REPOSITORY
from tests.golden import execution
from tests.golden.cases import SEMANTICS
from tests.markdown_pages import Block, blocks_of

PAGE = REPOSITORY / "docs" / "semantics.md"
BLOCKS = blocks_of(PAGE.read_text(encoding="utf-8"))
EXAMPLES = [
    (block, BLOCKS[at + 1]) for at, block in enumerate(BLOCKS) if block.kind == "code" and block.info == "sql lineage"
]


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """The page's tables, in a session of their own."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    (tables,) = [block for block in BLOCKS if block.info == "sql"]
    for statement in sqlparse.split(tables.text, strip_semicolon=True):
        session.sql(statement)
    made = ForwardLineage(session, tmp_path_factory.mktemp("home"))
    made.register("customer", key="c_id")
    made.register("orders", key="o_id")
    return made


@pytest.mark.parametrize(("query", "table"), [pytest.param(*each, id=f"line {each[0].line}") for each in EXAMPLES])
def test_example(query: Block, table: Block, lineage: ForwardLineage) -> None:
    assert table.kind == "table", f"{PAGE.name}, line {query.line}: no table behind the query"
    header, *rows = table.cells()
    users = [name for name in header if name not in SEMANTICS]
    for semantics in SEMANTICS:
        frame = lineage.sql(query.text, semantics)
        assert frame.columns[:-1] == users
        shown = header.index(semantics) if semantics in header else header.index("data")
        expected = sorted((" | ".join(row[: len(users)]), row[shown]) for row in rows)
        assert sorted(_rows(frame, lineage)) == expected, semantics


def _rows(frame: DataFrame, lineage: ForwardLineage) -> list[tuple[str, str]]:
    """The user's columns, and the lineage as the page writes it: granules as the values that they stand for."""
    meaning = meaning_of(frame)
    assert meaning is not None
    if meaning["granularity"] == "rows":
        return execution.rows(frame, traced=True)
    return [(" | ".join(map(str, row[:-1])), _granules(row.DL)) for row in lineage.granules(frame).collect()]


def _granules(lineage: Row) -> str:
    return " ".join(f"{table}{{{', '.join(map(_value, values))}}}" for table, values in lineage.asDict().items())


def _value(value: object) -> str:
    if isinstance(value, Row):  # a range
        return f"{{{', '.join('NULL' if each is None else str(each) for each in value)}}}"
    return str(value).lower() if isinstance(value, bool) else str(value)
