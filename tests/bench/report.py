"""The report: every figure and table of the paper's experiments with ours beside it, from the JSON records alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forward_lineage import LineageError
from tests.bench import paper, plots
from tests.bench.experiments import EXPERIMENTS, Experiment
from tests.bench.figures import (
    AT_MOST,
    REVERSE,
    Record,
    bars,
    measured,
    misses,
    names,
    noise,
    peak_ratio,
    ratio,
    ratios,
    trend,
)
from tests.bench.harness import geometric_mean

NAME = "report.md"


def write(folder: Path) -> Path:
    """Write the report on all records `sf<scale>.json` of a folder, and its plots beside it.

    Returns:
        the Markdown file.

    Raises:
        LineageError: there is no record.

    """
    records = [json.loads(file.read_text("utf-8")) for file in folder.glob("sf*.json")]
    if not records:
        raise LineageError(f"{folder} has no sf<scale>.json", instead="Measure first: forward-lineage bench.")
    records.sort(key=lambda record: float(record["scale"]))
    report = folder / NAME
    report.write_text("\n".join(_lines(records, folder)) + "\n", encoding="utf-8")
    return report


def _lines(records: Sequence[Record], folder: Path) -> Iterator[str]:
    largest = records[-1]
    judged = next((record for record in records if record["scale"] == 1), largest)
    yield from _head(records)
    yield from _promises(judged)
    yield from _misses(judged)
    for experiment in EXPERIMENTS.values():
        for record in reversed(records):
            yield from _figure(experiment, record, folder)
    if len(records) > 1:
        yield from _scaling(records, folder)
    for record in reversed(records):
        yield from _sizes(record)
    yield from _memory(judged)
    yield from _refusals(records)


def _head(records: Sequence[Record]) -> Iterator[str]:
    last = records[-1]
    queries = [query for record in records for key in EXPERIMENTS for query in measured(record, key)]
    runs = sorted({query["runs"] for query in queries})
    loads = [load for query in queries for load in query["load"]]
    times = f"{_joined(runs)} run{'s' if runs != [1] else ''}"
    yield "# Forward lineage on the paper's experiments"
    yield ""
    yield (
        "Every time is a ratio to the same query without lineage over the same Parquet files, in one Spark session. "
        f"The variants of a query take turns after a warm-up, all columns are computed, medians of {times}. "
        "A reverse query comes after the original, so its ratio is that of both together. "
        "*Spread* is the slowest run of a variant over its fastest, where that is most: smaller differences say little."
    )
    yield ""
    yield (
        f"Spark {last['spark']}, Java {last['java']}, Python {last['python']}, {last['cores']} processor cores; "
        f"load average while measuring {min(loads, default=0):.1f} to {max(loads, default=0):.1f}. Spark alone makes "
        f"it {last['cores']}, its garbage collector and compiler some more; the rest is work of others."
    )


def _promises(record: Record) -> Iterator[str]:
    yield from _title(2, f"What must hold at scale factor 1, found at {record['scale']:g}")
    rows = [
        (bar.what, bar.found or "not measured", {True: "met", False: "**missed**", None: "open"}[bar.met])
        for bar in bars(record)
    ]
    yield from _table(("promise", "found", ""), rows)


def _misses(record: Record) -> Iterator[str]:
    found = misses(record)
    if not found:
        return
    yield from _title(3, "Why a query is over its bar")
    yield (
        "Lineage adds work for each pair of a result row and a base row: the id is carried through joins and shuffles, "
        "united and encoded. A query that reduces a million rows to a few sums in a fraction of a second does less for "
        "a row than that. *Scatter*: a run with lineage was no slower than one without."
    )
    yield ""
    rows = [
        (
            f"{miss.experiment} {miss.query.upper()}",
            f"{miss.ratio:.2f} ({AT_MOST[miss.experiment]:.2f})",
            _number(miss.seconds),
            _number(miss.more),
            "–" if miss.pairs is None else f"{miss.pairs:,}",
            _microseconds(miss.more, miss.pairs),
            _microseconds(miss.by_hand, miss.pairs),
            "scatter" if miss.overlap else "",
        )
        for miss in found
    ]
    columns = ("query", "auto (bar)", "original, s", "lineage, s", "pairs", "µs a pair", "collect_set: µs a pair", "")
    yield from _table(columns, rows)


def _figure(experiment: Experiment, record: Record, folder: Path) -> Iterator[str]:
    queries = measured(record, experiment.key)
    if not queries:
        return
    scale = f"{record['scale']:g}"
    title = f"{experiment.title[0].upper()}{experiment.title[1:]}"
    yield from _title(2, f"{title}, scale factor {scale} (the paper's {experiment.figure})")
    file = folder / f"{experiment.key}-sf{scale}.png"
    semantics = _joined({query["semantics"] for query in queries})
    plots.bars(queries, title, f"scale factor {scale}, {semantics} lineage; × marks what could not be run", file)
    yield f"![{title}]({file.name})"
    yield ""
    shown = names(queries)[1:]
    rows = [
        (
            query["query"].upper(),
            _seconds(query),
            _number(noise(query)),
            *(_number(ratio(query, name)) for name in shown),
        )
        for query in queries
    ]
    means = [geometric_mean(list(ratios(queries, name).values())) for name in shown]
    worst = [max(ratios(queries, name).values(), default=None) for name in shown]
    rows.append(("geometric mean", "", "", *(_number(mean) for mean in means)))
    rows.append(("worst", "", "", *(_number(each) for each in worst)))
    yield from _table(("query", "original, s", "spread", *(_variant(name) for name in shown)), rows)
    yield ""
    yield f"The paper [{experiment.figure}]: {paper.FIGURES[experiment.key]}"


def _scaling(records: Sequence[Record], folder: Path) -> Iterator[str]:
    titles = {key: each.title[0].upper() + each.title[1:] for key, each in EXPERIMENTS.items()}
    yield from _title(2, "How the ratio moves with the data")
    plots.scales(records, titles, "auto", folder / "scales.png")
    yield "![auto over the scale factors](scales.png)"
    yield ""
    rows = []
    for key, title in titles.items():
        line = trend(records, key, "auto")
        means = dict(line.means)
        rows.append((title, str(len(line.queries)), *(_number(means.get(float(each["scale"]))) for each in records)))
    scales = (f"scale {record['scale']:g}" for record in records)
    yield from _table(("geometric mean of auto", "queries measured at every scale", *scales), rows)


def _sizes(record: Record) -> Iterator[str]:
    tables = (
        ("aspj", "Table 7", {name: row[:2] + row[3:] for name, row in paper.TABLE_7.items()}),
        ("spj", "", {}),
        ("granularity", "Table 8", {name: (*row[:2], None) for name, row in paper.TABLE_8.items()}),
        ("walmart", "Table 9", {name: (*row[:2], None) for name, row in paper.TABLE_9.items()}),
    )
    for key, place, theirs in tables:
        queries = [query for query in measured(record, key) if query.get("size")]
        if not queries:
            continue
        of = f" (the paper's {place}, at its size)" if place else ""
        yield from _title(2, f"Size of lineage: {EXPERIMENTS[key].title}, scale factor {record['scale']:g}{of}")
        yield (
            "Base rows over all tables. Replication: in how many result rows a base row appears (the paper counts "
            "shared bits of ids instead). Clustered: ids with a neighbour less than 3 away, in percent; ids are row "
            "positions. Bytes: 4 an id, as the paper counts; the values in `DL`; what the store writes."
        )
        yield ""
        rows = [
            (query["query"].upper(), *_size(query["size"]), *_beside(theirs.get(query["query"]))) for query in queries
        ]
        columns = (
            "query",
            "lineage",
            "rows",
            "ids a row",
            "replication",
            "clustered %",
            "4 B an id",
            "in DL",
            "stored",
        )
        yield from _table(
            (*columns, *(("paper: rows", "ids a row", "clustered %") if theirs else ())), _trimmed(rows, theirs)
        )


def _size(size: dict[str, Any]) -> tuple[str, ...]:
    if "refused" in size:
        return (size["semantics"], "refused", *[""] * 6)
    return (
        size["semantics"],
        f"{size['rows']:,}",
        f"{size['average']:,.1f}",
        f"{size['replication']:,.1f}",
        f"{size['clustering']:.1f}",
        *(_bytes(size[name]) for name in ("int32", "values", "stored")),
    )


def _beside(theirs: Sequence[Any] | None) -> tuple[str, ...]:
    return ("",) * 3 if theirs is None else tuple("" if each is None else f"{each:,}" for each in theirs)


def _trimmed(rows: Sequence[tuple[str, ...]], theirs: object) -> list[tuple[str, ...]]:
    return [row if theirs else row[:-3] for row in rows]


def _memory(record: Record) -> Iterator[str]:
    everything = [(key, query) for key in EXPERIMENTS for query in measured(record, key)]
    shown = [name for name in names([query for _, query in everything])[1:] if name not in REVERSE]
    if not shown:
        return
    yield from _title(2, f"Memory, scale factor {record['scale']:g}")
    yield (
        "The fullest the heap of the one JVM was during a run, over the same for the original; garbage counts, so this "
        "is an upper bound, and as much a measure of what was thrown away. Geometric mean, and the worst query."
    )
    yield ""
    rows = []
    for key, experiment in EXPERIMENTS.items():
        cells = [_peaks([query for k, query in everything if k == key], name) for name in shown]
        if any(cells):
            rows.append((experiment.title, *cells))
    yield from _table(("", *(_variant(name) for name in shown)), rows)


def _peaks(queries: Sequence[Record], name: str) -> str:
    found = {query["query"]: peak_ratio(query, name) for query in queries}
    known = {query: each for query, each in found.items() if each is not None}
    if not known:
        return ""
    worst = max(known, key=lambda query: known[query])
    return f"{geometric_mean(list(known.values())):.2f}; {worst.upper()} {known[worst]:.2f}"


def _refusals(records: Iterable[Record]) -> Iterator[str]:
    lines = [
        f"- scale factor {record['scale']:g}, {query['query'].upper()}, {each['name']}: {each['refused']}"
        for record in records
        for key in EXPERIMENTS
        for query in measured(record, key)
        for each in query["variants"]
        if each["refused"]
    ]
    if lines:
        yield from _title(2, "Not run")
        yield from lines


def _title(level: int, text: str) -> Iterator[str]:
    yield from ("", f"{'#' * level} {text}", "")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join(['---'] + ['---:'] * (len(columns) - 1))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _variant(name: str) -> str:
    return f"original + {name}" if name in REVERSE else name


def _seconds(query: Record) -> str:
    return _number(query["variants"][0]["median_seconds"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _microseconds(seconds: float | None, count: int | None) -> str:
    return "–" if seconds is None or not count else _number(1e6 * seconds / count)


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("KB", 1_000)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"


def _joined(values: Iterable[object]) -> str:
    return " or ".join(str(value) for value in sorted(set(values), key=str))
