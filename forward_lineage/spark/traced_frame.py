"""Is the lineage in a DataFrame still that of its rows? Asked before it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.results import LINEAGE_COLUMN, METADATA_KEY
from udafs.errors import NotTracedError

#: What may be done to a result of `lineage.sql`: every row that is left is still made of the same base rows.
_HARMLESS = {
    "Project", "Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Tail", "SubqueryAlias", "Sample", "Generate",
    "Repartition", "RepartitionByExpression", "RebalancePartitions", "UnresolvedHint", "ResolvedHint", "CollectMetrics",
}  # fmt: skip


def lineage_of_frame(frame: DataFrame) -> Mapping[str, Any]:
    """Return what the ids in a DataFrame's `DL` column mean.

    Args:
        frame: a result of `lineage.sql`, perhaps filtered, sorted or projected since; `DL` may stand anywhere in it.

    Raises:
        NotTracedError: it has no such column, or was joined, grouped, united … since, so that `DL` no longer says what
            its rows are made of.

    """
    meaning = _meaning(frame)
    plan: Any = frame._jdf.queryExecution().analyzed()
    while below := [child for child in _listed(plan.children()) if _has_lineage(child)]:
        if plan.nodeName() not in _HARMLESS:
            raise NotTracedError(
                f"the DataFrame was changed after lineage.sql in a way that is not traced ({plan.nodeName()})",
                instead="Say it in the SQL; afterwards rows may only be filtered, sorted and projected.",
            )
        plan = below[0]
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


def _has_lineage(plan: Any) -> bool:
    return any(
        each.name() == LINEAGE_COLUMN and each.metadata().contains(METADATA_KEY) for each in _listed(plan.output())
    )


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
