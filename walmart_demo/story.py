"""One bad item record and the reports it spoiled: found backward from a receipt, followed forward to every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

import walmart_demo
from forward_lineage import ForwardLineage
from walmart_demo.items import BAD_RECORD

KEYS = {"store_information": "store_nbr", "item_description": "item_nbr", "store_visits": "visit_nbr"}
"""Tables with a key of their own; item_scan has none, its rows are known by their position."""


@dataclass(frozen=True)
class Size:
    """How much lineage a report has.   [Zhang 2007, Table 9]

    Attributes:
        query: its name.
        rows: rows of the result.
        lineage: base rows of all tables, summed over the result's rows.

    """

    query: str
    rows: int
    lineage: int

    @property
    def average(self) -> float:
        """Base rows per result row."""
        return self.lineage / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class Damage:
    """What the bad record did to one report.

    Attributes:
        query: the report's name.
        rows: its rows.
        named: rows that lineage names as made from the bad record.
        wrong: rows that are gone or different once the record is taken out.
        unnamed: how many of those lineage did not name: none, or lineage lied.
        unharmed: how many rows lineage named that come out the same: none, or lineage named too many.

    """

    query: str
    rows: int
    named: int
    wrong: int
    unnamed: int
    unharmed: int


def open_tables(spark: SparkSession, folder: Path, home: Path) -> ForwardLineage:
    """Register the four tables of a folder; registrations go into `home`."""
    lineage = ForwardLineage(spark, home=home)
    for table in walmart_demo.TABLES:
        lineage.register(table, path=folder / f"{table}.parquet", key=KEYS.get(table))
    return lineage


def sizes(lineage: ForwardLineage, queries: Sequence[str]) -> list[Size]:
    """Run queries with lineage and measure it."""
    found = []
    for name in queries:
        rows = lineage.sql(walmart_demo.query(name))
        tables = rows.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
        size = " + ".join(f"dl_size(DL.`{table}`)" for table in tables)
        total = rows.selectExpr("count(*) as n", f"coalesce(sum({size}), 0) as ids").head()
        assert total is not None  # a global aggregate has one row
        found.append(Size(name, total["n"], total["ids"]))
    return found


def strange_receipt(lineage: ForwardLineage) -> Row:
    """Return a receipt line (Q3) with the bad record's text, and the ids of the three base rows it was made from."""
    ids = [f"dl_ids(DL.{table})[0] as {table}" for table in ("item_scan", "store_visits", "item_description")]
    lines = lineage.sql(walmart_demo.query("q3")).where(f"primary_desc = '{BAD_RECORD.primary_desc}'")
    line = lines.selectExpr("visit_nbr", "primary_desc", "total_scan_amount", *ids).orderBy("item_scan").head()
    assert line is not None  # store 126 has always rung up the item of the bad record
    return line


def suspected() -> str:
    """Return the condition that picks the bad record out of item_description."""
    return f"item_nbr = {BAD_RECORD.item_nbr}"


def spoiled(lineage: ForwardLineage, query: str) -> DataFrame:
    """Return the rows of a report that were made from the bad record, without their lineage."""
    return lineage.affected(walmart_demo.query(query), "item_description", where=suspected()).drop("DL")


def damage(lineage: ForwardLineage, queries: Sequence[str], corrected: SparkSession) -> list[Damage]:
    """Compare each report with the one that comes out without the bad record, and both with what lineage had named.

    Args:
        lineage: over the tables with the bad record.
        queries: the reports.
        corrected: a session whose item_description is without it.

    """
    found = []
    for query in queries:
        text = walmart_demo.query(query)
        before, after, named = (
            Counter(tuple(row) for row in rows.collect())  # reports are read by people: they fit into memory
            for rows in (lineage.spark.sql(text), corrected.sql(text), spoiled(lineage, query))
        )
        wrong = before - after
        found.append(
            Damage(
                query,
                rows=before.total(),
                named=named.total(),
                wrong=wrong.total(),
                unnamed=(wrong - named).total(),
                unharmed=(named - wrong).total(),
            )
        )
    return found


def correct(spark: SparkSession, folder: Path, scratch: Path) -> SparkSession:
    """Return a session over the same tables without the bad record; its one new file goes into `scratch`."""
    session = spark.newSession()
    for table in walmart_demo.TABLES:
        file = folder / f"{table}.parquet"
        if table == "item_description":
            file = scratch / file.name
            descriptions = pq.read_table(folder / file.name)
            pq.write_table(descriptions.filter(pc.field("item_nbr") != BAD_RECORD.item_nbr), file)
        session.read.parquet(str(file)).createOrReplaceTempView(table)
    return session
