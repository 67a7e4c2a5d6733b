"""Queries for sessions with Comet and without: TPC-H's, and some of windows, groupings and sets over its tables."""

from __future__ import annotations

from collections.abc import Mapping

import tpch_queries

MORE: Mapping[str, str] = {
    "window": """
        SELECT o_orderkey, sum(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS running,
               row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderkey) AS place
        FROM orders WHERE o_custkey < 60""",
    "window over groups": """
        SELECT n_regionkey, n_name, count(*) AS n, rank() OVER (PARTITION BY n_regionkey ORDER BY count(*), n_name) AS r
        FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_regionkey, n_name""",
    "rollup": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, grouping_id() AS g
        FROM lineitem WHERE l_shipdate < DATE '1993-01-01' GROUP BY ROLLUP (l_returnflag, l_linestatus)""",
    "grouping sets": """
        SELECT o_orderstatus, o_orderpriority, max(o_totalprice) AS best FROM orders
        GROUP BY GROUPING SETS ((o_orderstatus), (o_orderpriority), ())""",
    "count distinct": "SELECT p_brand, count(DISTINCT p_type) AS types, avg(p_size) AS size FROM part GROUP BY p_brand",
    "distinct": "SELECT DISTINCT s_nationkey FROM supplier",
    "union": "SELECT c_nationkey AS k FROM customer UNION SELECT s_nationkey FROM supplier",
    "union all": "SELECT n_name AS name FROM nation UNION ALL SELECT r_name FROM region",
    "intersect": "SELECT c_nationkey AS k FROM customer INTERSECT SELECT s_nationkey FROM supplier WHERE s_suppkey < 9",
    "except": "SELECT c_custkey AS k FROM customer EXCEPT SELECT o_custkey FROM orders",
    "full join": """
        SELECT r_name, n_name FROM (SELECT * FROM region WHERE r_regionkey < 3) AS r
        FULL JOIN (SELECT * FROM nation WHERE n_nationkey > 4) AS n ON r_regionkey = n_regionkey""",
    "not in": "SELECT count(*) AS n FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "first of all": "SELECT o_orderkey, o_totalprice FROM orders ORDER BY o_totalprice DESC, o_orderkey LIMIT 10",
    "texts": "SELECT substr(upper(p_name), 1, 3) AS start, collect_set(p_size) IS NULL AS no FROM part GROUP BY 1",
    "no rows": "SELECT sum(l_quantity) AS q, count(*) AS n FROM lineitem WHERE l_quantity < 0",
}
QUERIES: Mapping[str, str] = {**{name: tpch_queries.query(name) for name in tpch_queries.names()[:22]}, **MORE}
ONLY_SCANS = {"union all", "first of all"}
"""Those whose plans have no shuffle: where Spark scans, because ids are positions, Comet may have nothing to do."""
KEYS: Mapping[str, list[str]] = {
    "customer": ["c_custkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
    "nation": ["n_nationkey"],
    "orders": ["o_orderkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "region": ["r_regionkey"],
    "supplier": ["s_suppkey"],
}
