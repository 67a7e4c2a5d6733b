"""A sheet to draw on, one unit a point, and what both kinds of pictures share: text, curves, the file.

Colours are Okabe and Ito's, which colour-blind people can tell apart; no colour alone carries a meaning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from forward_lineage.drawing import check_format
from udafs.errors import SetupError

INK, FAINT, PAPER = "#222222", "#767676", "#ffffff"
BLUE, ORANGE, SKY = "#0072b2", "#d55e00", "#56b4e9"
SMALL, NORMAL, LARGE = 8.0, 10.0, 12.5

Point = tuple[float, float]


@cache
def text_width(text: str, size: float = NORMAL, weight: str = "normal") -> float:
    """The width of a text, in points."""
    font = FontProperties(family="DejaVu Sans", weight=weight)
    literal = printable(text).replace("$", r"\$")  # names are the user's: a dollar sign is no formula
    with _any_glyph():
        return float(TextPath((0, 0), literal, size=size, prop=font).get_extents().width) if text.strip() else 0.0


def printable(text: str) -> str:
    """A text with what no font has as it would be written in a string: controls, directions, halves of characters."""
    shown = (each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in text)
    return "".join(shown)


@contextmanager
def _any_glyph() -> Iterator[None]:
    """Let letters that the font does not have be boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, cut at its end."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Canvas:
    """A sheet; y grows upwards."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width / 72, height / 72), facecolor=PAPER)
        self.axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(0, height)

    def text(self, x: float, y: float, text: str, size: float = NORMAL, **style: Any) -> None:
        """Write; `ha` and `va` say which point of the text (x, y) is, the middle of its left side when not given."""
        style = {"ha": "left", "va": "center", "color": INK, "family": "DejaVu Sans"} | style
        self.axes.text(x, y, printable(text), fontsize=size, parse_math=False, zorder=4, **style)

    def add(self, patch: Any) -> None:
        """Draw a shape of matplotlib."""
        self.axes.add_patch(patch)

    def line(self, points: Sequence[Point], **style: Any) -> None:
        """Straight from point to point."""
        self._path(Path(points), style)

    def curve(self, points: Sequence[Point], sideways: bool = False, **style: Any) -> None:
        """Smooth through all points, leaving and entering each vertically, or horizontally if `sideways`."""
        vertices, codes = [points[0]], [Path.MOVETO]
        for (x, y), (to_x, to_y) in pairwise(points):
            middle_x, middle_y = (x + to_x) / 2, (y + to_y) / 2
            bows = ((middle_x, y), (middle_x, to_y)) if sideways else ((x, middle_y), (to_x, middle_y))
            vertices += [*bows, (to_x, to_y)]
            codes += [Path.CURVE4] * 3
        self._path(Path(vertices, codes), style)

    def _path(self, path: Path, style: dict[str, Any]) -> None:
        style = {"edgecolor": INK, "linewidth": 1.0, "capstyle": "round", "zorder": 1} | style
        self.add(PathPatch(path, facecolor="none", **style))

    def save(self, file: FilePath) -> None:
        """Write the picture; equal pictures are equal files.

        Raises:
            BadArgumentError: the name does not end in .svg, .pdf or .png.
            SetupError: the file cannot be written.

        """
        kind = check_format(file)
        undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[kind]
        try:
            with _any_glyph(), mpl.rc_context({"svg.hashsalt": "forward_lineage"}):
                self.figure.savefig(file, format=kind[1:], dpi=144, metadata=undated)
        except OSError as error:
            raise SetupError(
                f"{file} cannot be written: {error.strerror}", instead="Name a file in a folder that you may write."
            ) from None
