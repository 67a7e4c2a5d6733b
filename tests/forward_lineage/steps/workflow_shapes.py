"""The thesis' four workflows as graphs with costs, ten iterations of edits each. [Macke 2021, §3.6.2, §3.6.3]

Costs are a model, in milliseconds, loading at 100 bytes a millisecond; nothing is measured. Shapes and proportions are
as the thesis describes them: parsing is long and large, models are long and small, reports are neither. Kinds of edits
go by its figures: preprocessing first, then models, then mostly reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.forward_lineage.steps.edit_sequences import Sequence as Edits
from tests.forward_lineage.steps.edit_sequences import Version

# step → parents, cost to compute, cost to load
Shape = Mapping[str, tuple[tuple[str, ...], int, int]]

FEATURES = tuple(f"feature{number}" for number in range(6))
CENSUS: Shape = {
    "rows": ((), 20_000, 8_000),
    **dict.fromkeys(FEATURES, (("rows",), 2000, 1500)),
    "income": (("rows", *FEATURES), 10_000, 9_000),
    "model": (("income",), 30_000, 10),
    "predictions": (("model", "income"), 3_000, 1_000),
    "checked": (("predictions",), 1_000, 1),
}
GENOMICS: Shape = {
    "words": ((), 60_000, 40_000),
    "genes": (("words",), 20_000, 5_000),
    "vectors": (("genes",), 300_000, 3_000),
    "clusters": (("vectors",), 100_000, 1_000),
    "neighbours": (("vectors",), 40_000, 500),
    "report": (("clusters", "neighbours"), 2_000, 10),
}
EXTRACTION: Shape = {
    "parsed": ((), 400_000, 30_000),
    "candidates": (("parsed",), 20_000, 4_000),
    "features": (("candidates", "parsed"), 60_000, 15_000),
    "labels": (("candidates",), 10_000, 2_000),
    "model": (("features", "labels"), 30_000, 100),
    "checked": (("model",), 1_000, 1),
}
MNIST: Shape = {
    "shuffled": ((), 3_000, 60_000),
    "transformed": (("shuffled",), 3_000, 60_000),
    "model": (("transformed",), 40_000, 100),
    "predictions": (("model", "transformed"), 2_000, 1_000),
    "checked": (("predictions",), 500, 1),
}
CHANCE = {"shuffled"}  # another one each time

# What is edited before each iteration; an empty name: nothing is.
WORKFLOWS: dict[str, tuple[Shape, tuple[str, ...]]] = {
    "census": (
        CENSUS,
        ("feature1", "income", "feature3", "model", "checked", "checked", "predictions", "checked", "checked"),
    ),
    "genomics": (
        GENOMICS,
        ("report", "clusters", "report", "neighbours", "report", "vectors", "report", "report", "clusters"),
    ),
    "information extraction": (
        EXTRACTION,
        ("features", "candidates", "features", "labels", "features", "features", "labels", "features", "features"),
    ),
    "MNIST": (
        MNIST,
        ("checked", "model", "checked", "transformed", "checked", "checked", "model", "checked", "checked"),
    ),
}

# What `tests.bench.workflows` measured of them, the median of each step's versions: microseconds to compute and to
# load, and bytes. An array of every other column has no form: `neighbours` is computed whenever it is needed.
MEASURED: dict[str, dict[str, tuple[int, int, int]]] = {
    "census": {
        "rows": (1_927_237, 2_099, 419_879),
        "feature0": (1_259_162, 1_147, 229_459),
        "feature1": (4_135_781, 1_147, 229_517),
        "feature2": (2_366_314, 996, 199_353),
        "feature3": (3_357_501, 1_034, 206_893),
        "feature4": (3_462_446, 1_034, 206_884),
        "feature5": (3_019_618, 995, 199_047),
        "income": (3_672_419, 299_824, 39_040_398),
        "model": (2_849_482, 53, 608),
        "predictions": (2_853, 57, 60_128),
        "checked": (101, 46, 45),
    },
    "genomics": {
        "words": (216_740, 75_361, 2_688_312),
        "genes": (389_552, 282, 916_360),
        "vectors": (4_349_662, 175, 384_128),
        "clusters": (2_011_084, 57, 8_128),
        "neighbours": (627_860, 627_860, 0),
        "report": (135, 49, 45),
    },
    "information extraction": {
        "parsed": (2_931_903, 5_731, 3_455_365),
        "candidates": (675_085, 83, 265_652),
        "features": (277_114, 4_800, 2_333_132),
        "labels": (8_118, 84, 177_144),
        "model": (957_852, 57, 640),
        "checked": (85, 112, 2_010),
    },
}


def measured_edits_of(name: str) -> Edits:
    """Return a workflow's ten iterations with the costs and bytes that were measured."""
    edits, figures = edits_of(name), MEASURED[name]

    def measured(version: Version) -> Version:
        compute, load, size = figures[version.name]
        return replace(version, compute=compute, load=load, size=size)

    return replace(edits, iterations=tuple(tuple(map(measured, each)) for each in edits.iterations))


def edits_of(name: str) -> Edits:
    """Return a workflow's ten iterations."""
    shape, edited = WORKFLOWS[name]
    numbers = dict.fromkeys(shape, 0)
    iterations = []
    for time, each in enumerate(("", *edited)):
        numbers = {step: number + (step == each) for step, number in numbers.items()}
        iterations.append(_iteration(shape, numbers, time))
    return Edits(tuple(iterations), (list(shape)[-1],), budget=10**12)


def _iteration(shape: Shape, numbers: Mapping[str, int], time: int) -> tuple[Version, ...]:
    identities: dict[str, str] = {}
    versions: list[Version] = []
    for name, (parents, compute, load) in shape.items():
        above: Sequence[str] = [identities[parent] for parent in parents]
        by_chance = f"@{time}" if name in CHANCE else ""
        identities[name] = f"{name}.{numbers[name]}{by_chance}({','.join(above)})"
        versions.append(Version(name, identities[name], parents, compute, load, load * 100))
    return tuple(versions)
