"""The paper's Table IX: 136 operations, which signatures reuse them, and that nothing wrong is reused."""

from __future__ import annotations

import numpy as np
import pytest

from forward_lineage.arrays import Memory
from tests.forward_lineage.arrays.table_ix import BY_ROWS, BY_VALUES, COMPLEX, ELEMENT, OPERATIONS, SHAPES, SIZES
from tests.forward_lineage.arrays.test_registered import registered
from tests.forward_lineage.arrays.test_tracked import OURS, PUBLISHED
from tests.tiers import every_day

_SIZES = [(4, 3), (5, 7), (7, 4), (6, 9), (8, 6), (9, 8), (10, 5)]
_EVERY_DAY = ("multi_dot", "rot90", "block", "ravel", "unique")


def test_the_table_is_the_papers() -> None:
    assert set(OPERATIONS) == {*PUBLISHED, *OURS}
    assert len(ELEMENT) + len(COMPLEX) == 136
    assert COMPLEX.keys() > BY_VALUES | BY_ROWS and not BY_VALUES & BY_ROWS
    # The paper's: 126 and 99, with one mistake.
    assert len(SHAPES) == 130 and len(SIZES) == 125


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # arccosh below 1
@pytest.mark.parametrize("name", every_day(sorted(OPERATIONS), _EVERY_DAY))
def test_signatures(name: str) -> None:
    operation, shapes = OPERATIONS[name]
    memory, rng = Memory(), np.random.default_rng(1)
    draw = lambda shape: rng.uniform(0.1, 0.9, shape)  # noqa: E731
    first = [registered(memory, name, operation, [draw(each) for each in shapes(*size)]) for size in _SIZES]
    again = [registered(memory, name, operation, [draw(each) for each in shapes(*_SIZES[0])]) for _ in range(3)]
    assert ("reused by gen_sig" in first) == (name in SIZES), first
    assert (again[-1] == "reused by dim_sig") == (name in SHAPES), again
    assert memory.wrong == 0
