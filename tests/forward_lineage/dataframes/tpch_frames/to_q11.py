"""Q1 to Q11."""

from __future__ import annotations

from datetime import date

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.functions import col

from tests.forward_lineage.dataframes.tpch_frames.terms import Tables, during, price


def q1(table: Tables) -> DataFrame:
    return (
        table("lineitem")
        .where(col("l_shipdate") <= date(1998, 9, 2))
        .groupBy("l_returnflag", "l_linestatus")
        .agg(
            F.sum("l_quantity").alias("sum_qty"),
            F.sum("l_extendedprice").alias("sum_base_price"),
            F.sum(price()).alias("sum_disc_price"),
            F.sum(price() * (1 + col("l_tax"))).alias("sum_charge"),
            F.avg("l_quantity").alias("avg_qty"),
            F.avg("l_extendedprice").alias("avg_price"),
            F.avg("l_discount").alias("avg_disc"),
            F.count("*").alias("count_order"),
        )
        .orderBy("l_returnflag", "l_linestatus")
    )


def q2(table: Tables) -> DataFrame:
    european = (
        table("partsupp")
        .join(table("supplier"), col("s_suppkey") == col("ps_suppkey"))
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .join(table("region"), col("n_regionkey") == col("r_regionkey"))
        .where(col("r_name") == "EUROPE")
    )
    cheapest = european.where(col("ps_partkey") == col("p_partkey").outer()).select(F.min("ps_supplycost"))
    return (
        table("part")
        .where((col("p_size") == 15) & col("p_type").like("%BRASS"))
        .join(european, col("p_partkey") == col("ps_partkey"))
        .where(col("ps_supplycost") == cheapest.scalar())
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .orderBy(col("s_acctbal").desc(), "n_name", "s_name", "p_partkey")
    )


def q3(table: Tables) -> DataFrame:
    return (
        table("customer")
        .where(col("c_mktsegment") == "BUILDING")
        .join(table("orders"), col("c_custkey") == col("o_custkey"))
        .join(table("lineitem"), col("l_orderkey") == col("o_orderkey"))
        .where((col("o_orderdate") < date(1995, 3, 15)) & (col("l_shipdate") > date(1995, 3, 15)))
        .groupBy("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(F.sum(price()).alias("revenue"))
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .orderBy(col("revenue").desc(), "o_orderdate")
    )


def q4(table: Tables) -> DataFrame:
    late = table("lineitem").where(
        (col("l_orderkey") == col("o_orderkey").outer()) & (col("l_commitdate") < col("l_receiptdate"))
    )
    return (
        table("orders")
        .where(during("o_orderdate", date(1993, 7, 1), date(1993, 10, 1)) & late.exists())
        .groupBy("o_orderpriority")
        .agg(F.count("*").alias("order_count"))
        .orderBy("o_orderpriority")
    )


def q5(table: Tables) -> DataFrame:
    return (
        table("customer")
        .join(table("orders"), col("c_custkey") == col("o_custkey"))
        .join(table("lineitem"), col("l_orderkey") == col("o_orderkey"))
        .join(table("supplier"), (col("l_suppkey") == col("s_suppkey")) & (col("c_nationkey") == col("s_nationkey")))
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .join(table("region"), col("n_regionkey") == col("r_regionkey"))
        .where((col("r_name") == "ASIA") & during("o_orderdate", date(1994, 1, 1), date(1995, 1, 1)))
        .groupBy("n_name")
        .agg(F.sum(price()).alias("revenue"))
        .orderBy(col("revenue").desc())
    )


def q6(table: Tables) -> DataFrame:
    return (
        table("lineitem")
        .where(during("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)))
        .where(col("l_discount").between(F.expr("0.05"), F.expr("0.07")) & (col("l_quantity") < 24))
        .agg(F.sum(col("l_extendedprice") * col("l_discount")).alias("revenue"))
    )


def q7(table: Tables) -> DataFrame:
    def between(one: str, other: str) -> Column:
        return (col("n1.n_name") == one) & (col("n2.n_name") == other)

    return (
        table("supplier")
        .join(table("lineitem"), col("s_suppkey") == col("l_suppkey"))
        .join(table("orders"), col("o_orderkey") == col("l_orderkey"))
        .join(table("customer"), col("c_custkey") == col("o_custkey"))
        .join(table("nation").alias("n1"), col("s_nationkey") == col("n1.n_nationkey"))
        .join(table("nation").alias("n2"), col("c_nationkey") == col("n2.n_nationkey"))
        .where(between("FRANCE", "GERMANY") | between("GERMANY", "FRANCE"))
        .where(col("l_shipdate").between(date(1995, 1, 1), date(1996, 12, 31)))
        .select(
            col("n1.n_name").alias("supp_nation"),
            col("n2.n_name").alias("cust_nation"),
            F.year("l_shipdate").alias("l_year"),
            price().alias("volume"),
        )
        .groupBy("supp_nation", "cust_nation", "l_year")
        .agg(F.sum("volume").alias("revenue"))
        .orderBy("supp_nation", "cust_nation", "l_year")
    )


def q8(table: Tables) -> DataFrame:
    return (
        table("part")
        .join(table("lineitem"), col("p_partkey") == col("l_partkey"))
        .join(table("supplier"), col("s_suppkey") == col("l_suppkey"))
        .join(table("orders"), col("l_orderkey") == col("o_orderkey"))
        .join(table("customer"), col("o_custkey") == col("c_custkey"))
        .join(table("nation").alias("n1"), col("c_nationkey") == col("n1.n_nationkey"))
        .join(table("region"), col("n1.n_regionkey") == col("r_regionkey"))
        .join(table("nation").alias("n2"), col("s_nationkey") == col("n2.n_nationkey"))
        .where((col("r_name") == "AMERICA") & (col("p_type") == "ECONOMY ANODIZED STEEL"))
        .where(col("o_orderdate").between(date(1995, 1, 1), date(1996, 12, 31)))
        .withColumns({"o_year": F.year("o_orderdate"), "volume": price(), "nation": col("n2.n_name")})
        .groupBy("o_year")
        .agg(
            (F.sum(F.when(col("nation") == "BRAZIL", col("volume")).otherwise(0)) / F.sum("volume")).alias("mkt_share")
        )
        .orderBy("o_year")
    )


def q9(table: Tables) -> DataFrame:
    amount = price() - col("ps_supplycost") * col("l_quantity")
    of_line = (col("ps_suppkey") == col("l_suppkey")) & (col("ps_partkey") == col("l_partkey"))
    return (
        table("part")
        .where(col("p_name").contains("green"))
        .join(table("lineitem"), col("p_partkey") == col("l_partkey"))
        .join(table("supplier"), col("s_suppkey") == col("l_suppkey"))
        .join(table("partsupp"), of_line)
        .join(table("orders"), col("o_orderkey") == col("l_orderkey"))
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .select(col("n_name").alias("nation"), F.year("o_orderdate").alias("o_year"), amount.alias("amount"))
        .groupBy("nation", "o_year")
        .agg(F.sum("amount").alias("sum_profit"))
        .orderBy("nation", col("o_year").desc())
    )


def q10(table: Tables) -> DataFrame:
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return (
        table("customer")
        .join(table("orders"), col("c_custkey") == col("o_custkey"))
        .join(table("lineitem"), col("l_orderkey") == col("o_orderkey"))
        .join(table("nation"), col("c_nationkey") == col("n_nationkey"))
        .filter(during("o_orderdate", date(1993, 10, 1), date(1994, 1, 1)))
        .filter(col("l_returnflag") == "R")
        .groupBy(*keys)
        .agg(F.sum(price()).alias("revenue"))
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
        .sort("revenue", ascending=False)
    )


def q11(table: Tables) -> DataFrame:
    value = F.sum(col("ps_supplycost") * col("ps_availqty"))
    german = (
        table("partsupp")
        .join(table("supplier"), col("ps_suppkey") == col("s_suppkey"))
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .where(col("n_name") == "GERMANY")
    )
    return (
        german.groupBy("ps_partkey")
        .agg(value.alias("value"))
        .where(col("value") > german.agg(value * F.expr("0.0001")).scalar())
        .orderBy(col("value").desc())
    )
