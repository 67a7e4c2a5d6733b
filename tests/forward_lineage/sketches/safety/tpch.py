"""What is known of the TPC-H tables, as Parquet statistics say it."""

from __future__ import annotations

from decimal import Decimal

from forward_lineage.sketches.safety.facts import ColumnFacts, Facts

_TABLES = {
    "region": "r_regionkey bigint 0 4 key; r_name string; r_comment string",
    "nation": "n_nationkey bigint 0 24 key; n_name string; n_regionkey bigint 0 4; n_comment string",
    "supplier": """s_suppkey bigint 1 10000 key; s_name string; s_address string; s_nationkey bigint 0 24;
        s_phone string; s_acctbal decimal(15,2); s_comment string""",
    "customer": """c_custkey bigint 1 150000 key; c_name string; c_address string; c_nationkey bigint 0 24;
        c_phone string; c_acctbal decimal(15,2); c_mktsegment string; c_comment string""",
    "part": """p_partkey bigint 1 200000 key; p_name string; p_mfgr string; p_brand string; p_type string;
        p_size int 1 50; p_container string; p_retailprice decimal(15,2) 900 2000; p_comment string""",
    "partsupp": """ps_partkey bigint 1 200000; ps_suppkey bigint 1 10000; ps_availqty int 1 9999;
        ps_supplycost decimal(15,2) 1 1000; ps_comment string""",
    "orders": """o_orderkey bigint 1 6000000 key; o_custkey bigint 1 150000; o_orderstatus string;
        o_totalprice decimal(15,2) 800 600000; o_orderdate date; o_orderpriority string; o_clerk string;
        o_shippriority int 0 0; o_comment string""",
    "lineitem": """l_orderkey bigint 1 6000000; l_partkey bigint 1 200000; l_suppkey bigint 1 10000;
        l_linenumber int 1 7;
        l_quantity decimal(15,2) 1 50; l_extendedprice decimal(15,2) 900 105000; l_discount decimal(15,2) 0 0.1;
        l_tax decimal(15,2) 0 0.08; l_returnflag string; l_linestatus string; l_shipdate date; l_commitdate date;
        l_receiptdate date; l_shipinstruct string; l_shipmode string; l_comment string""",
}


def _column(text: str) -> tuple[str, ColumnFacts]:
    name, kind, *rest = text.split()
    low, high = (Decimal(rest[0]), Decimal(rest[1])) if rest else (None, None)
    return name, ColumnFacts(kind, low, high, nulls=False, unique="key" in rest)


TPCH = Facts({table: dict(_column(each) for each in text.split(";")) for table, text in _TABLES.items()})
