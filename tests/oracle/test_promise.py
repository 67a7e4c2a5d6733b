"""What must give its row back, and what need not."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.algebra import (
    Agg,
    BaseTable,
    Col,
    Cte,
    Database,
    Derived,
    GroupBy,
    Grouping,
    InQuery,
    Item,
    Join,
    Over,
    Query,
    Select,
    Statement,
    Table,
)
from tests.oracle.interpreter import interpret
from tests.oracle.promise import broken, is_promised
from tests.oracle.strategies import SCHEMAS

DATABASE: Database = {name: BaseTable(*schema, ()) for name, schema in SCHEMAS.items()}
DATABASE["u"] = BaseTable(*SCHEMAS["u"], ((0, 1, 1, True), (1, 1, 1, True)))

KEY, AVERAGE = Col("uid"), Agg("avg", (Col("uid"),))
TOTALS = Select(
    (Item(Over(Agg("sum", (Grouping(KEY),)), (AVERAGE,)), "k1"), Item(AVERAGE, "k2")),
    Table("u"),
    group=GroupBy((), "ROLLUP", ((KEY,),)),
)
GROUPS = Select((Item(Over(Agg("count"), (AVERAGE,)), "k1"), Item(AVERAGE, "k2")), Table("u"), group=GroupBy((KEY,)))


def lost(select: Select) -> object:
    statement = Statement(Query(select))
    rows = interpret(statement, DATABASE, "control").rows
    return broken(statement, DATABASE, iter([(row.values, row.lineage) for row in rows]))


def test_a_window_over_totals_may_get_other_rows() -> None:
    """Cut down to the first row, the total is over that row alone, so it comes into the window's partition."""
    assert lost(TOTALS) == (0, 0.0)
    assert not is_promised(Statement(Query(TOTALS)))
    assert not is_promised(Statement(Query(Select((Item(Agg("count"), "n"),), Derived(Query(TOTALS), "x")))))


def test_a_window_over_groups_of_their_own_is_promised() -> None:
    assert lost(GROUPS) is None
    assert is_promised(Statement(Query(GROUPS)))


def test_joined_rows_may_be_in_several_groups() -> None:
    twice = replace(GROUPS, source=Join("CROSS", Table("u"), Table("u", "x")), group=GroupBy((Col("uid", "x"),)))
    assert not is_promised(Statement(Query(twice)))


def test_a_cte_with_the_name_of_the_table_that_it_reads() -> None:
    asked = InQuery((KEY,), Query(Select((Item(Col("tid"), "k"),), Table("t"))), negated=True)
    counted = Select((Item(Agg("count"), "n"),), Table("u"), where=asked)
    assert is_promised(Statement(Query(counted, (Cte("u", Query(Select((Item(KEY, "uid"),), Table("u")))),))))
