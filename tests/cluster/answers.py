"""What a session answers, in a form that goes from process to process and can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.demo.store_example import Q1, Q4, register_store_example
from tests.tpch_queries.neutrality import Answer, answer, told
from tests.tpch_queries.sessions import traced_session


def traced_tpch(spark: SparkSession, data: Path, home: Path, names: Sequence[str], semantics: str) -> dict[str, Answer]:
    """Run queries of TPC-H with lineage."""
    lineage = traced_session(spark, data, home)
    return {name: answer(lineage.sql(tpch_queries.query(name), semantics).collect()) for name in names}


def by_comment(spark: SparkSession, data: Path, home: Path) -> dict[str, Answer]:
    """Group orders with LINEAGE ON strings of which there are many, so that each row's was looked up."""
    lineage = traced_session(spark, data, home)
    grouped = "FROM orders GROUP BY o_orderstatus"
    frame = lineage.sql(f"SELECT o_orderstatus, count(*) AS n {grouped} LINEAGE ON orders.o_comment")
    assert list((home / "tables" / "orders").glob("granules-*"))
    values = {row.o_orderstatus: set(row.DL.orders) for row in lineage.granules(frame).collect()}
    by_spark = lineage.spark.sql(f"SELECT o_orderstatus, collect_set(o_comment) AS found {grouped}").collect()
    assert values == {row.o_orderstatus: set(row.found) for row in by_spark}
    return {"by comment": answer(frame.collect())}


def store_example(spark: SparkSession, home: Path) -> dict[str, Answer]:
    """Run the demo's queries with lineage."""
    lineage = ForwardLineage(spark.newSession(), home)
    register_store_example(lineage.spark, lineage)
    return {name: answer(lineage.sql(text).collect()) for name, text in {"Q1": Q1, "Q4": Q4}.items()}


def differences(found: dict[str, Answer], wanted: dict[str, Answer]) -> list[str]:
    """Say what is not the same: rows up to the last digits of floating numbers, lineage to the last bit."""
    assert found.keys() == wanted.keys()
    return [f"{name}: {what}" for name, each in found.items() for what in told(wanted[name].rows, each, wanted[name])]


def saved(spark: SparkSession, data: Path, home: Path, name: str) -> dict[str, object]:
    """Save a query of TPC-H, and ask of it backward and forward."""
    lineage = traced_session(spark, data, home)
    lineage.spark.conf.set("spark.sql.adaptive.enabled", "false")  # which would make one task of these few rows
    result = lineage.save(tpch_queries.query(name), name)
    found = {"rows": result.rows, "several tasks wrote": len(result.row_files) > 1}
    return {**found, **questions(lineage, name)}


def questions(lineage: ForwardLineage, name: str) -> dict[str, object]:
    """Ask a saved result backward for all its rows, and forward from some base rows, each with Spark and without."""
    found: dict[str, object] = {}
    result = lineage.describe(name)
    for table in result.tables:
        ids = lineage.backward_ids(name, rows=range(result.rows), table=table.name)
        some = list(ids)[:50]
        found[f"backward {table.name}"] = ids.to_bytes()
        found[f"rows {table.name}"] = sorted(map(repr, lineage.backward(name, rows=[0], table=table.name).collect()))
        found[f"forward {table.name}"] = lineage.forward_ids(table.name, ids=some, result=name).to_bytes()
        pairs = lineage.table(f"lineage_of({name}, {table.name})").collect()
        found[f"pairs {table.name}"] = sorted(map(tuple, pairs))
    return found
