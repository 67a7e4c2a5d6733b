"""Is the lineage in a DataFrame still that of its rows? Asked before it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.results import LINEAGE_COLUMN, METADATA_KEY
from udafs.errors import NotTracedError
from udafs.requests import ask


def lineage_of_frame(frame: DataFrame) -> Mapping[str, Any]:
    """Return what the ids in a DataFrame's `DL` column mean.

    Args:
        frame: a result of `lineage.sql`, perhaps filtered, sorted or projected since; `DL` may stand anywhere in it.

    Raises:
        NotTracedError: it has no such column, or was joined, grouped, united … since, so that `DL` no longer says what
            its rows are made of.

    """
    meaning = _meaning(frame)
    if changed := ask(frame.sparkSession, "changed by", frame):
        raise NotTracedError(
            f"the DataFrame was changed after lineage.sql in a way that is not traced ({changed})",
            instead="Say it in the SQL; afterwards rows may only be filtered, sorted and projected.",
        )
    return meaning


def _meaning(frame: DataFrame) -> Mapping[str, Any]:
    found = [field for field in frame.schema.fields if field.name == LINEAGE_COLUMN]
    meaning = found[0].metadata.get(METADATA_KEY) if len(found) == 1 else None
    if not isinstance(meaning, dict):
        how = "has several columns DL" if len(found) > 1 else "has no column DL that lineage.sql made"
        raise NotTracedError(
            f"the DataFrame {how}, so the lineage of its rows is not known",
            instead="Save the SQL itself, or what lineage.sql(…) returned, with DL among its columns.",
        )
    return meaning
