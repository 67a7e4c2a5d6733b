"""`Shown`: rows that a notebook's cell shows as HTML, and a console as text."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from forward_lineage.showing.html import rows_html
from forward_lineage.showing.model import ShownRows
from forward_lineage.showing.text import as_text

_WIDTH = 60


class Shown:
    """The first rows of something, with what they were made of.

    Args:
        rows: what is shown.
        frame: all rows.

    Attributes:
        rows: what is shown.
        frame: all rows, as a DataFrame.

    """

    def __init__(self, rows: ShownRows, frame: DataFrame) -> None:
        self.rows, self.frame = rows, frame

    def text(self, width: int = _WIDTH) -> str:
        """Return the rows as a grid of text, values of at most `width` characters."""
        return as_text(self.rows, width)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return rows_html(self.rows)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": self.text()}
