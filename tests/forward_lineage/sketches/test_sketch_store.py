"""Sketches on disk."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from forward_lineage.columns.ranges import Partition
from forward_lineage.sketches.sketch_store import ROOM, Capture, KeptSketches, _bounds_of, _text_of

PARTITION = Partition("t", "k", pa.array([10, 20, 30, 40], pa.int64()))
CAPTURED = Capture(
    template="abc",
    sql="SELECT count(*) FROM t WHERE k > :least",
    args={"least": 3},
    settings=("spark.sql.ansi.enabled=true",),
    states=(("t", "0123"),),
    sketches=(PARTITION.sketch([0, 2, 3]),),
    milliseconds=12,
    size=100,
    kept_size=25,
)


def test_what_is_kept_is_read_by_another_session(tmp_path: Path) -> None:
    kept = KeptSketches(tmp_path).put(CAPTURED)
    (found,) = KeptSketches(tmp_path).of("abc")
    assert found == kept
    assert replace(found, name="") == CAPTURED
    assert found.gain == 0.75
    assert [each.bounds for each in (found.sketches[0].partition,)] == [PARTITION.bounds]


def test_bounds_take_few_bytes_and_are_read_as_earlier_releases_wrote_them() -> None:
    bounds, sink = pa.array(range(0, 600_000, 60), pa.int64()), pa.BufferOutputStream()
    batch = pa.record_batch([bounds], ["bound"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    before = base64.b64encode(sink.getvalue()).decode()
    assert 4 * len(_text_of(bounds)) < len(before)
    assert _bounds_of(before) == _bounds_of(_text_of(bounds)) == bounds


def test_what_is_dropped_is_gone_for_all(tmp_path: Path) -> None:
    mine, other = KeptSketches(tmp_path), KeptSketches(tmp_path)
    kept = mine.put(CAPTURED)
    assert other.of("abc") and other.size(kept)
    mine.drop(kept)
    assert not other.of("abc") and not other.size(kept)


def test_damaged_ones_are_passed_over_and_cleared_away(tmp_path: Path) -> None:
    kept = KeptSketches(tmp_path).put(CAPTURED)
    file = tmp_path / ROOM / "abc" / f"{kept.name}.json"
    file.write_bytes(file.read_bytes().replace(b"least", b"LEAST", 1))
    assert KeptSketches(tmp_path).of("abc") == []
    assert not file.exists()


def test_those_of_a_later_release_are_left_alone(tmp_path: Path) -> None:
    kept = KeptSketches(tmp_path).put(CAPTURED)
    file = tmp_path / ROOM / "abc" / f"{kept.name}.json"
    body = file.read_bytes().replace(b'"format": 2', b'"format": 9').split(b',\n "checksum"')[0]
    file.write_bytes(body + b',\n "checksum": %d\n}\n' % zlib.crc32(body))
    assert KeptSketches(tmp_path).of("abc") == []
    assert file.exists()


def test_a_home_that_has_none_is_not_made(tmp_path: Path) -> None:
    kept = KeptSketches(tmp_path / "home")
    assert list(kept.all()) == [] and kept.of("abc") == []
    assert not (tmp_path / "home").exists()
