"""Correlated subqueries whose condition is more than equalities: every comparison, every way to use one, all at once.

The generator makes few of them, and they are computed in a way of their own (`rewrites/rules/decorrelation.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import rewrite_sql
from tests.oracle.algebra import (
    Agg,
    Between,
    Case,
    Col,
    Derived,
    Exists,
    Expr,
    GroupBy,
    InQuery,
    IsNull,
    Item,
    Join,
    Lit,
    Not,
    Op,
    Query,
    Rel,
    Scalar,
    Select,
    Star,
    Statement,
    Table,
)
from tests.oracle.comparison import catalog, judge, report
from tests.oracle.generation import many_cases
from tests.oracle.printing import to_sql
from tests.oracle.strategies import COMPARISONS, SCHEMAS

INNER, OUTER = Col("c", "t"), Col("b", "r")
DATABASES = 8  # each query is asked of one of them

SAME_KEY = Op("=", Col("a", "t"), Col("a", "r"))


def conditions() -> Iterator[Expr]:
    """What stands beside the equality; with both rows' columns, NULLs decided either way."""
    for comparison in sorted({*COMPARISONS} - {"="}):
        yield Op(comparison, INNER, OUTER)
    yield Not(Op("<", Col("tid", "t"), OUTER))
    yield Op("OR", Op(">", INNER, OUTER), IsNull(OUTER))
    yield Op("OR", IsNull(INNER), Op("<>", Col("s", "t"), Col("s", "r")))
    yield Op(
        "AND", Op("<>", INNER, OUTER), Op("AND", Op(">", Col("tid", "t"), Lit(1)), Op(">=", Lit(6), Col("rid", "r")))
    )
    yield Between(INNER, OUTER, Op("+", OUTER, Lit(1)))
    yield Op("=", Case(((IsNull(INNER), Lit(1)),), OUTER), Lit(1))
    yield Op("AND", Op("=", Col("s", "t"), Col("s", "r")), Op(">", Op("+", INNER, OUTER), Lit(2)))


def uses(where: Expr) -> Iterator[Select]:
    """Where such a subquery may stand."""
    r: Rel = Table("r")
    rows = Query(Select((Star(),), Table("t"), (), where))
    values = Query(Select((Item(Col("c", "t")),), Table("t"), (), where))
    largest = Scalar(Query(Select((Item(Agg("max", (Col("tid", "t"),))),), Table("t"), (), where)))
    two = Query(
        Select((Item(Lit(1)),), Join("INNER", Table("t"), Table("u"), Op("=", Col("c", "u"), Col("c", "t"))), (), where)
    )
    rid = Item(Col("rid", "r"))
    yield Select((Star(),), r, (), Exists(rows))
    yield Select((rid,), r, (), Exists(rows, negated=True))
    yield Select((rid,), r, (), InQuery((Col("b", "r"),), values))
    yield Select((rid,), r, (), InQuery((Lit(1),), values, negated=True))
    yield Select((rid, Item(largest, "m")), r)
    yield Select((rid,), r, (), Op("OR", Op(">=", largest, Lit(3)), Op("=", Col("rid", "r"), Lit(2))))
    yield Select((Item(Col("s", "r")), Item(Agg("count"), "n")), r, (), Exists(two), GroupBy((Col("s", "r"),)))
    inner = Derived(Query(Select((Star(),), r, (), Exists(two))), "q")
    yield Select((Item(Agg("sum", (Col("a", "q"),)), "total"),), inner)


# Every fourth of the diagonals: each condition meets every fourth use, and each use every fourth condition.
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("diagonal", [0, *(pytest.param(other, marks=pytest.mark.long) for other in (1, 2, 3))])
def test_rows_and_lineage(tiny: SparkSession, diagonal: int) -> None:
    statements = [
        Statement(Query(select))
        for row, where in enumerate(conditions())
        for column, select in enumerate(uses(Op("AND", SAME_KEY, where)))
        if (row + column) % 4 == diagonal
    ]
    tables = {name: name for name in SCHEMAS}
    texts = [rewrite_sql(to_sql(statement), catalog(tables), "control") for statement in statements]
    assert all("collect_list" in text for text in texts), "computed as any other subquery: this proves nothing"
    databases = (
        case[0] for _, case in many_cases(1000, 700_000) if all(len(table.rows) > 2 for table in case[0].values())
    )
    some = itertools.cycle(list(itertools.islice(databases, DATABASES)))
    cases = list(zip(some, statements, strict=False))
    verdicts = judge(tiny, cases, ["control"])["control"]
    wrong = [
        report(case, "control", verdict)
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict.outcome != "agree"
    ]
    assert not wrong, f"{len(wrong)} of {len(cases)}\n\n" + "\n\n".join(wrong[:5])
