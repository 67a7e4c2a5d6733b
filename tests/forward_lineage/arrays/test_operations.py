"""Every operation against brute force: what it is made of, and that the values are numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from forward_lineage.arrays import TrackedArray, track
from tests.forward_lineage.arrays import brute
from tests.forward_lineage.arrays.arguments import ARGUMENTS
from tests.forward_lineage.arrays.cases import CASES, Case
from tests.forward_lineage.arrays.lengths import LENGTHS
from tests.tiers import every_day


@pytest.mark.parametrize("case", every_day(CASES, lambda case: not case.twin), ids=str)
def test_capture(case: Case) -> None:
    plain = case.inputs()
    before = brute.run(case.run, plain)
    assert before is not None
    tracked = {name: track(array, name) for name, array in plain.items()}
    sources = {name: array.node for name, array in tracked.items()}
    result = case.run(**tracked)
    for old, new in zip(before, brute.listed(result), strict=True):
        values = new.values if isinstance(new, TrackedArray) else np.asarray(new)
        assert values.dtype == old.dtype and values.shape == old.shape
        assert not brute.differs(old, values).any()
    for name, array in plain.items():
        _compare(case, name, array, result, sources[name])


def _compare(case: Case, name: str, array: np.ndarray, result: object, source: object) -> None:
    handle = track(array, name)
    handle.buffer.state = source  # the state in which it went in
    data = list(brute.relations(result, {name: handle}, name, control=False))
    control = list(brute.relations(result, {name: handle}, name, control=True))
    near = brute.changed(case.run, case.inputs(), name, brute.a_little if name not in case.choices else brute.nothing)
    wide = brute.changed(case.run, case.inputs(), name, brute.finite if case.finite else brute.far)
    for number, (d, c, small, large) in enumerate(zip(data, control, near, wide, strict=True)):
        where = f"output {number}, input {name}"
        assert not (d & ~c).any(), where
        assert not (small & ~d).any(), f"{where}: data lacks {np.argwhere(small & ~d).tolist()}"
        assert not ((large | small) & ~c).any(), f"{where}: control lacks {np.argwhere(large & ~c).tolist()}"
        if not case.flat and array.dtype.kind == "f":
            assert not (d & ~small).any(), f"{where}: data has {np.argwhere(d & ~small).tolist()} too many"
        if not case.still:
            assert not (c & ~large).any(), f"{where}: control has {np.argwhere(c & ~large).tolist()} too many"


@pytest.mark.parametrize("case", [*ARGUMENTS, *LENGTHS], ids=str)
def test_arguments(case: Case) -> None:
    test_capture(case)
