"""What of a result's lineage is captured, when, and what it takes to capture the rest.   [Smoke, §3.2, §4.1]"""

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
    """What rows were made with beside the query and its tables, to make them again and capture what was not captured.

    Attributes:
        settings: of the session, by name.
        views: a digest of the views that the query reads, and their texts.
        refused: why the rows cannot be made again; None: they can.

    """

    settings: dict[str, Any]
    views: str
    refused: str | None = None
