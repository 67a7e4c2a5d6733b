"""What is in the page of an answer, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def walked(file: Path) -> dict[str, Any]:
    """Return the panel that a page begins with."""
    match = _DATA.search(file.read_text(encoding="utf-8"))
    assert match is not None
    found: dict[str, Any] = json.loads(match[1])
    return found


def down(panel: dict[str, Any], *labels: str) -> dict[str, Any]:
    """Return the panel that lines of these labels lead to."""
    for label in labels:
        panel = next(each["panel"] for each in panel["items"] if each["label"] == label)
    return panel
