"""The paper's Table IX: 136 operations, which signatures reuse them, and that nothing wrong is reused."""

from __future__ import annotations

import pytest

from tests.forward_lineage.arrays.signatures import signatures
from tests.forward_lineage.arrays.table_ix import BY_ROWS, BY_VALUES, COMPLEX, ELEMENT, OPERATIONS, SHAPES, SIZES
from tests.forward_lineage.arrays.test_tracked import OURS, PUBLISHED
from tests.tiers import every_day

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
    said = signatures(name)
    assert said.by_size == (name in SIZES), said
    assert said.by_shape == (name in SHAPES), said
    assert said.wrong == 0
