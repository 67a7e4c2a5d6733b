"""Random columns of few values, many of them NULL, in all the ways in which Arrow may hand them over."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import strategies as st

from forward_lineage.profiling.codes import Codes, encoded

VALUES = st.lists(st.sampled_from([None, 0, 1, 2, 3]), max_size=14)


@st.composite
def relations(draw: st.DrawFn, columns: int) -> list[list[int | None]]:
    """Columns of one length."""
    rows = draw(st.integers(0, 14))
    value = st.sampled_from([None, 0, 1, 2])
    return [draw(st.lists(value, min_size=rows, max_size=rows)) for _ in range(columns)]


def codes_of(values: Sequence[int | None]) -> Codes:
    return encoded(pa.chunked_array([pa.array(values, pa.int64())]))
