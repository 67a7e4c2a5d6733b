"""Runs as other tools see them: events of OpenLineage for saves and for tables that queries write.

docs/openlineage.md says what is sent, when, and where to. Nothing is sent unless `ForwardLineage` is told to.
"""

from forward_lineage.openlineage.schema import facet_schema
from forward_lineage.openlineage.settings import OpenLineage

__all__ = ["OpenLineage", "facet_schema"]
