"""Pictures of the ratios, in the shape of the paper's Figures 4, 5, 6 and 8: readable without the text around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from tests.bench.figures import Record, names, ratio, ratios, trend
from tests.bench.harness import geometric_mean

mpl.use("Agg")  # files only: no display is looked for

# Okabe and Ito's colours, which colour-blind people can tell apart.
COLOURS = {
    "auto": "#0072B2",
    "bdd": "#56B4E9",
    "set": "#009E73",
    "collect_set": "#E69F00",
    "reverse-one": "#CC79A7",
    "reverse-all": "#D55E00",
}
LABELS = {
    "auto": "lineage, auto (smallest)",
    "bdd": "lineage, bdd",
    "set": "lineage, set",
    "collect_set": "collect_set by hand",
    "reverse-one": "reverse query, one row, afterwards",
    "reverse-all": "reverse query, all rows, afterwards",
}
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500)


_PANEL = 11  # queries side by side, at most: more would not be readable on a page


def bars(queries: Sequence[Record], title: str, subtitle: str, file: Path) -> None:
    """Draw a group of bars for each query, a bar for each variant: how much slower than the original."""
    shown = [name for name in names(queries) if name in COLOURS]
    every = [each for name in shown for each in ratios(queries, name).values()]
    panels = [queries[start : start + _PANEL] for start in range(0, len(queries), _PANEL)]
    figure = Figure(figsize=(9 if len(panels[0]) <= 8 else 11, 1.6 + 3 * len(panels)), layout="constrained")
    for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels, strict=True):
        _panel(axes, panel, shown)
        axes.set_xlim(-0.6, len(panels[0]) - 0.4)
        _ratio_axis(axes, every)
    figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=12, fontweight="bold")
    figure.text(0.01, 1 - 0.34 / figure.get_figheight(), subtitle, ha="left", va="top", fontsize=9.5)
    handles = [Patch(color=COLOURS[name], label=f"{LABELS[name]}: {_mean(ratios(queries, name))}") for name in shown]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(3, len(handles)),
        fontsize=9.5,
        frameon=False,
        title="behind each name: the geometric mean over the queries",
        title_fontsize=9.5,
    )
    figure.savefig(file, dpi=130)


def _panel(axes: Axes, queries: Sequence[Record], shown: Sequence[str]) -> None:
    width = 0.84 / max(len(shown), 1)
    for place, name in enumerate(shown):
        at = [group - 0.42 + width * (place + 0.5) for group in range(len(queries))]
        heights = [ratio(query, name) or 1 for query in queries]
        axes.bar(at, [height - 1 for height in heights], width, bottom=1, color=COLOURS[name])
        for query, x in zip(queries, at, strict=True):
            if ratio(query, name) is None:
                axes.text(x, 1, "×", color=COLOURS[name], ha="center", va="bottom", fontsize=9)
    axes.set_xticks(range(len(queries)), [query["query"].upper() for query in queries])
    axes.tick_params(axis="x", length=0)


def scales(records: Sequence[Record], experiments: dict[str, str], name: str, file: Path) -> None:
    """Draw how the geometric mean of a variant's ratios moves with the scale, a line for each experiment."""
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    axes = figure.add_subplot()
    found: list[float] = []
    for (key, title), colour in zip(experiments.items(), ("#0072B2", "#E69F00", "#009E73", "#D55E00"), strict=False):
        line = trend(records, key, name)
        if line.means:
            label = f"{title} ({len(line.queries)} queries)"
            axes.plot(*zip(*line.means, strict=True), marker="o", color=colour, label=label)
            found += [mean for _, mean in line.means]
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([record["scale"] for record in records]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.set_xlabel("scale factor (1: the paper's data)")
    _ratio_axis(axes, found)
    axes.set_title("How the cost of lineage moves with the data", loc="left", fontsize=12, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9.5, frameon=False)
    figure.savefig(file, dpi=130)


def _ratio_axis(axes: Axes, found: Sequence[float]) -> None:
    """A logarithmic axis around 1: half and double are equally far from it."""
    low, high = min([0.9, *found]), max([1.3, *found])
    axes.set_yscale("log")
    axes.set_ylim(low / 1.05, high * 1.12)
    wide = high / low > 8
    ticks = [
        tick
        for tick in _TICKS
        if low / 1.05 <= tick <= high * 1.12 and not (wide and tick in (0.7, 0.8, 0.9, 1.1, 1.2, 1.3))
    ]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_locator(FixedLocator([]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_ylabel("time over the query\nwithout lineage")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axhline(1, color="black", linewidth=1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _mean(found: dict[str, float]) -> str:
    mean = geometric_mean(list(found.values()))
    return "–" if mean is None else f"{mean:.2f}×"
