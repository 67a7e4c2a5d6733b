"""Our own facet: how much lineage row by row there is of a dataset, and where to ask for it.

Its JSON schema is `row_lineage.schema.json` beside this file; `_schemaURL` is a name for it, no address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openlineage.client.facet_v2 import DatasetFacet

from forward_lineage.openlineage.schema import SCHEMA
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.saved_result import SavedResult, TracedTable

#: Under which an event has it.
KEY = "forwardLineage_rowLineage"
_SAID = {Captured.NOW: "now", Captured.LATER: "later", Captured.NEVER: "no"}


class _RowLineage(DatasetFacet):
    @staticmethod
    def _get_schema() -> str:
        return SCHEMA


def facet_of_result(saved: SavedResult, home: str, unknown: Mapping[str, str]) -> DatasetFacet:
    """Describe the lineage of a saved result.

    Args:
        saved: the result.
        home: where it is.
        unknown: columns whose sources are not known, and why.

    """
    return _facet(
        result=saved.name,
        version=saved.version,
        home=home,
        semantics=saved.semantics,
        granularity=saved.granularity,
        rows=saved.rows,
        pairs=saved.pairs,
        bytes=saved.size,
        lineageBytes=saved.lineage_size,
        tables=[_table(saved, table) for table in saved.tables],
        columnsUnknown=dict(unknown),
        ask={
            "python": f"ForwardLineage(spark, {home!r}).backward({saved.name!r}, rows=[0])",
            "command": f"forward-lineage backward {saved.name} --rows 0",
        },
    )


def facet_of_table(
    semantics: str, tables: list[tuple[str, int, str, bool]], name: str, unknown: Mapping[str, str]
) -> DatasetFacet:
    """Describe the lineage in the column `DL` of a table that a query has written.

    Args:
        semantics: of the lineage.
        tables: name, version, what gives the ids, and whether on trust, of the tables it was made of.
        name: what queries call it.
        unknown: as for `facet_of_result`.

    """
    return _facet(
        semantics=semantics,
        granularity="rows",
        tables=[
            {"name": table, "version": version, "ids": ids, "captured": "now", "trusted": trusted}
            for table, version, ids, trusted in tables
        ],
        columnsUnknown=dict(unknown),
        ask={"python": f'lineage.ids(lineage.sql("SELECT * FROM {name}"))'},
    )


def _facet(**fields: Any) -> DatasetFacet:
    made: DatasetFacet = _RowLineage().with_additional_properties(**fields)  # type: ignore[assignment]
    return made


def _table(saved: SavedResult, table: TracedTable) -> dict[str, Any]:
    entry = {
        "name": table.name,
        "version": table.version,
        "ids": table.provider.value,
        "captured": _SAID[table.captured],
        "trusted": table.trusted,
    }
    if table.captured is Captured.NOW:
        entry["pairs"] = sum(each.pairs for each in saved.kept_of(table))
    return entry if table.only is None else {**entry, "only": table.only}
