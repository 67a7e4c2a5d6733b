"""Tables of a format that random statements change, compared with the interpreter after each."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.changes import COLUMNS, DATABASE, Base, begun
from tests.lakes.engines import CATALOG
from tests.lakes.histories import DifferenceError


def run_changes(lineage: ForwardLineage, kind: str, seed: int, statements: int) -> None:
    """Make a table, change it by so many statements, and compare rows and lineage after each.

    Raises:
        DifferenceError: they are others than the interpreter has.

    """
    name = f"changed_{kind}_{seed}"
    place = f"spark_catalog.default.{name}" if kind == "delta" else f"{CATALOG}.db.{name}"
    changes, query = begun(random.Random(seed), place, random.Random(f"spelling of {seed}"))
    for base in changes.bases:
        _make(lineage.spark, base)
        lineage.register(base.name, key="id")
    lineage.sql(f"CREATE TABLE {place} USING {kind} AS {query}")
    try:
        if not changes.made_of_both:
            lineage.sql(f"ALTER TABLE {place} ADD COLUMNS (DL.`{changes.bases[1].name}` BINARY)")
        for number in range(statements + 1):
            text = changes.statement() if number else "as it was made"
            if number:
                _run(lineage, text)
            if (found := _read(lineage, place, changes.bases)) != (expected := changes.expected()):
                raise DifferenceError(
                    f"statement {number}\n{text}\nmissing {expected - found}\nnot expected {found - expected}"
                )
    finally:
        lineage.spark.sql(f"DROP TABLE {place}")


def _make(spark: SparkSession, base: Base) -> None:
    if "." not in base.name:
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {base.name} AS {base.sql()}")
        return
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    spark.sql(f"DROP TABLE IF EXISTS {base.name}")
    spark.sql(f"CREATE TABLE {base.name} USING parquet AS {base.sql()}")


def _run(lineage: ForwardLineage, text: str) -> None:
    try:
        lineage.sql(text)
    except Exception as error:
        raise DifferenceError(f"{text}\nfails: {error}") from error


def _read(lineage: ForwardLineage, place: str, bases: tuple[Base, ...]) -> Counter[tuple[Any, ...]]:
    lineages = [f"dl_ids(DL.`{base.name}`)" for base in bases]
    rows = lineage.sql(f"SELECT * FROM {place}").selectExpr(*COLUMNS, *lineages).collect()
    return Counter((*row[: len(COLUMNS)], *(tuple(sorted(ids)) for ids in row[len(COLUMNS) :])) for row in rows)
