"""The attributes that the paper used on TPC-H are proven: the primary key where it is safe, else GROUP BY's. [§9.2]"""

from __future__ import annotations

import pytest

import tpch_queries
from forward_lineage.frontend.statement import parse
from forward_lineage.sketches.safety.proving import prove, safe_attributes, safe_together
from forward_lineage.sketches.safety.verdicts import RunTimeCheck
from tests.forward_lineage.sketches.safety.tpch import TPCH

ORDERS = {"lineitem": "l_orderkey", "orders": "o_orderkey", "customer": "c_custkey"}
NATIONS = {"supplier": "s_suppkey", "nation": "n_nationkey"}
USED = {
    "q2": {"part": "p_partkey", "partsupp": "ps_partkey"},
    "q3": ORDERS,
    "q5": {**ORDERS, **NATIONS, "region": "r_regionkey"},
    "q7": {**ORDERS, **NATIONS},
    "q8": {**ORDERS, **NATIONS, "region": "r_regionkey", "part": "p_partkey"},
    "q10": {**ORDERS, "nation": "n_nationkey"},
    "q17": {"part": "p_partkey", "lineitem": "l_partkey"},
    "q18": ORDERS,
    "q19": {"part": "p_partkey", "lineitem": "l_orderkey"},
    "q20": {**NATIONS, "part": "p_partkey", "partsupp": "ps_partkey", "lineitem": "l_partkey"},
    "q21": {**NATIONS, "lineitem": "l_orderkey", "orders": "o_orderkey"},
}
LIMITS = {"q2": 100, "q3": 10, "q10": 20, "q18": 100, "q21": 100}
# With a sketch on another column these may give another answer.
UNSAFE = {
    "q2": {"partsupp": "ps_suppkey"},
    "q17": {"lineitem": "l_orderkey"},
    "q20": {"lineitem": "l_orderkey"},
    "q21": {"lineitem": "l_suppkey"},
}


@pytest.mark.parametrize("name", USED)
def test_what_the_paper_used_is_proven(name: str) -> None:
    assert prove(parse(tpch_queries.query(name)), USED[name], TPCH).safe


@pytest.mark.parametrize("name", LIMITS)
def test_the_first_rows_too(name: str) -> None:
    verdict = prove(parse(f"{tpch_queries.query(name)} LIMIT {LIMITS[name]}"), USED[name], TPCH)
    assert verdict.safe
    # Q21 orders by all that it shows: then rows that tie are equal.
    assert verdict.checks == (() if name == "q21" else (RunTimeCheck("no tie", LIMITS[name]),))


@pytest.mark.parametrize("name", UNSAFE)
def test_what_is_not_safe_is_not_proven(name: str) -> None:
    assert not prove(parse(tpch_queries.query(name)), UNSAFE[name], TPCH).safe


def test_safe_attributes() -> None:
    found = safe_attributes(parse(tpch_queries.query("q17")), TPCH)
    assert found["lineitem"] == ("l_partkey",)
    assert len(found["part"]) == 9


def test_safe_together() -> None:
    wanted = {"lineitem": ("l_orderkey", "l_partkey"), "part": ("p_brand", "p_partkey")}
    assert safe_together(parse(tpch_queries.query("q17")), wanted, TPCH) == {"lineitem": "l_partkey", "part": "p_brand"}


def test_every_query_is_read() -> None:
    for name in tpch_queries.names():
        assert "not read" not in prove(parse(tpch_queries.query(name)), {}, TPCH).why
