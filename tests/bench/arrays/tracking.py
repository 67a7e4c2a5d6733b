"""What tracking costs: numpy over tracked arrays against plain ones; and what questions about the results take.

``python -m tests.bench.arrays.tracking`` takes half a minute. Plain and tracked runs take turns; the best counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from forward_lineage.arrays import backward, forward, track
from forward_lineage.arrays.graph import SOURCE, behind
from forward_lineage.relations import segment
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.segment import Segment

RUNS = 7


def convolution(image: Any, kernel: Any) -> Any:
    """3 × 3, over channels, rows and columns, padded by zeros."""
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.einsum("chwij,ocij->ohw", windows, kernel)


def resnet_block(image: Any, first: Any, second: Any) -> Any:
    """Convolution, scaling, ReLU, twice, and the image added, as in inference with known means."""
    y = np.maximum(convolution(image, first) * 0.7 + 0.1, 0)
    return np.maximum(convolution(y, second) * 0.7 + 0.1 + image, 0)


def image_pipeline(image: Any) -> Any:
    """Halve, brighten, rotate, flip."""
    halved = image.reshape(image.shape[0] // 2, 2, image.shape[1] // 2, 2).mean(axis=(1, 3))
    return np.fliplr(np.rot90(np.clip(halved * 1.2, 0, 255)))


def table_pipeline(table: Any) -> Any:
    """Sort, standardise, filter, append."""
    ordered = np.sort(table, axis=0)
    scaled = (ordered - ordered.mean(axis=0)) / ordered.std(axis=0)
    kept = scaled[scaled[:, 0] > 0]
    return np.concatenate([kept, kept[:100]])


def cases() -> dict[str, tuple[Callable[..., Any], list[np.ndarray]]]:
    rng = np.random.default_rng(0)
    square, kernel = rng.normal(size=(1000, 1000)), rng.normal(size=(16, 16, 3, 3))
    return {
        "add": (lambda a: a + 1, [square]),
        "sum": (lambda a: a.sum(axis=0), [square]),
        "matmul": (lambda a, b: a @ b, [square, square]),
        "transposed copy": (lambda a: a.T.copy(), [square]),
        "where": (lambda a: np.where(a > 0, a, 0), [square]),
        "mask": (lambda a: a[a > 0], [square]),
        "sort": (lambda a: np.sort(a, axis=0), [square]),
        "image pipeline": (image_pipeline, [rng.uniform(0, 255, (832, 832))]),
        "table pipeline": (table_pipeline, [rng.normal(size=(100_000, 10))]),
        "ResNet-like block": (resnet_block, [rng.normal(size=(16, 56, 56)), kernel, kernel]),
    }


class Took(NamedTuple):
    """Milliseconds of the fastest run, and of the processor, which does not count what else the machine does."""

    clock: float
    processor: float


def best(*calls: Callable[[], Any]) -> list[Took]:
    """What each call takes; they take turns."""
    found = [Took(float("inf"), float("inf"))] * len(calls)
    for _ in range(RUNS):
        for place, call in enumerate(calls):
            began, own = time.perf_counter(), time.process_time()
            call()
            took = time.perf_counter() - began, time.process_time() - own
            found[place] = Took(*(min(a, 1000 * b) for a, b in zip(found[place], took, strict=True)))
    return found


def stored(result: Any) -> int:
    """Bytes of all relations behind an array, as segments; nothing is listed for it."""
    nodes = [each for each in behind(result.node, control=True) if each.operation != SOURCE]
    steps = {id(step): step for node in nodes for edge in node.edges for step in edge.steps}
    return sum(map(_bytes, steps.values()))


def _bytes(step: Any) -> int:
    form = "gather" if isinstance(step, GatherRelation) else "boxes" if isinstance(step, BoxRelation) else "auto"
    return len(segment.encode(Segment(0, step.last_row() + 1, step), form))


def main() -> None:
    print(
        f"{'milliseconds on the clock (of the processor)':46} {'plain':>17} {'tracked':>17} {'ratio':>12}"
        f" {'backward':>14} {'forward':>14} {'bytes':>10}"
    )
    for name, (operation, values) in cases().items():
        arrays = [track(each, f"x{place}") for place, each in enumerate(values)]
        plain, tracked = best(lambda: operation(*values), lambda: operation(*arrays))  # noqa: B023
        result = operation(*arrays)
        cell, source = tuple(size // 2 for size in result.shape), tuple(size // 2 for size in values[0].shape)
        down, up = best(lambda: backward(result, cell), lambda: forward(arrays[0], source, result))  # noqa: B023
        ratio = Took(tracked.clock / plain.clock, tracked.processor / plain.processor)
        print(
            f"{name:46} {_written(plain):>17} {_written(tracked):>17} {_written(ratio):>12}"
            f" {_written(down):>14} {_written(up):>14} {stored(result):10,}"
        )


def _written(took: Took) -> str:
    return f"{took.clock:.2f} ({took.processor:.2f})"


if __name__ == "__main__":
    main()
