"""Q12 to Q22."""

from __future__ import annotations

from datetime import date

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.functions import col

from tests.forward_lineage.dataframes.tpch_frames.terms import Tables, during, price


def q12(table: Tables) -> DataFrame:
    is_high = col("o_orderpriority").isin("1-URGENT", "2-HIGH")
    return (
        table("orders")
        .join(table("lineitem"), col("o_orderkey") == col("l_orderkey"))
        .where(col("l_shipmode").isin("MAIL", "SHIP"))
        .where((col("l_commitdate") < col("l_receiptdate")) & (col("l_shipdate") < col("l_commitdate")))
        .where(during("l_receiptdate", date(1994, 1, 1), date(1995, 1, 1)))
        .groupBy("l_shipmode")
        .agg(
            F.sum(F.when(is_high, 1).otherwise(0)).alias("high_line_count"),
            F.sum(F.when(~is_high, 1).otherwise(0)).alias("low_line_count"),
        )
        .orderBy("l_shipmode")
    )


def q13(table: Tables) -> DataFrame:
    usual = (col("c_custkey") == col("o_custkey")) & ~col("o_comment").like("%special%requests%")
    return (
        table("customer")
        .join(table("orders"), usual, "left_outer")
        .groupBy("c_custkey")
        .agg(F.count("o_orderkey").alias("c_count"))
        .groupBy("c_count")
        .agg(F.count("*").alias("custdist"))
        .orderBy(col("custdist").desc(), col("c_count").desc())
    )


def q14(table: Tables) -> DataFrame:
    promotion = F.sum(F.when(col("p_type").startswith("PROMO"), price()).otherwise(0))
    return (
        table("lineitem")
        .join(table("part"), col("l_partkey") == col("p_partkey"))
        .where(during("l_shipdate", date(1995, 9, 1), date(1995, 10, 1)))
        .agg((F.expr("100.00") * promotion / F.sum(price())).alias("promo_revenue"))
    )


def q15(table: Tables) -> DataFrame:
    revenue = (
        table("lineitem")
        .where(during("l_shipdate", date(1996, 1, 1), date(1996, 4, 1)))
        .groupBy(col("l_suppkey").alias("supplier_no"))
        .agg(F.sum(price()).alias("total_revenue"))
    )
    return (
        table("supplier")
        .join(revenue, col("s_suppkey") == col("supplier_no"))
        .where(col("total_revenue") == revenue.agg(F.max("total_revenue")).scalar())
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .orderBy("s_suppkey")
    )


def q16(table: Tables) -> DataFrame:
    complained = table("supplier").where(col("s_comment").like("%Customer%Complaints%")).select("s_suppkey")
    return (
        table("partsupp")
        .join(table("part"), col("p_partkey") == col("ps_partkey"))
        .where((col("p_brand") != "Brand#45") & ~col("p_type").like("MEDIUM POLISHED%"))
        .where(col("p_size").isin(49, 14, 23, 45, 19, 3, 36, 9))
        .where(~col("ps_suppkey").isin(complained))
        .groupBy("p_brand", "p_type", "p_size")
        .agg(F.countDistinct("ps_suppkey").alias("supplier_cnt"))
        .orderBy(col("supplier_cnt").desc(), "p_brand", "p_type", "p_size")
    )


def q17(table: Tables) -> DataFrame:
    usual = table("lineitem").where(col("l_partkey") == col("p_partkey").outer())
    little = usual.select(F.expr("0.2") * F.avg("l_quantity"))
    return (
        table("lineitem")
        .join(table("part"), col("p_partkey") == col("l_partkey"))
        .where((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
        .where(col("l_quantity") < little.scalar())
        .agg((F.sum("l_extendedprice") / F.expr("7.0")).alias("avg_yearly"))
    )


def q18(table: Tables) -> DataFrame:
    quantity = F.sum("l_quantity")
    large = table("lineitem").groupBy("l_orderkey").agg(quantity.alias("quantity")).where(col("quantity") > 300)
    return (
        table("customer")
        .join(table("orders"), col("c_custkey") == col("o_custkey"))
        .join(table("lineitem"), col("o_orderkey") == col("l_orderkey"))
        .where(col("o_orderkey").isin(large.select("l_orderkey")))
        .groupBy("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice")
        .agg(quantity)
        .orderBy(col("o_totalprice").desc(), "o_orderdate")
    )


def q19(table: Tables) -> DataFrame:
    def of(brand: str, containers: list[str], least: int, size: int) -> Column:
        return (
            (col("p_brand") == brand)
            & col("p_container").isin(containers)
            & col("l_quantity").between(least, least + 10)
            & col("p_size").between(1, size)
        )

    return (
        table("lineitem")
        .join(table("part"), col("p_partkey") == col("l_partkey"))
        .where(col("l_shipmode").isin("AIR", "AIR REG") & (col("l_shipinstruct") == "DELIVER IN PERSON"))
        .where(
            of("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
            | of("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
            | of("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
        )
        .agg(F.sum(price()).alias("revenue"))
    )


def q20(table: Tables) -> DataFrame:
    forest = table("part").where(col("p_name").like("forest%")).select("p_partkey")
    shipped = (
        table("lineitem")
        .where(col("l_partkey") == col("ps_partkey").outer())
        .where(col("l_suppkey") == col("ps_suppkey").outer())
        .where(during("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)))
        .select(F.expr("0.5") * F.sum("l_quantity"))
    )
    plenty = table("partsupp").where(col("ps_partkey").isin(forest) & (col("ps_availqty") > shipped.scalar()))
    return (
        table("supplier")
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .where((col("n_name") == "CANADA") & col("s_suppkey").isin(plenty.select("ps_suppkey")))
        .select("s_name", "s_address")
        .orderBy("s_name")
    )


def q21(table: Tables) -> DataFrame:
    def of_others(name: str) -> DataFrame:
        """Lines of the same order by other suppliers."""
        return (
            table("lineitem")
            .alias(name)
            .where(col(f"{name}.l_orderkey") == col("l1.l_orderkey").outer())
            .where(col(f"{name}.l_suppkey") != col("l1.l_suppkey").outer())
        )

    late = of_others("l3").where(col("l3.l_receiptdate") > col("l3.l_commitdate"))
    return (
        table("supplier")
        .join(table("lineitem").alias("l1"), col("s_suppkey") == col("l1.l_suppkey"))
        .join(table("orders"), col("o_orderkey") == col("l1.l_orderkey"))
        .join(table("nation"), col("s_nationkey") == col("n_nationkey"))
        .where((col("o_orderstatus") == "F") & (col("l1.l_receiptdate") > col("l1.l_commitdate")))
        .where(of_others("l2").exists() & ~late.exists() & (col("n_name") == "SAUDI ARABIA"))
        .groupBy("s_name")
        .agg(F.count("*").alias("numwait"))
        .orderBy(col("numwait").desc(), "s_name")
    )


def q22(table: Tables) -> DataFrame:
    code = F.substring("c_phone", 1, 2)
    in_those = code.isin("13", "31", "23", "29", "30", "18", "17")
    usual = table("customer").where((col("c_acctbal") > F.expr("0.00")) & in_those).agg(F.avg("c_acctbal"))
    orders = table("orders").where(col("o_custkey") == col("c_custkey").outer())
    return (
        table("customer")
        .where(in_those & (col("c_acctbal") > usual.scalar()) & ~orders.exists())
        .select(code.alias("cntrycode"), "c_acctbal")
        .groupBy("cntrycode")
        .agg(F.count("*").alias("numcust"), F.sum("c_acctbal").alias("totacctbal"))
        .orderBy("cntrycode")
    )
