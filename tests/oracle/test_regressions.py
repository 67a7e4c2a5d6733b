"""Queries that once came out wrong, shrunk; each is judged again under both semantics."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from forward_lineage.spark.settings import configured
from tests.oracle import comparison
from tests.oracle.algebra import (
    Agg,
    BaseTable,
    Col,
    Cte,
    Database,
    Derived,
    GroupBy,
    InList,
    InQuery,
    Item,
    Join,
    LateralView,
    Lit,
    Op,
    Query,
    Select,
    Star,
    Statement,
    Table,
)
from tests.oracle.comparison import COLUMNS_LOST, KEY_LOST, RACE, Mode, judge, report, rule_at_fault
from tests.oracle.having_keys import with_keys_selected
from tests.oracle.printing import to_sql
from tests.oracle.spark_answers import all_answers, create_tables, without_rule
from tests.oracle.strategies import SCHEMAS
from tests.spark_switches import JOINS

DATABASE: Database = {
    "r": BaseTable(*SCHEMAS["r"], ((2, 3, 3, "y"), (6, 1, 3, "x"), (7, 3, 2, "x"), (1, None, 2, "x"))),
    "t": BaseTable(*SCHEMAS["t"], ((4, 2, 2, "x"), (5, 3, 1, "y"), (6, None, 2, None))),
    "u": BaseTable(*SCHEMAS["u"], ((3, 2, 1, None), (4, 3, 2, True))),
}
MODES: list[Mode] = ["values", "data", "control"]

DISTINCT_COUNTS = Select(
    (Item(Agg("count", (Col("rid"),)), "k1"), Item(Agg("count", (Col("rid"),)), "k2")),
    Table("r"),
    group=GroupBy((), "ROLLUP", ((Col("rid"),),)),
    distinct=True,
)
WITH_AND_DISTINCT = Query(
    Select((Item(Agg("bool_or", (Op("=", Col("k1"), Lit(1)),)), "k6"),), Table("w5"), distinct=True),
    (Cte("w5", Query(Select((Item(Col("a"), "k1"),), Table("r"), group=GroupBy((Col("a"),))))),),
)
SEMI_WITH_BARE_NAMES = Join(
    "SEMI",
    Table("u"),
    Table("r"),
    Op("AND", Op("<=>", Col("c", "u"), Lit(1)), InList(Col("a"), (Lit(3), Col("c")))),
)
ANTI = Join("ANTI", Table("t"), Table("r"), Op("=", Col("c", "t"), Col("a", "r")))
LARGEST_OF_T = Select(
    (Item(Agg("max", (Col("a", "t"),)), "k1"),), Table("t"), where=Op("=", Col("c", "t"), Col("c", "u"))
)
NO_ROWS = Derived(Query(Select((Item(Col("rid"), "k"),), Table("r"), where=Lit(False, "bool"))), "q")

QUERIES = {
    "DISTINCT over an aggregate": Query(Select((Item(Col("k1")),), Derived(Query(DISTINCT_COUNTS), "x"))),
    "WITH beside DISTINCT over an aggregate": Query(Select((Item(Lit(1), "k"),), Derived(WITH_AND_DISTINCT, "x"))),
    "bare names in the ON of a semi join": Query(
        Select((Item(Col("uid", "u")),), Join("COMMA", SEMI_WITH_BARE_NAMES, Table("u", "y")))
    ),
    "NATURAL JOIN after an anti join": Query(
        Select((Item(Col("tid")), Item(Col("rid", "z"))), Join("FULL", ANTI, Table("r", "z"), natural=True))
    ),
    "rows of FROM that an aggregate keeps out of their groups": Query(
        Select(
            (Item(Agg("count", (Col("rid", "q"),)), "k1"), Item(Col("uid", "u"), "k2")),
            Join("COMMA", Table("r", "q"), Table("u")),
            where=InQuery((Col("a", "q"),), Query(LARGEST_OF_T)),
            group=GroupBy((Col("uid", "u"),)),
        )
    ),
    "NATURAL outer join without common names": Query(
        Select((Item(Col("k")), Item(Col("tid"))), Join("RIGHT", NO_ROWS, Table("t"), natural=True))
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_once_wrong(tiny: SparkSession, name: str) -> None:
    case = (DATABASE, Statement(QUERIES[name]))
    for mode, (verdict,) in judge(tiny, [case], MODES).items():
        assert verdict.outcome == "agree", report(case, mode, verdict)


def test_the_texts() -> None:
    assert to_sql(QUERIES["NATURAL outer join without common names"]) == (
        "SELECT k, tid FROM (SELECT rid AS k FROM r WHERE false) AS q NATURAL RIGHT JOIN t"
    )


def test_rows_are_those_of_plain_spark_where_the_interpreter_sees_others(
    tiny: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark, not the interpreter, says what the user's rows are: a rewritten query may not have others."""
    case = (DATABASE, Statement(Query(Select((Item(Col("rid"), "k"),), Table("r")))))
    monkeypatch.setattr(comparison, "annotated", lambda *_, **__: Counter())
    assert judge(tiny, [case], ("data",))["data"][0].outcome == "invalid"
    cut = comparison.rewrite_statement
    monkeypatch.setattr(
        comparison,
        "rewrite_statement",
        lambda *given, **named: (made := cut(*given, **named)) and replace(made, sql=f"{made.sql} WHERE rid > 2"),
    )
    assert judge(tiny, [case], ("data",))["data"][0].outcome == "disagree"


def test_columns_that_spark_loses_between_two_readings_of_a_view(tiny: SparkSession) -> None:
    """Plain Spark fails here, too, once t is a derived table; over views that keep a text it does not."""
    twice = Derived(Query(Select((Star(),), Derived(Query(Select((Star(),), Table("t"))), "x"))), "y")
    inner = Query(Select((Item(Agg("max", (Col("uid", "u"),)), "m"),), Table("u")))
    joined = Join("INNER", Table("w1", "v"), Table("w1"), InQuery((Col("tid", "w1"),), inner, negated=True))
    total = Agg("sum", (Col("b"),), distinct=True)
    query = Query(
        Select(
            (Item(total, "k"),),
            Table("u"),
            group=GroupBy((Col("b", "u"),)),
            having=InList(total, (Lit(3), Col("b", "u"))),
        ),
        ctes=(
            Cte("w1", Query(Select((Star(),), twice))),
            Cte("w2", Query(Select((Item(Col("a", "w1"), "a"),), joined))),
        ),
    )
    create_tables(tiny, query, {name: name for name in DATABASE}, DATABASE)
    assert all_answers(tiny, [to_sql(query)])[0].condition == COLUMNS_LOST
    create_tables(tiny, query, {name: name for name in DATABASE}, DATABASE, as_text=True)
    assert all_answers(tiny, [to_sql(query)])[0].error is None


def test_a_literal_that_spark_writes_where_a_column_must_stand(tiny: SparkSession) -> None:
    """Plain Spark fails here, too; without the rule that writes the literal it does not."""
    create_tables(tiny, Select((), Join("CROSS", Table("r"), Table("u"))), {name: name for name in DATABASE}, DATABASE)
    never = "SELECT sum(y.b) FROM u AS y RIGHT JOIN u AS x ON y.uid = x.uid WHERE x.uid = r.b AND NOT y.b IN (y.b)"
    inner = f"SELECT rid FROM r WHERE NULL <=> ({never} GROUP BY y.b EXCEPT ALL SELECT 2)"
    query = f"SELECT (SELECT count(*) FROM u AS v LEFT JOIN ({inner}) AS y ON v.f WHERE u.c = v.c) AS n FROM u"
    rule = rule_at_fault(all_answers(tiny, [query])[0])
    assert rule is not None
    with without_rule(tiny, rule):
        assert all_answers(tiny, [query])[0].error is None


@pytest.mark.parametrize("function", ["sum", "count"])
def test_a_value_that_spark_puts_in_place_of_a_window_function(tiny: SparkSession, function: str) -> None:
    """Plain Spark fails here, too; without the rule that puts it there it does not."""
    query = f"SELECT {function}(id) FILTER (WHERE 'Y' = 'x') OVER (ORDER BY id) AS s FROM range(3)"
    rule = rule_at_fault(all_answers(tiny, [query])[0])
    assert rule is not None
    with without_rule(tiny, rule):
        assert all_answers(tiny, [query])[0].error is None


def test_a_subquery_that_spark_does_not_wait_for(tiny: SparkSession) -> None:
    """Plain Spark fails here, too; without broadcasts it does not."""
    create_tables(tiny, Select((), Join("CROSS", Table("r"), Table("u"))), {name: name for name in DATABASE}, DATABASE)
    query = "SELECT r.b, x.s FROM r RIGHT JOIN r AS x ON r.rid = x.rid AND x.b <=> (SELECT sum(uid) FROM u)"
    assert re.search(RACE, all_answers(tiny, [query])[0].error or "")
    with configured(tiny, JOINS["no broadcast"]):
        assert all_answers(tiny, [query])[0].error is None


def test_a_key_in_having_that_spark_loses(tiny: SparkSession) -> None:
    """Plain Spark fails here, too; where the key is selected it does not."""
    create_tables(tiny, Select((), Join("CROSS", Table("r"), Table("u"))), {name: name for name in DATABASE}, DATABASE)
    asks = "SELECT k FROM u AS x(k, a, b, c) WHERE 'x' IN (SELECT s FROM r AS v WHERE v.a = x.k)"
    query = f"{asks} UNION ALL SELECT abs(min(rid)) AS k FROM r GROUP BY rid HAVING rid > 1"
    assert all_answers(tiny, [query])[0].condition == KEY_LOST
    assert with_keys_selected(query) == (
        f"{asks} UNION ALL SELECT * EXCEPT (__key1) FROM (SELECT abs(min(rid)) AS k, rid AS __key1 FROM r GROUP BY rid"
        " HAVING __key1 > 1) AS __keys2"
    )
    assert all_answers(tiny, [with_keys_selected(query)])[0].error is None


def test_a_column_that_spark_takes_as_never_null(tiny: SparkSession) -> None:
    """Plain Spark gives 0 for NULL here, unless the table's column may be NULL."""
    merged = Join("FULL", Join("INNER", Table("u"), Table("r"), using=("b",)), Table("t"), Op("=", Col("tid"), Lit(0)))
    exploded = LateralView((Col("b", "r"),), "e", "p")
    case = (DATABASE, Statement(Query(Select((Item(Col("p"), "k"),), merged, (exploded,)))))
    create_tables(tiny, case[1], {name: name for name in DATABASE}, DATABASE)
    assert (0,) in [values for values, _ in all_answers(tiny, [to_sql(case[1].query)])[0].rows]
    assert {judge(tiny, [case], (mode,))[mode][0].outcome for mode in MODES} == {"agree"}
