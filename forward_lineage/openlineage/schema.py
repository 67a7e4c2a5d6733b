"""The JSON schema of our own facet, for whoever reads it; no client is needed for that."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

SCHEMA = "urn:forward-lineage:openlineage:RowLineageDatasetFacet:1-0-0"


def facet_schema() -> dict[str, Any]:
    """Return the JSON schema of our facet."""
    text = files("forward_lineage.openlineage").joinpath("row_lineage.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
