"""Parts of differences: by exact arithmetic, over joined rows written by hand and generated."""

from __future__ import annotations

from collections.abc import Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from forward_lineage.explaining.attributing import Attribution, BaseRow, JoinedRow, exact
from forward_lineage.explaining.linear_forms import Form, FormReader, NotLinearError
from forward_lineage.explaining.ranking import ranked, risk_ratio
from forward_lineage.explaining.summed_block import keys_of, summed_block
from forward_lineage.frontend import parse, print_sql
from forward_lineage.row_ids.row_changes import RowChanges
from tests.explaining import sums
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet


def form(text: str) -> tuple[Form, list[str]]:
    reader = FormReader()
    found = reader.read(parse(f"SELECT {text}").tree.expressions[0])
    return found, [print_sql(each) for each in reader.aggregates]


@pytest.mark.parametrize(
    ("text", "over", "under", "aggregates"),
    [
        ("sum(a)", [(1, 0)], None, ["a"]),
        ("sum(a) - 2 * count(*) + 5", [(1, 0), (-2, 1)], None, ["a", "1"]),
        ("-sum(a) / 4", [(Fraction(-1, 4), 0)], None, ["a"]),
        ("avg(a)", [(1, 0)], [(1, 1)], ["a", "CASE WHEN NOT (a) IS NULL THEN 1 END"]),
        ("100.0 * sum(a) / sum(b)", [(100, 0)], [(1, 1)], ["a", "b"]),
        ("round(sum(a) FILTER (WHERE b > 1), 2)", [(1, 0)], None, ["CASE WHEN b > 1 THEN a END"]),
        ("CAST(count_if(a > 1) AS DOUBLE)", [(1, 0)], None, ["CASE WHEN a > 1 THEN 1 END"]),
    ],
)
def test_what_adds_up(text: str, over: Any, under: Any, aggregates: list[str]) -> None:
    found, of = form(text)
    assert list(found.over.terms) == over
    assert (None if found.under is None else list(found.under.terms)) == under
    assert of == aggregates


@pytest.mark.parametrize(
    "text",
    [
        "min(a)",
        "sum(DISTINCT a)",
        "count(DISTINCT a)",
        "sum(a) * sum(b)",
        "1 / sum(a)",
        "avg(a) + avg(b)",
        "sqrt(sum(a))",
    ],
)
def test_what_does_not(text: str) -> None:
    with pytest.raises(NotLinearError):
        form(text)


def row(orders: Set[int], value: Any, customers: Set[int] = frozenset()) -> JoinedRow:
    return JoinedRow((frozenset(orders), frozenset(customers)), (value,))


def attribution(column: Form, **changes: RowChanges) -> Attribution:
    return Attribution({0: column}, ("orders", "customers"), changes)


def changes(
    *, gone: Set[int] = frozenset(), came: Set[int] = frozenset(), differs: Set[int] = frozenset()
) -> RowChanges:
    return RowChanges(LineageSet(gone), LineageSet(came), LineageSet(differs))


def test_a_row_that_differs_one_that_went_and_one_that_is_what_it_was() -> None:
    split = attribution(form("sum(a)")[0], orders=changes(gone={2}, differs={3}))
    parts = split.parts([row({1}, 5), row({2}, 7), row({3}, 10)], [row({1}, 5), row({3}, 12)])
    assert {part.rows: part.amounts[0] for part in parts} == {
        (BaseRow("orders", 2, "gone"),): -7,
        (BaseRow("orders", 3, "differs"),): 2,
    }


def test_what_changed_together_stands_together() -> None:
    split = attribution(form("sum(a)")[0], orders=changes(differs={1}), customers=changes(differs={9}))
    (part,) = split.parts([row({1}, 5, {9})], [])
    assert part.rows == (BaseRow("customers", 9, "differs"), BaseRow("orders", 1, "differs"))


def test_a_row_that_is_what_it_was_joined() -> None:
    (part,) = attribution(form("sum(a)")[0]).parts([], [row({1}, 5)])
    assert part.rows == (BaseRow("orders", 1, "joined"),)


def test_a_group_of_an_inner_query_that_gained_a_row() -> None:
    split = attribution(form("sum(a)")[0], orders=changes(came={3}))
    (part,) = split.parts([row({1, 2}, 10)], [row({1, 2, 3}, 14)])
    assert part.rows == (BaseRow("orders", 3, "came"),)
    assert part.amounts[0] == 4


def test_parts_of_an_average_add_up_exactly() -> None:
    reader = FormReader()
    column = reader.read(parse("SELECT avg(a)").tree.expressions[0])
    before, after = (
        [JoinedRow((frozenset({at}), frozenset()), (value, 1)) for at, value in enumerate(values)]
        for values in ([1, 2, 4], [1, 2, 4, Decimal("0.1")])
    )
    split = Attribution({0: column}, ("orders", "customers"), {"orders": changes(came={3})})
    parts = split.parts(before, after)
    assert sum(part.amounts[0] for part in parts) == Fraction(71, 40) - Fraction(7, 3)


def test_what_has_no_exact_value() -> None:
    assert exact(0.1) != exact(Decimal("0.1"))
    for value in (float("nan"), float("inf"), "1"):
        with pytest.raises(ValueError, match=r"number|value"):
            exact(value)


def test_generated_pairs() -> None:
    verdicts = [each for seed in range(1, 90) for each in sums.verdicts(seed)]
    assert [each for each in verdicts if each is not None] == []
    assert len(verdicts) > 30


def test_ranks_are_those_of_diff() -> None:
    test = {("EU", "a"): (8, Fraction(80)), ("US", "a"): (1, Fraction(5)), ("US", "b"): (1, Fraction(0))}
    found = ranked(["region", "product"], test, {("EU", "a"): 10, ("US", "a"): 45, ("US", "b"): 45})
    assert [dict(each.values) for each in found] == [{"region": "EU"}, {"product": "a"}]
    assert found[0].risk_ratio == pytest.approx((8 / 18) / (2 / 92))
    assert found[0].support == 0.8
    assert found[0].share == pytest.approx(80 / 85)
    assert risk_ratio(3, 0, 0, 5) == float("inf")
    assert risk_ratio(3, 1, 0, 0) == 1.0


@pytest.mark.parametrize(
    ("sql", "columns", "keys"),
    [
        ("SELECT a AS k, sum(b) AS s FROM t GROUP BY a", ["k", "s"], ("k",)),
        ("SELECT sum(b) AS s FROM t", ["s"], ()),
        ("SELECT DISTINCT a, b FROM t", ["a", "b"], ("a", "b")),
        ("SELECT a FROM t UNION SELECT b FROM t", ["a"], ("a",)),
        ("SELECT a FROM t UNION ALL SELECT b FROM t", ["a"], None),
        ("SELECT a, b FROM t", ["a", "b"], None),
    ],
)
def test_which_columns_are_a_key(sql: str, columns: list[str], keys: tuple[str, ...] | None) -> None:
    assert keys_of(sql, columns) == keys


@pytest.mark.parametrize("group", ["a, c", "ROLLUP (a)"])
def test_groups_that_the_result_does_not_tell(group: str) -> None:
    with pytest.raises(NotTracedError):
        summed_block(f"SELECT a, sum(b) AS s FROM t GROUP BY {group}", ["a", "s"])
