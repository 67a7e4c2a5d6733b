"""Window frames as relations, beside frames that are counted one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.store.saving.window_frames import FRAME, Frames, FrameWriter, frames_in, read_frames, window_of
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet


@st.composite
def windows(draw: st.DrawFn) -> tuple[Frames, dict[int, set[int]]]:
    """Rows of some partitions, in any order, and which rows are in the frame of each."""
    sizes = draw(st.lists(st.integers(1, 5), max_size=4))
    places = [(number, place) for number, size in enumerate(sizes) for place in range(1, size + 1)]
    rows = draw(st.permutations(places)) if draw(st.booleans()) else places
    at = {each: row for row, each in enumerate(rows)}
    frames, wanted = [], {}
    for row, (partition, place) in enumerate(rows):
        last = draw(st.integers(0, sizes[partition]))
        size = draw(st.integers(0, last))
        frames.append((partition * 7, place, last, size, 0))
        wanted[row] = {at[partition, each] for each in range(last - size + 1, last + 1)}
    return np.array(frames, FRAME), wanted


@given(windows())
def test_frames_lead_to_the_rows_in_them(case: tuple[Frames, dict[int, set[int]]]) -> None:
    frames, wanted = case
    window = window_of(frames)
    own = RunsRelation.from_pairs(range(5, 5 + len(wanted)), [10 * row for row in wanted])
    by_place = window.by_place(own, first_row=5)
    for row, others in wanted.items():
        found = by_place.backward(window.frames.backward(LineageSet([row])))
        assert set(found) == {10 * other for other in others}
    assert window.have_themselves == all(row in others for row, others in wanted.items())
    assert not window.in_order or list(window.place) == list(range(len(wanted)))


def test_partitions_that_look_alike() -> None:
    with pytest.raises(NotTracedError, match="two partitions of a window have the same hash"):
        window_of(np.array([(4, 1, 1, 1, 0), (4, 1, 1, 1, 0)], FRAME))


def test_on_their_way_through_files(tmp_path: Path) -> None:
    frames = np.array([(4, 1, 1, 1, 0), (-9, 2, 7, 0, 3)], FRAME)
    writer = FrameWriter(tmp_path / "frames" / "one")
    writer.add(pa.array([each.tobytes() for each in frames], pa.binary()))
    writer.close()
    FrameWriter(tmp_path / "none").close()
    assert np.array_equal(read_frames([tmp_path / "none", tmp_path / "frames" / "one"]), frames)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="a frame is missing"):
        frames_in(pa.array([b"short"]))


def test_partitions_that_stand_whole_stay_where_they_are() -> None:
    whole = [(9, 1, 1, 1, 0), (9, 2, 2, 2, 0), (4, 1, 1, 1, 0)]  # hashes in no order
    assert window_of(np.array(whole, FRAME)).in_order
    assert not window_of(np.array([whole[0], whole[2], whole[1]], FRAME)).in_order


def test_partitions_that_look_alike_and_stand_apart() -> None:
    with pytest.raises(NotTracedError, match="two partitions of a window have the same hash"):
        window_of(np.array([(4, 1, 1, 1, 0), (9, 1, 1, 1, 0), (4, 1, 1, 1, 0)], FRAME))
