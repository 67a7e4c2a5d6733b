"""The SQL functions: what they answer, what they say of themselves, what they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import SparkSession

from tests.task_errors import REFUSED
from tests.tiers import every_day
from udafs.attach import attach

FUNCTIONS = [
    "dlunion",
    "dl_union",
    "dl_of",
    "dl_size",
    "dl_ids",
    "dl_contains",
    "dl_intersects",
    "dl_encoding",
    "dl_number",
    "dl_relation",
    "dl_compose",
    "dl_intersection",
    "dl_granule",
    "dl_granule_value",
    "dl_listed",
    "dl_listed_value",
    "dl_fragment",
    "dl_range",
    "dl_in_ranges",
]
ENCODING = "spark.forward_lineage.encoding"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    attach(own)
    return own


@pytest.fixture(params=["generated", "interpreted"])
def sql(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session, once with generated code and once without."""
    generated = request.param == "generated"
    session.conf.set("spark.sql.codegen.wholeStage", str(generated).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if generated else "NO_CODEGEN")
    # Otherwise the optimizer computes queries over VALUES by itself, interpreted.
    session.conf.set(
        "spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    )
    yield session
    for key in ("codegen.wholeStage", "codegen.factoryMode", "optimizer.excludedRules"):
        session.conf.unset(f"spark.sql.{key}")


CASES = [
    ("dl_ids(dl_of(7))", [7]),
    ("dl_ids(dl_of(9223372036854775807))", [2**63 - 1]),
    ("dl_ids(dl_of(a))", [5]),
    ("dl_ids(dl_of(n))", []),
    ("dl_ids(dl_of(NULL))", []),
    ("dl_ids(dl_union(a))", [5]),
    ("dl_ids(dl_union(n))", []),
    ("dl_ids(dl_union(a, 3, n, dl_of(4), CAST(NULL AS BINARY), dl_union(9, 5)))", [3, 4, 5, 9]),
    ("dl_ids(dl_union(CAST(1 AS TINYINT), CAST(2 AS SMALLINT), CAST(3 AS INT), NULL))", [1, 2, 3]),
    ("dl_size(dl_union(a, 5, 6))", 2),
    ("dl_ids(dl_union(array(3L, a, NULL), 4, array(dl_of(9), nb, dl_union(1, 2))))", [1, 2, 3, 4, 5, 9]),
    ("dl_ids(dl_union(array(CAST(NULL AS BIGINT)), CAST(NULL AS ARRAY<BIGINT>)))", []),
    ("dl_size(NULL)", None),
    ("dl_size(nb)", None),
    ("dl_ids(nb)", None),
    ("dl_encoding(nb)", None),
    ("dl_contains(nb, 1)", None),
    ("dl_contains(dl_of(1), n)", None),
    ("dl_contains(dl_union(1, a), 5)", True),
    ("dl_contains(dl_union(1, a), 4)", False),
    ("dl_contains(dl_of(0), -1)", False),
    ("dl_intersects(dl_of(1), nb)", None),
    ("dl_intersects(dl_union(1, a), dl_union(5, 6))", True),
    ("dl_intersects(dl_union(1, a), dl_of(n))", False),
    ("dl_ids(dl_intersection(dl_union(1, a, 9), dl_union(5, 6, 9)))", [5, 9]),
    ("dl_ids(dl_intersection(dl_union(1, a), dl_of(n)))", []),
    ("dl_intersection(dl_of(1), nb)", None),
    ("dl_encoding(dl_of(a))", "set"),
    ("hex(dl_of(n))", "0000"),
]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[case[0] for case in CASES])
def test_scalar_functions(sql: SparkSession, expression: str, expected: object) -> None:
    row = sql.sql(
        f"SELECT {expression} FROM VALUES (5L, CAST(NULL AS BIGINT), CAST(NULL AS BINARY)) AS t(a, n, nb)"
    ).first()
    assert row == (expected,)


def test_questions_to_each_encoding(sql: SparkSession) -> None:
    wanted = [*range(0, 90, 3), *range(70_000, 75_000), *range(2**40, 2**40 + 200, 2)]
    values = {}
    for setting in ("set", "bdd"):
        sql.conf.set(ENCODING, setting)
        values[setting] = sql.createDataFrame([(i,) for i in wanted], "i BIGINT").selectExpr("dlunion(i)").first()[0]
    sql.conf.unset(ENCODING)
    frame = sql.createDataFrame(list(values.items()), "name STRING, d BINARY")
    rows = frame.selectExpr(
        "name", "dl_encoding(d)", "dl_size(d)", "dl_ids(d)", "dl_contains(d, 70001)", "dl_contains(d, 1099511627777)",
        "dl_intersects(d, dl_of(3))", "dl_intersects(d, dl_of(4))", "dl_intersects(d, d)",
    ).collect()  # fmt: skip
    assert [tuple(row) for row in rows] == [
        (name, name, len(wanted), wanted, True, False, True, False, True) for name in ("set", "bdd")
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_describe_function_and_its_example(session: SparkSession, function: str) -> None:
    text = "\n".join(row[0] for row in session.sql(f"DESCRIBE FUNCTION EXTENDED {function}").collect())
    assert f"Function: {function}" in text
    assert f"Usage: {function}(" in text
    examples = re.findall(r"> (SELECT .*);\n +(\S.*)", text)
    assert examples
    for query, shown in examples:
        value = session.sql(query).first()[0]
        assert str(value).replace(" ", "").replace("True", "true") == shown


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dlunion('x')", "BIGINT.*BINARY.*STRING"),
        ("dlunion(1.5)", "UNEXPECTED_INPUT_TYPE"),
        ("dlunion(true)", "UNEXPECTED_INPUT_TYPE"),
        ("dl_union(dl_of(1), 'x')", "(?:second parameter|Parameter 2).*BIGINT.*BINARY.*STRING"),
        ("dl_union(array('x'))", "(?:first parameter|Parameter 1).*ARRAY<STRING>"),
        ("dl_union(array(dl_of(1)), array(1))", "(?:second parameter|Parameter 2).*ARRAY<INT>"),
        ("dl_of(dl_of(1))", "BIGINT.*BINARY"),
        ("dl_of(1D)", "DOUBLE"),
        ("dl_size(1)", "BINARY"),
        ("dl_ids('x')", "STRING"),
        ("dl_contains(1, dl_of(1))", "(?:first parameter|Parameter 1)"),
        ("dl_intersects(dl_of(1), 1)", "(?:second parameter|Parameter 2)"),
        ("dl_encoding(array(1))", "ARRAY"),
        ("dl_of()", "WRONG_NUM_ARGS.*dl_of"),
        ("dl_union()", "WRONG_NUM_ARGS.*dl_union.*> 0"),
        ("dlunion(1, 2)", "WRONG_NUM_ARGS.*dlunion"),
        ("dl_contains(dl_of(1))", "WRONG_NUM_ARGS.*dl_contains"),
        ("dl_into(named_struct('t', dl_of(1)), 't')", "WRONG_NUM_ARGS.*dl_into"),
    ],
)
def test_wrong_arguments_are_analysis_errors(session: SparkSession, expression: str, message: str) -> None:
    with pytest.raises(AnalysisException, match=message):
        session.sql(f"SELECT {expression}")


ENCODINGS = ("auto", "set", "bdd", "quick")


@pytest.mark.parametrize(
    ("made_as", "united_as"),
    every_day(product(ENCODINGS, ENCODINGS), lambda case: case[0] == case[1] or "auto" not in case),
)
def test_union_with_a_value_that_comes_again(sql: SparkSession, made_as: str, united_as: str) -> None:
    """A union that adds nothing to the row before's longest value is that value: the bytes must be those of the set."""
    sql.conf.set(ENCODING, made_as)
    sql.sql("SELECT dlunion(id * id) AS squares FROM range(500)").createOrReplaceTempView("made")
    squares = sql.table("made").first()[0]
    sql.conf.set(ENCODING, united_as)
    try:
        sql.createDataFrame([(squares,)], "squares BINARY").createOrReplaceTempView("made")
        rows = sql.sql("""
            SELECT n, united, dl_ids(united) AS ids, dlunion(square) OVER () AS canonical
            FROM (SELECT explode(array(0, 1, 4, 5, 9, 249001, 249002, NULL)) AS n),
                 made, LATERAL (SELECT dl_union(squares, n, dl_of(n), squares) AS united),
                 LATERAL (SELECT squares AS square)
        """).collect()
    finally:
        sql.conf.unset(ENCODING)
    known = {i * i for i in range(500)}
    assert len(rows) == 8
    for row in rows:
        assert row.ids == sorted(known | ({row.n} if row.n is not None else set()))
        if row.n in known | {None}:
            assert row.united == row.canonical


def test_union_with_a_repeated_value_refuses_what_is_no_id(sql: SparkSession) -> None:
    query = """
        SELECT dl_union(big, CASE WHEN id < 1393 THEN id ELSE -3 END)
        FROM (SELECT dlunion(7 * id) AS big FROM range(300)), (SELECT 7 * id AS id FROM range(0, 200, 1, 1))
    """
    with pytest.raises(REFUSED, match="row id -3 is negative"):
        sql.sql(query).collect()


@pytest.mark.parametrize("expression", ["dl_of(id - 1)", "dl_union(id - 1, 4)", "dlunion(id - 1)"])
def test_a_negative_id_is_refused(sql: SparkSession, expression: str) -> None:
    with pytest.raises(REFUSED, match="row id -1 is negative"):
        sql.sql(f"SELECT {expression} FROM range(2)").collect()


@pytest.mark.parametrize(
    "question", ["dl_size(d)", "dl_ids(d)", "dl_contains(d, 1)", "dl_intersects(d, d)", "dlunion(d)"]
)
def test_damaged_bytes_are_refused_by_name(sql: SparkSession, question: str) -> None:
    for damaged, keyword in (("", "empty"), ("07", "tag"), ("0005", "truncated"), ("010101000100", "trailing")):
        with pytest.raises(REFUSED, match=f"corrupt lineage value: {keyword}"):
            sql.sql(f"SELECT {question} FROM VALUES (X'{damaged}') AS t(d)").collect()


def test_the_setting(session: SparkSession) -> None:
    def written(setting: str) -> list[str]:
        session.conf.set(ENCODING, setting)
        return list(session.sql("SELECT hex(dlunion(id)), hex(dl_of(5)), hex(dl_union(1, 3)) FROM range(1024)").first())

    try:
        assert [value[:2] for value in written("set")] == ["00", "00", "00"]
        assert written("bdd") == ["010A" + "00" * 10 + "01", "0103010001010200010002", "010201000100"]
        assert [value[:2] for value in written("quick")] == ["02", "00", "00"]
        assert written("AUTO") == ["010A" + "00" * 10 + "01", "000105", "00020101"]
        with pytest.raises(IllegalArgumentException, match="'zip'; it can be auto, set, bdd, quick"):
            written("zip")
    finally:
        session.conf.unset(ENCODING)


def test_generated_code_takes_the_functions(session: SparkSession) -> None:
    query = "SELECT dl_size(dl_union(dl_of(id), id + 1)) FROM range(5) WHERE dl_contains(dl_of(id), 3)"
    plan = session.sql(query)._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"\*\(1\) Project .*dl_size", plan), plan
    assert re.search(r"\*\(1\) Filter dl_contains", plan), plan
