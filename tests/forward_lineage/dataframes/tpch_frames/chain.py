"""S1 to S8: joins of two to nine tables."""

from __future__ import annotations

from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql.functions import col

from tests.forward_lineage.dataframes.tpch_frames.terms import Tables


def _in_four_days(rows: DataFrame) -> DataFrame:
    return rows.where(col("o_orderdate").between(date(1994, 1, 1), date(1994, 1, 4)))


def _lines(table: Tables, *also: str) -> DataFrame:
    """Lines of four days, with customers, and what else of part, partsupp and supplier is asked for."""
    of_line = {
        "part": col("p_partkey") == col("l_partkey"),
        "partsupp": (col("ps_partkey") == col("l_partkey")) & (col("ps_suppkey") == col("l_suppkey")),
        "supplier": col("ps_suppkey") == col("s_suppkey"),
    }
    rows = table("lineitem").join(table("orders"), col("o_orderkey") == col("l_orderkey"))
    rows = _in_four_days(rows).join(table("customer"), col("c_custkey") == col("o_custkey"))
    for name in also:
        rows = rows.join(table(name), of_line[name])
    return rows


def _of_two_nations(table: Tables) -> DataFrame:
    return (
        _lines(table, "part", "partsupp", "supplier")
        .join(table("nation").alias("n1"), col("s_nationkey") == col("n1.n_nationkey"))
        .join(table("nation").alias("n2"), col("c_nationkey") == col("n2.n_nationkey"))
        .withColumns({"cust_nation": col("n2.n_name"), "supp_nation": col("n1.n_name")})
    )


def s1(table: Tables) -> DataFrame:
    rows = table("lineitem").join(table("orders"), col("o_orderkey") == col("l_orderkey"))
    return _in_four_days(rows).select("o_orderdate", "o_totalprice", "l_quantity", "l_shipdate")


def s2(table: Tables) -> DataFrame:
    return _lines(table).select("c_name", "o_orderdate", "l_shipdate")


def s3(table: Tables) -> DataFrame:
    return _lines(table, "part").select("c_name", "o_orderdate", "l_shipdate", "p_name", "p_brand", "p_type")


def s4(table: Tables) -> DataFrame:
    columns = ["c_name", "o_orderdate", "l_shipdate", "p_name", "p_brand", "p_type", "ps_supplycost"]
    return _lines(table, "part", "partsupp").select(columns)


def s5(table: Tables) -> DataFrame:
    columns = ["c_name", "o_orderdate", "l_shipdate", "p_name", "p_brand", "p_type", "s_name", "ps_supplycost"]
    return _lines(table, "part", "partsupp", "supplier").select(columns)


def s6(table: Tables) -> DataFrame:
    of_part = ["p_name", "p_brand", "p_type"]
    return (
        _lines(table, "part", "partsupp", "supplier")
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .select("c_name", "o_orderdate", "l_shipdate", *of_part, "s_name", "n_name", "ps_supplycost")
    )


def s7(table: Tables) -> DataFrame:
    of_part = ["p_name", "p_brand", "p_type"]
    of_supplier = ["s_name", "supp_nation", "ps_supplycost"]
    return _of_two_nations(table).select("c_name", "cust_nation", "o_orderdate", "l_shipdate", *of_part, *of_supplier)


def s8(table: Tables) -> DataFrame:
    return (
        _of_two_nations(table)
        .join(table("region"), col("n1.n_regionkey") == col("r_regionkey"))
        .select(
            "c_name", "cust_nation", "r_name", "o_orderdate", "l_shipdate", "p_name", "supp_nation", "ps_supplycost"
        )
    )
