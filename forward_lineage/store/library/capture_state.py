"""The captured part of a result's lineage, when it was captured, and how to capture the rest.   [Smoke, §3.2, §4.1]"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Captured(StrEnum):
    """When the lineage of a result in a table is captured. The values stand in manifests and never change."""

    NOW = "now"  # with the rows
    LATER = "later"  # at the first question
    NEVER = "never"  # nobody is expected to ask


@dataclass(frozen=True)
class Recipe:
    """The other inputs of rows, beside the query and its tables, to make them again and capture the rest.

    Attributes:
        settings: of the session, by name.
        views: a digest of the views that the query reads, and their texts.
        refused: why the rows cannot be made again; None: they can.

    """

    settings: dict[str, Any]
    views: str
    refused: str | None = None
