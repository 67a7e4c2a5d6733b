"""Between which ids segments lie: written down where there are several, from a format of manifests on that says so.

Of one segment it would save nothing, and earlier releases read what they can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BOUNDED = 5  # the format of manifests that have it
_BOUNDS = ("first_id", "last_id")


def are_told(fields: dict[str, Any]) -> bool:
    """Tell whether there are several segments of something, and ids that they lie between.

    Args:
        fields: of a saved result, or of lineage that was captured later, as `dataclasses.asdict` gives them.

    """
    several = (part["segments"] for part in _parts(fields) if len(part["segments"]) > 1)
    return any(each["first_id"] is not None for segments in several for each in segments)


def left_out(fields: dict[str, Any]) -> dict[str, Any]:
    """Take what `are_told` tells of out of the fields, which are changed, and return them."""
    for part in _parts(fields):
        part["segments"] = [_without(each) for each in part["segments"]]
    return fields


def _without(segment: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in segment.items() if key not in _BOUNDS}


def _parts(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from fields["tables"]
    yield from fields["refers"]
    for stage in fields["stages"]:
        yield from (*stage["tables"], *stage["stages"])
