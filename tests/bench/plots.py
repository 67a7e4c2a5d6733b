"""Pictures of the ratios, in the shape of the paper's Figures 4, 5, 6 and 8: readable without the text around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from tests.bench.figures import Record, measured, names, ratio, ratios
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
    "auto": "lineage, smallest encoding (auto)",
    "bdd": "lineage, roBDDs (bdd)",
    "set": "lineage, sorted ids (set)",
    "collect_set": "collect_set by hand",
    "reverse-one": "then reverse query, one row",
    "reverse-all": "then reverse query, all rows",
}
_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500)


def bars(queries: Sequence[Record], title: str, file: Path) -> None:
    """Draw a group of bars for each query, a bar for each variant: how much slower than the original."""
    shown = [name for name in names(queries) if name in COLOURS]
    groups = max(len(queries), 1)
    figure = Figure(figsize=(max(7.5, 1.5 + 0.13 * groups * (len(shown) + 1.5)), 4.8), layout="constrained")
    axes = figure.add_subplot()
    width = 0.84 / max(len(shown), 1)
    for place, name in enumerate(shown):
        at = [group - 0.42 + width * (place + 0.5) for group in range(groups)]
        heights = [ratio(query, name) or 1 for query in queries]
        label = f"{LABELS[name]}: {_mean(ratios(queries, name))}"
        axes.bar(at, [height - 1 for height in heights], width, bottom=1, color=COLOURS[name], label=label)
        _refused(axes, queries, name, at)
    axes.set_xticks(range(groups), [query["query"].upper() for query in queries])
    axes.set_xlim(-0.6, groups - 0.4)
    axes.tick_params(axis="x", length=0)
    _ratio_axis(axes, [each for name in shown for each in ratios(queries, name).values()])
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    figure.legend(
        loc="outside lower center",
        ncols=min(3, max(len(shown), 1)),
        fontsize=9,
        frameon=False,
        title="geometric mean over the queries behind each name",
        title_fontsize=9,
    )
    figure.savefig(file, dpi=130)


def scales(records: Sequence[Record], experiments: dict[str, str], name: str, file: Path) -> None:
    """Draw how the geometric mean of a variant's ratios moves with the scale, a line for each experiment."""
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.add_subplot()
    found: list[float] = []
    for (key, title), colour in zip(experiments.items(), ("#0072B2", "#E69F00", "#009E73", "#D55E00"), strict=False):
        means = [(r["scale"], geometric_mean(list(ratios(measured(r, key), name).values()))) for r in records]
        line = [(scale, mean) for scale, mean in means if mean is not None]
        if line:
            axes.plot(*zip(*line, strict=True), marker="o", color=colour, label=title)
            found += [mean for _, mean in line]
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([record["scale"] for record in records]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("scale factor (1: the paper's data)")
    _ratio_axis(axes, found)
    axes.set_title(f"How the cost of {LABELS[name]} moves with the data", loc="left", fontsize=11, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=1, fontsize=9, frameon=False)
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
    axes.set_ylabel("time over the query without lineage")
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axhline(1, color="black", linewidth=1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _refused(axes: Axes, queries: Sequence[Record], name: str, at: Sequence[float]) -> None:
    for query, place in zip(queries, at, strict=True):
        if ratio(query, name) is None:
            axes.text(place, 1, "×", color=COLOURS[name], ha="center", va="bottom", fontsize=9)


def _mean(found: dict[str, float]) -> str:
    mean = geometric_mean(list(found.values()))
    return "–" if mean is None else f"{mean:.2f}×"
