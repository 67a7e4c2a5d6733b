"""One clear line for each kind of bad input, word for word."""

from __future__ import annotations

import logging

import pytest
from pyspark.errors import AnalysisException

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.versions import logger_of

FAILS_ANYWAY = ". Correct the SQL: it fails without lineage, too."
QUERIES = [
    pytest.param(
        "SELECT s_name\nFORM store WHERE",
        "Syntax error at or near 'store' (line 2, column 6)" + FAILS_ANYWAY,
        id="malformed",
    ),
    pytest.param(
        "SELECT s_name FROM store WHERE (city = 'Albany'",
        "Syntax error at or near end of input (line 1, column 48)" + FAILS_ANYWAY,
        id="unbalanced",
    ),
    pytest.param(
        "SELECT s_name,\n  s_nam FROM store",
        "A column, variable, or function parameter with name `s_nam` cannot be resolved. "
        "Did you mean one of the following? [`s_name`, `s_id`, `city`, `state`] (line 2, column 3)" + FAILS_ANYWAY,
        id="unknown column",
    ),
    pytest.param(
        "SELECT * FROM salez",
        "salez is not a registered table (line 1, column 15). "
        "Did you mean sales? Or register it: lineage.register('salez', …).",
        id="unknown table",
    ),
    pytest.param(
        "SELECT * FROM staff",
        "staff is not a registered table (line 1, column 15). "
        "Known here: item, sales, store. Or register it: lineage.register('staff', …).",
        id="unregistered table",
    ),
    pytest.param(
        "SELECT s_name AS dl FROM store",
        "the result already has a column DL (line 1, column 8). "
        "Rename it: … AS something_else; the lineage column is called DL.",
        id="a column already called DL",
    ),
    pytest.param(
        "SELECT nosuch(s_name) FROM store",
        "Cannot resolve routine `nosuch` on search path "
        "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`] (line 1, column 8)" + FAILS_ANYWAY,
        id="unknown function",
    ),
    pytest.param(
        "SELECT s_name, count(*) FROM store",
        "The query does not include a GROUP BY clause. "
        "Add GROUP BY or turn it into the window functions using OVER clauses (line 1, column 1)" + FAILS_ANYWAY,
        id="no GROUP BY",
    ),
    pytest.param(
        "DELETE FROM store WHERE s_id = 1",
        "DELETE changes base rows and returns none, so there is nothing to trace. "
        "Run it with spark.sql(…), then lineage.refresh(…); lineage.affected(…) shows what it spoils.",
        id="not a query",
    ),
    pytest.param("   ", "there is no SQL here. Give one statement, for example SELECT * FROM sales.", id="empty"),
]


@pytest.mark.parametrize(("sql", "message"), QUERIES)
def test_queries(store: ForwardLineage, sql: str, message: str) -> None:
    store.spark.sql("CREATE OR REPLACE TEMPORARY VIEW plain AS SELECT 1 AS one")
    with pytest.raises(LineageError) as refused:
        store.sql(sql)
    assert str(refused.value) == message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__, "no JVM stack trace behind it"


def test_an_unknown_semantics(store: ForwardLineage) -> None:
    with pytest.raises(LineageError, match=r"^there is no semantics 'why'. Use 'data' or 'control'.$"):
        store.sql("SELECT 1", semantics="why")


KEYS = [
    pytest.param("(1), (NULL), (NULL)", "key k of t is NULL in 2 rows", id="NULL"),
    pytest.param("(1), (-3), (-7)", "key k of t is negative in 2 rows, e.g. -7", id="negative"),
    pytest.param("(1), (5), (5), (5)", "key k of t is not unique: 2 rows repeat a value, e.g. 5", id="duplicate"),
]
OTHER_KEY = (
    ". Use another key, several columns (key=[…]), or path= for ids by position. "
    'Or a copy, all rows of which get ids: lineage.register("another_name", source="t").'
)


@pytest.mark.parametrize(("values", "message"), KEYS)
def test_keys(lineage: ForwardLineage, values: str, message: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM VALUES {values} AS t(k)")
    with pytest.raises(LineageError) as refused:
        lineage.register("t", key="k")
    as_a_list = '. Use key=["k"]: a dictionary then gives every value of it an id.'
    assert str(refused.value) == message + (as_a_list if "negative" in message else OTHER_KEY)
    assert lineage.register("t", key="k", trusted=True).trusted, "unless the user says so"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            "'a'",
            'key k of t is STRING, not an integer. Use key=["k"]: a dictionary then gives every value of it an id.',
        ),
        (
            "1.0D",
            'key k of t is DOUBLE, not an integer. Use key=["k"]: a dictionary then gives every value of it an id.',
        ),
        (
            "DATE '2024-02-29'",
            'key k of t is DATE, not an integer. Use key=["k"]: a dictionary then gives every value of it an id.',
        ),
    ],
)
def test_keys_that_are_no_integers(lineage: ForwardLineage, column: str, message: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT {column} AS k")
    with pytest.raises(LineageError) as refused:
        lineage.register("t", key="k")
    assert str(refused.value) == message


def test_a_key_that_is_no_column(store: ForwardLineage) -> None:
    with pytest.raises(LineageError, match=r"^table sales has no column tid. It has t_id.$"):
        store.register("sales", key="tid")


def test_a_table_that_spark_does_not_know(lineage: ForwardLineage) -> None:
    with pytest.raises(LineageError) as refused:
        lineage.register("nowhere", key="id")
    assert str(refused.value) == (
        "Spark knows no table or view nowhere. "
        'Create it first, or name its files: lineage.register("nowhere", path="…"); or '
        "give rows themselves, such as those of foreachBatch: source=frame."
    )


@pytest.mark.parametrize("name", ["", "a..d", "two words", "a.", "`a"])
def test_what_is_no_table_name(lineage: ForwardLineage, name: str) -> None:
    with pytest.raises(LineageError, match=r"is not a table name. Put dots between its parts"):
        lineage.register(name, key="id")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": "a", "order_by": "b"}, "key= and order_by= both say what identifies a row. Give one of them."),
        ({"path": "x", "source": "y"}, "path= and source= both say where the rows come from. Give one of them."),
        (
            {"source": "store", "row_id": "s_id"},
            "row_id= does not go with rows that have to be copied. Give key=, a unique column or several; "
            "or leave it out: the rows of the copy get dense ids, in the order of order_by=.",
        ),
    ],
)
def test_contradictions(store: ForwardLineage, given: dict[str, str], message: str) -> None:
    with pytest.raises(LineageError) as refused:
        store.register("t", **given)  # type: ignore[arg-type]
    assert str(refused.value) == message


@pytest.mark.since("4.0", "a logger of the errors of queries")
def test_no_stack_trace_on_the_console(lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logger_of("SQLQueryContextLogger")
    silenced = logger.level
    # What a user's own session has. Not by `monkeypatch`: a logger remembers which levels it is enabled for.
    logger.setLevel(logging.NOTSET)
    written: list[logging.LogRecord] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", written.append)
    logger.addHandler(handler)
    try:
        with pytest.raises(AnalysisException):
            lineage.spark.sql("SELECT nothing FROM VALUES (1) AS t(x)")
        assert len(written) == 1, "Spark's own way; if this changes, `without_stack_traces` is not needed any more"
        with pytest.raises(LineageError):
            lineage.sql("SELECT nothing FROM VALUES (1) AS t(x)")
        assert len(written) == 1
    finally:
        logger.removeHandler(handler)
        logger.setLevel(silenced)
