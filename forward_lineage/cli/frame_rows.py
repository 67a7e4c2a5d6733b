"""Rows of a DataFrame as commands print them: lineage as ids, JSON as Spark writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.results import LINEAGE_COLUMN, meaning_of, trusted_tables
from forward_lineage.spark.granules import decoded as granule_values
from forward_lineage.spark.names import field_of_dl
from forward_lineage.spark.progress import spark_progress


@dataclass(frozen=True)
class FrameRows:
    """The rows of a DataFrame; see `cli.answers.Rows`.

    Attributes:
        frame: the DataFrame.

    """

    frame: DataFrame

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return self.frame.columns

    @property
    def trusted(self) -> list[str]:
        """The tables that it takes on trust."""
        return list(trusted_tables(self.frame))

    @property
    def unit(self) -> str:
        """What stands in its lineage: rows, or the values of LINEAGE ON."""
        return "values" if _granules(self.frame) else "rows"

    @property
    def total(self) -> int | None:
        """How many they are: only Spark could tell, in a run of its own."""
        return None

    def first(self, limit: int) -> tuple[list[list[Any]], bool]:
        """Return up to `limit` rows, lineage as ids or values by table, and whether there are more."""
        with spark_progress(self.frame.sparkSession, "reading the rows"):
            rows = decoded(self.frame.limit(limit + 1)).collect()
        return [list(row) for row in rows[:limit]], len(rows) > limit

    def json_lines(self, limit: int | None = None) -> list[str]:
        """Return rows as JSON objects; names that repeat in a result do so in its JSON, too."""
        with spark_progress(self.frame.sparkSession, "reading the rows"):
            return json_lines(decoded(self.frame if limit is None else self.frame.limit(limit)))


def json_lines(frame: DataFrame) -> list[str]:
    """Return rows as JSON objects, as Spark writes them."""
    objects = frame.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))
    return [row[0] for row in objects.toLocalIterator()]


def decoded(frame: DataFrame) -> DataFrame:
    """Replace each lineage value in `DL` by its ids, an array; under LINEAGE ON by the values that they stand for."""
    meaning = _granules(frame)
    if meaning is not None:
        return granule_values(frame, meaning)
    if not frame.columns or frame.columns[-1] != LINEAGE_COLUMN:
        return frame
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    fields = [F.call_function("dl_ids", F.expr(field_of_dl(table))).alias(table) for table in tables]
    return frame.withColumn(LINEAGE_COLUMN, F.struct(*fields))


def _granules(frame: DataFrame) -> Mapping[str, Any] | None:
    """What `DL` means, if its ids stand for values of LINEAGE ON."""
    meaning = meaning_of(frame)
    return meaning if meaning and meaning.get("granules") else None
