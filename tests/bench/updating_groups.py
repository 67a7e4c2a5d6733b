"""When does it pay to make touched groups again? Groups by the share of rows that change, in part against the whole.

    python -m tests.bench.updating_groups [--rows 1000000] [--groups 100,10000] [--changes 0.01,1] [--plot FILE]

One table by key, and one query whose aggregates cannot be added to: a greatest value and a count of different ones.
Rows change in two ways: scattered over all groups, or those of some groups together. After each change the query is
brought up to date three times, as three results: as a whole, in part whatever that is expected to cost, and as the plan
chooses. You see the seconds of each, where the break-even is, and how often the plan chose the slower way.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session
from forward_lineage.spark.settings import UPDATE, configured

mpl.use("Agg")  # files only: no display is looked for

_SQL = "SELECT g, count(*) AS n, max(x) AS top, count(DISTINCT y) AS kinds FROM measured GROUP BY g"
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
SPREADS = ("scattered", "together")
_BREAK_EVEN = 1.0
_NEAR = 0.1
"""Ways whose seconds differ by less than this share are equally good."""


@dataclass(frozen=True)
class Cell:
    """What one change took: seconds by way, and the way that the plan chose."""

    groups: int
    percent: float
    spread: str
    full: float
    partly: float | None
    usual: float
    chosen: str

    @property
    def ratio(self) -> float | None:
        """Of the part against the whole; None where no part could be made."""
        return None if self.partly is None else self.partly / self.full

    @property
    def is_slower_way(self) -> bool:
        """Whether the plan chose the way that takes longer, by more than the clock can mistake."""
        if self.ratio is None or abs(self.ratio - 1) < _NEAR:
            return False
        return (self.ratio < 1) != (self.chosen == "partly")


class Measured:
    """The table and its three results, for one number of groups.

    Args:
        lineage: of a new home.
        folder: a new folder.
        rows: of the table.
        groups: how many.

    """

    def __init__(self, lineage: ForwardLineage, folder: Path, rows: int, groups: int) -> None:
        self._lineage, self._file, self._groups = lineage, folder / "measured.parquet", groups
        self._chance = np.random.default_rng(groups)
        self._g = self._chance.integers(0, groups, rows)
        self._x = self._chance.integers(0, 1_000_000, rows)
        self._y = self._chance.integers(0, 50, rows)
        self._register()
        for name in ("whole", "part", "usual"):
            lineage.save(_SQL, name)

    def cell(self, percent: float, spread: str) -> Cell:
        """Change some rows, and bring the three results up to date."""
        rows = self._x.size
        if spread == "scattered":
            changed = self._chance.choice(rows, max(round(rows * percent / 100), 1), replace=False)
        else:
            some = self._chance.choice(self._groups, max(round(self._groups * percent / 100), 1), replace=False)
            changed = np.flatnonzero(np.isin(self._g, some))
        self._x[changed] += 1_000_000
        self._register()
        list(self._lineage.updates("whole", plan=True))  # which rows changed is found once for all
        with configured(self._lineage.spark, {UPDATE: "partly"}):
            part, way = self._updated("part")
        whole, _ = self._updated("whole", full=True)
        usual, chosen = self._updated("usual")
        return Cell(self._groups, percent, spread, whole, part if way == "partly" else None, usual, chosen)

    def _updated(self, name: str, *, full: bool = False) -> tuple[float, str]:
        began = time.monotonic()
        (step,) = self._lineage.updates(name, full=full)
        return time.monotonic() - began, step.way.value

    def _register(self) -> None:
        columns = {"id": np.arange(self._g.size), "g": self._g, "x": self._x, "y": self._y}
        pq.write_table(pa.table(columns), self._file)
        frame = self._lineage.spark.read.parquet(str(self._file))
        self._lineage.register("measured", source=frame, key="id")


def draw(cells: Sequence[Cell], title: str, file: Path) -> None:
    """Draw the share of the time that a part takes, a panel for each spread and a line for each number of groups."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, len(SPREADS), sharey=True)
    groups = sorted({cell.groups for cell in cells})
    percents = sorted({cell.percent for cell in cells})
    for axes, spread in zip(panels, SPREADS, strict=True):
        for each, colour in zip(groups, itertools.cycle(_COLOURS)):
            mine = [c for c in cells if (c.groups, c.spread) == (each, spread) and c.ratio is not None]
            axes.plot([c.percent for c in mine], [c.ratio for c in mine], color=colour, linewidth=1.5)
            for cell in mine:
                face = colour if cell.chosen == "partly" else "white"
                axes.plot(cell.percent, cell.ratio, "o", color=colour, markerfacecolor=face)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axhline(_BREAK_EVEN, color="black", linewidth=1)
        axes.xaxis.set_major_locator(FixedLocator(percents))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.5, 1, 2, 5]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_xlabel("rows that change" if spread == "scattered" else "groups whose rows change")
        axes.set_title({"scattered": "scattered over all groups", "together": "all rows of some groups"}[spread])
    panels[0].set_ylabel("a part, of the time for the whole")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    handles = [
        Line2D([], [], color=colour, label=f"{each:,} groups")
        for each, colour in zip(groups, itertools.cycle(_COLOURS))
    ]
    handles += [
        Line2D([], [], color="grey", marker="o", linestyle="", label="the plan takes the part"),
        Line2D(
            [], [], color="grey", marker="o", markerfacecolor="white", linestyle="", label="the plan takes the whole"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(file)


def _shown(console: Console, cells: Sequence[Cell]) -> None:
    table = Table("groups", "change", "spread", "s of all", "s in part", "ratio", "s as planned", "the plan took")
    for cell in cells:
        part = "" if cell.partly is None else f"{cell.partly:.2f}"
        ratio = "no part" if cell.ratio is None else f"{cell.ratio:.2f}"
        took = f"{cell.chosen}{', the slower way' if cell.is_slower_way else ''}"
        spread = f"{cell.percent:g} %", cell.spread, f"{cell.full:.2f}"
        table.add_row(f"{cell.groups:,}", *spread, part, ratio, f"{cell.usual:.2f}", took)
    console.print(table)
    slower = sum(cell.is_slower_way for cell in cells)
    console.print(f"the plan chose the slower way in {slower} of {len(cells)} cells (Enzyme: 12.5 %)")


@click.command()
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--groups", default="100,1000,10000,100000,1000000", show_default=True)
@click.option("--changes", default="0.01,0.1,1,10", show_default=True, help="Percent.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="A picture, as .svg or .png.")
@click.option("--memory", default="3g", show_default=True)
def main(rows: int, groups: str, changes: str, plot: Path | None, memory: str) -> None:
    """Measure; print a table, and draw it."""
    cells: list[Cell] = []
    percents = [float(each) for each in changes.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        spark = local_session("updating", master="local[2]", driver_memory=memory, log=Path(scratch) / "spark.log")
        try:
            for each in map(int, groups.split(",")):
                with tempfile.TemporaryDirectory(dir=scratch) as folder:
                    session = spark.newSession()  # names of results are the session's
                    session.conf.set("spark.sql.shuffle.partitions", "4")
                    lineage = ForwardLineage(session, Path(folder) / "home")
                    measured = Measured(lineage, Path(folder), rows, each)
                    measured.cell(percents[0], "scattered")  # to warm up
                    for percent, spread in itertools.product(percents, SPREADS):
                        cells.append(measured.cell(percent, spread))
                        print(cells[-1], flush=True)
        finally:
            spark.stop()
    _shown(Console(width=140), cells)
    if plot is not None:
        draw(cells, f"Making touched groups again, of {rows:,} rows", plot)


if __name__ == "__main__":
    main()
