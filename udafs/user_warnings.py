"""Warnings that name the line of the user's program which led to them, however deep in our code they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

_OURS = tuple(f"{Path(__file__).parents[1] / name}/" for name in ("forward_lineage", "udafs", "rewrites"))


def warn_user(said: str) -> None:
    """Warn, at the nearest caller that is none of our modules.

    Args:
        said: the warning, a `UserWarning`.

    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(said, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(_OURS) or Path(file).name == "contextlib.py"
