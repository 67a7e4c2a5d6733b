"""Pictures in a cell: the pipeline of saved results, with an impact painted in."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from forward_lineage.drawing import check_installed
from forward_lineage.session import ForwardLineage


class Picture:
    """A picture that a notebook shows.

    Attributes:
        svg: the picture; names in it are drawn, not written, so nothing in them is read as anything else.

    """

    def __init__(self, svg: str, says: str) -> None:
        self.svg, self._says = svg, says

    def __repr__(self) -> str:
        return self._says

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self._says}


def pipeline_picture(lineage: ForwardLineage, table: str | None = None, where: str | None = None) -> Picture:
    """Draw what was made of what, and paint in what some rows of a table touch.

    Args:
        lineage: the session.
        table: where suspected rows are; None for no impact.
        where: which ones, as a condition over its columns; None: all of them.

    Raises:
        SetupError: the extra `drawing` is not installed.
        LineageError: as for `ForwardLineage.impact`.

    """
    check_installed()
    from forward_lineage.cli import pictures  # noqa: PLC0415 - it needs what only drawing needs, an extra

    canvas = pictures.pipeline_picture(lineage, table, where)
    with tempfile.TemporaryDirectory(prefix="forward_lineage-") as folder:
        file = Path(folder) / "picture.svg"
        canvas.save(file)
        svg = file.read_text(encoding="utf-8")
    asked = f" of {table}" + (f" where {where}" if where else "") if table else ""
    return Picture(svg[svg.index("<svg") :], f"Picture of the {'impact' + asked if table else 'pipeline'}")
