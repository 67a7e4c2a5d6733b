"""The thesis' four workflows as graphs with costs, ten iterations of edits each. [Macke 2021, §3.6.2, §3.6.3]

Costs are a model, in milliseconds, loading at 100 bytes a millisecond; nothing is measured. Shapes and proportions are
as the thesis describes them: parsing is long and large, models are long and small, reports are neither. Kinds of edits
go by its figures: preprocessing first, then models, then mostly reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
