"""What the report says, computed from the records: ratios, means, bars met or missed. No Spark, no files."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.experiments import EXPERIMENTS
from tests.bench.harness import geometric_mean

Record = dict[str, Any]
"""What was measured at one scale; `evidence.Recorder` writes it."""

REVERSE = ("reverse-one", "reverse-all")

AT_MOST = {"aspj": 1.30, "spj": 1.10, "walmart": 1.10}
"""What `auto` may cost over the original, on each query of an experiment."""


def measured(record: Record, key: str) -> list[Record]:
    """The queries of an experiment that were measured."""
    return list(record["experiments"].get(key, ()))


def variant(query: Record, name: str) -> Record | None:
    """What was measured of one variant of a query; None when it was not asked for."""
    return next((each for each in query["variants"] if each["name"] == name), None)


def names(queries: Sequence[Record]) -> list[str]:
    """The variants that were measured for any of the queries, in the order of the first that has most."""
    longest = max(queries, key=lambda query: len(query["variants"]), default={"variants": []})
    return [each["name"] for each in longest["variants"]]


def ratio(query: Record, name: str) -> float | None:
    """Time with lineage in hand over the time of the original.

    A reverse query comes after the original, so its ratio is that of both together; the other variants are one query.
    """
    found = variant(query, name)
    if found is None or found["ratio"] is None:
        return None
    return float(found["ratio"]) + (1 if name in REVERSE else 0)


def ratios(queries: Sequence[Record], name: str) -> dict[str, float]:
    """The ratios of a variant by query, where it has one."""
    found = {query["query"]: ratio(query, name) for query in queries}
    return {query: each for query, each in found.items() if each is not None}


@dataclass(frozen=True)
class Trend:
    """How a variant's ratios move with the scale.

    Attributes:
        queries: those measured at every scale; of other queries the means could not be compared.
        means: (scale, geometric mean over `queries`), at the scales where the experiment was measured.

    """

    queries: list[str]
    means: list[tuple[float, float]]


def trend(records: Sequence[Record], key: str, name: str) -> Trend:
    """Compare an experiment's records, leaving out those without any ratio of the variant."""
    found = [(float(record["scale"]), ratios(measured(record, key), name)) for record in records]
    known = [(scale, each) for scale, each in found if each]
    shared = [query for query in known[0][1] if all(query in each for _, each in known)] if known else []
    means = [(scale, geometric_mean([each[query] for query in shared])) for scale, each in known]
    return Trend(shared, [(scale, mean) for scale, mean in means if mean is not None])


def peak_ratio(query: Record, name: str) -> float | None:
    """The heap's peak over that of the original: medians of the runs."""
    found, original = variant(query, name), query["variants"][0]
    if found is None or not found["peak_bytes"] or not original["peak_bytes"]:
        return None
    return statistics.median(found["peak_bytes"]) / statistics.median(original["peak_bytes"])


def noise(query: Record) -> float | None:
    """The slowest run of a variant over its fastest, of the variant where that is most: what a ratio is worth."""
    runs = [each["run_seconds"] for each in query["variants"] if each["run_seconds"]]
    return max((max(each) / min(each) for each in runs), default=None)


@dataclass(frozen=True)
class Bar:
    """Something that must hold.

    Attributes:
        what: in words.
        found: in words; empty when it was not measured.
        met: whether it holds; None when not all of it was measured.

    """

    what: str
    found: str
    met: bool | None


def bars(record: Record) -> list[Bar]:
    """Compare a record with what is promised of it."""
    aspj, spj, walmart = (measured(record, key) for key in ("aspj", "spj", "walmart"))
    everything = [(query["query"].upper(), query) for query in (*aspj, *spj)]
    everything += [(f"Walmart {query['query'].upper()}", query) for query in walmart]
    return [
        _mean_at_most("TPC-H Q1–Q22, auto: geometric mean at most 1.05", aspj, "aspj", 1.05),
        _worst_at_most("TPC-H Q1–Q22, auto: worst at most 1.30", aspj, "aspj"),
        _worst_at_most("S1–S8, auto: each at most 1.10", spj, "spj"),
        _worst_at_most("Walmart Q1–Q8, auto: each at most 1.10 (the paper: under 1.15)", walmart, "walmart"),
        _never_faster(everything),
        _reverse(aspj),
    ]


def _mean_at_most(what: str, queries: list[Record], key: str, bar: float) -> Bar:
    found = ratios(queries, "auto")
    mean = geometric_mean(list(found.values()))
    if mean is None:
        return Bar(what, "", None)
    missing = len(EXPERIMENTS[key].queries) - len(found)
    return Bar(what, f"{mean:.2f}{_without(missing)}", None if missing else mean <= bar)


def _worst_at_most(what: str, queries: list[Record], key: str) -> Bar:
    bar = AT_MOST[key]
    found = ratios(queries, "auto")
    if not found:
        return Bar(what, "", None)
    worst = max(found, key=lambda each: found[each])
    over = [f"{query.upper()} {each:.2f}" for query, each in found.items() if each > bar]
    missing = len(EXPERIMENTS[key].queries) - len(found)
    words = "over it: " + ", ".join(over) if over else f"{found[worst]:.2f} ({worst.upper()})"
    return Bar(what, words + _without(missing), False if over else None if missing else True)


def _without(missing: int) -> str:
    return f"; {missing} queries not measured" if missing else ""


def _never_faster(queries: list[tuple[str, Record]]) -> Bar:
    what = "collect_set by hand is never faster than auto"
    pairs = [(name, ratio(query, "auto"), ratio(query, "collect_set")) for name, query in queries]
    known = [(name, ours, theirs) for name, ours, theirs in pairs if ours is not None and theirs is not None]
    lost = [f"{name} {ours:.2f} against {theirs:.2f}" for name, ours, theirs in known if theirs < ours]
    if not known:
        return Bar(what, "", None)
    return Bar(what, f"faster on {len(lost)} of {len(known)}" + "".join(f"; {each}" for each in lost), not lost)


def _reverse(queries: list[Record]) -> Bar:
    what = "TPC-H: reverse-all costs at least 19 times the overhead of auto, on average (the paper's advantage)"
    both = [(ratio(query, "auto"), ratio(query, "reverse-all")) for query in queries]
    known = [(ours, theirs) for ours, theirs in both if ours is not None and theirs is not None]
    if not known:
        return Bar(what, "", None)
    ours = sum(each for each, _ in known) / len(known) - 1
    theirs = sum(each for _, each in known) / len(known) - 1
    words = f"mean overhead {ours:+.0%} against {theirs:+.0%}"
    if ours <= 0:
        return Bar(what, f"{words}: ours is not above nothing", True)
    return Bar(what, f"{words}: {theirs / ours:.1f} times", theirs >= 19 * ours)


@dataclass(frozen=True)
class Miss:
    """A query on which `auto` costs more than it may, and what the difference consists of.

    Attributes:
        experiment: its key.
        query: its name.
        ratio: found.
        seconds: of the original.
        more: seconds that lineage takes beside it.
        pairs: (result row, base row) pairs in the lineage; None when they were not counted.
        by_hand: what the same takes with `collect_set`, in seconds beside the original; None when not measured.
        overlap: whether a run with lineage was no slower than one without: then the machine's scatter is that large.

    """

    experiment: str
    query: str
    ratio: float
    seconds: float
    more: float
    pairs: int | None
    by_hand: float | None
    overlap: bool


def misses(record: Record) -> list[Miss]:
    """The queries over their bar, the worst of each experiment first."""
    found = []
    for key, bar in AT_MOST.items():
        over = [query for query in measured(record, key) if (ratio(query, "auto") or 0) > bar]
        found += sorted((_miss(key, query) for query in over), key=lambda miss: -miss.ratio)
    return found


def _miss(key: str, query: Record) -> Miss:
    original, auto = query["variants"][0], variant(query, "auto")
    assert auto is not None
    seconds = float(original["median_seconds"])
    by_hand = ratio(query, "collect_set")
    size = query.get("size", {})
    return Miss(
        experiment=key,
        query=query["query"],
        ratio=float(auto["ratio"]),
        seconds=seconds,
        more=float(auto["median_seconds"]) - seconds,
        pairs=size.get("ids") if size.get("semantics") == query["semantics"] else None,
        by_hand=None if by_hand is None else (by_hand - 1) * seconds,
        overlap=min(auto["run_seconds"]) <= max(original["run_seconds"]),
    )
