"""Segments on disk: every relation comes back, every damage is found and named."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import provrc
from forward_lineage.relations import segment as segments
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.box_rows import Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.columns import Reader, Writer
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import CorruptSegmentError, Form, Segment
from tests.forward_lineage.relations.forms import FORMS, MOST, Pairs, as_set, columns, numbers, pair_sets
from udafs.errors import InternalError, LineageError, NotTracedError
from udafs.lineage_set import LineageSet

WRITTEN: tuple[Form, ...] = ("auto", "bdd", "runs")


ROWS = MOST - 7  # of a segment that begins at row 7


def without_the_last_row(pairs: Pairs) -> Pairs:
    return {(row, row_id) for row, row_id in pairs if row < ROWS}


@given(st.lists(st.lists(st.integers(0, 62).flatmap(lambda bits: st.integers(0, (1 << bits) - 1)))))
def test_columns(columns: list[list[int]]) -> None:
    writer = Writer()
    for column in columns:
        writer.number(len(column))
        writer.column(np.array(column, np.int64))
    reader = Reader(writer.bytes())
    for column in columns:
        assert reader.number() == len(column)
        assert reader.column(len(column)).tolist() == column
    reader.end()


@given(st.binary(max_size=60), st.integers(0, 1000))
def test_columns_of_any_bytes(data: bytes, size: int) -> None:
    with contextlib.suppress(ValueError, OSError, LineageError):
        assert Reader(data).column(size).size == size


def test_a_small_column_has_one_byte_more_than_numbers() -> None:
    for column, size in (([], 0), ([0] * 50, 1), ([1, 2, 3], 4), ([300, 1], 4)):
        writer = Writer()
        writer.column(np.array(column, np.int64))
        assert len(writer.bytes()) == size


def test_an_announced_length_is_not_believed() -> None:
    with pytest.raises(ValueError, match="1099511627776 numbers"):
        Reader(b"\0").column(1 << 40)  # planes of width 0: zeros, which take no bytes


def test_more_numbers_than_a_segment_holds() -> None:
    with pytest.raises(NotTracedError, match=r"a column of 134217729 numbers, .*\. Some row was made of too many"):
        Writer().column(np.broadcast_to(np.int64(0), (1 << 27) + 1))


@pytest.mark.parametrize("form", WRITTEN)
@settings(max_examples=30)
@given(pairs=pair_sets().map(without_the_last_row), source=st.sampled_from(sorted(FORMS)))
def test_bytes_and_back(form: Form, pairs: Pairs, source: str) -> None:
    data = segments.encode(Segment(7, ROWS, FORMS[source](pairs)), form)
    back = segments.decode(data)
    assert (back.first_row, back.rows) == (7, ROWS)
    assert as_set(back.relation) == pairs
    assert form == "auto" or isinstance(back.relation, {"bdd": BddRelation, "runs": RunsRelation}[form])
    if form != "auto" or source != "boxes":
        # Canonical: the form a relation happened to be in leaves no trace; only boxes stay boxes.
        assert data == segments.encode(Segment(7, ROWS, FORMS["runs"](pairs)), form)
    assert segments.encode(back, form) == data


def test_bits_that_a_bdd_does_not_need_leave_no_trace() -> None:
    large = BddRelation.from_pairs([5, 2**40], [9, 2**50])
    for rows, ids, kept in (([5], [9], {(5, 9)}), ([5], [8], set()), ([2**40], [2**50], {(2**40, 2**50)})):
        small = large.restrict(rows=LineageSet(rows), ids=LineageSet(ids))
        assert segments.encode(Segment(0, MOST, small), "bdd") == segments.encode(
            Segment(0, MOST, BddRelation.from_pairs(*columns(kept))), "bdd"
        )


@settings(max_examples=40)
@given(pair_sets().map(without_the_last_row))
def test_runs_come_back_as_they_were(pairs: Pairs) -> None:
    relation = RunsRelation.from_pairs(*columns(pairs))
    back = segments.decode(segments.encode(Segment(0, MOST, relation), "runs")).relation
    for name in ("row", "set_of_row", "set_starts", "first", "last"):
        assert getattr(back, name).tolist() == getattr(relation, name).tolist()


@settings(max_examples=30)
@given(st.sets(st.tuples(st.integers(0, 30), numbers)), st.sets(st.integers(0, 200)), st.sets(numbers))
def test_questions_in_rows_of_the_result(pairs: Pairs, rows: set[int], ids: set[int]) -> None:
    segment = Segment(100, 31, RunsRelation.from_pairs(*columns(pairs)))
    mine = {(100 + row, row_id) for row, row_id in pairs}
    assert set(segment.backward(LineageSet(rows))) == {row_id for row, row_id in mine if row in rows}
    assert set(segment.forward(LineageSet(ids))) == {row for row, row_id in mine if row_id in ids}


def test_the_smaller_form_is_written() -> None:
    rows, ids = np.divmod(np.arange(1 << 18), 1 << 9)
    disjoint = rows & ids == 0  # every row another set, and a BDD of a node or two for each bit
    patterned = RunsRelation.from_pairs(rows[disjoint], ids[disjoint])
    rng = np.random.default_rng(3)
    scattered = RunsRelation.from_pairs(rng.integers(0, 100, 5000), rng.integers(0, 1 << 30, 5000))
    for relation, form in ((patterned, BddRelation), (scattered, RunsRelation)):
        segment = Segment(0, 1000, relation)
        sizes = {each: len(segments.encode(segment, each)) for each in WRITTEN}
        assert sizes["auto"] == min(sizes.values()) == sizes["bdd" if form is BddRelation else "runs"]
        assert isinstance(segments.decode(segments.encode(segment)).relation, form)


def test_boxes_and_gathers_stay_what_they_are() -> None:
    """Nothing is listed for the default: these have more pairs than memory has bytes. Scattered ones become runs."""
    wide = BoxRelation.rule((10**6, 10**6), (10**6, 10**6), [(Line(0), Line(0)), (0, 10**6 - 1)])
    data = segments.encode(Segment(0, 10**12, wide))
    assert len(data) <= 200 and isinstance(segments.decode(data).relation, BoxRelation)
    moved = GatherRelation.take((1000, 10**6), 0, np.random.default_rng(1).permutation(1000))
    data = segments.encode(Segment(0, 10**9, moved))
    assert len(data) < 3000 and isinstance(segments.decode(data).relation, GatherRelation)
    rng = np.random.default_rng(2)
    scattered = provrc.encode((1000,), (10**6,), rng.integers(0, 1000, 3000), rng.integers(0, 10**6, 3000))
    data = segments.encode(Segment(0, 1000, scattered))
    back = segments.decode(data).relation
    assert isinstance(back, RunsRelation) and back == scattered
    assert len(data) < len(segments.encode(Segment(0, 1000, scattered), "boxes"))


def test_many_pairs() -> None:
    """What a part of them tells is believed: noise gets no BDD, a pattern does, and of a few bytes none is made."""
    rows, ids = np.divmod(np.arange(1 << 20), 1 << 14)
    third = np.bitwise_count(rows ^ ids) % 3 == 0  # three nodes for each bit
    rng = np.random.default_rng(5)
    patterned = RunsRelation.from_pairs(rows[third], ids[third])
    scattered = RunsRelation.from_pairs(rng.integers(0, 100, 100_000), rng.integers(0, 1 << 30, 100_000))
    steady = RunsRelation.from_pairs(np.zeros(100_000, int), 3 * np.arange(100_000))
    for relation, form in ((patterned, BddRelation), (scattered, RunsRelation), (steady, RunsRelation)):
        data = segments.encode(Segment(0, 1 << 10, relation))
        assert isinstance(segments.decode(data).relation, form)
        assert len(data) <= len(segments.encode(Segment(0, 1 << 10, relation), "runs"))


def test_equal_sets_are_stored_once() -> None:
    ids = np.random.default_rng(4).choice(1 << 20, 5000, replace=False)
    one = segments.encode(Segment(0, 1, RunsRelation.from_pairs(np.zeros(5000, int), ids)))
    many = segments.encode(Segment(0, 50, RunsRelation.from_pairs(np.repeat(np.arange(50), 5000), np.tile(ids, 50))))
    assert len(many) < len(one) + 50


def test_a_row_outside() -> None:
    with pytest.raises(InternalError, match="outside the 3 rows"):
        segments.encode(Segment(0, 3, RunsRelation.from_pairs([3], [1])))


# ---------------------------------------------------------------- files


def some_segment() -> Segment:
    rng = np.random.default_rng(1)
    return Segment(40, 64, RunsRelation.from_pairs(rng.integers(0, 64, 500), rng.integers(0, 5000, 500)))


def test_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "sales-0.lineage"
    data, form = segments.write_encoded(path, some_segment())
    assert path.read_bytes() == data and form == "runs"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    back = segments.read(path)
    assert (back.first_row, back.rows, back.relation) == (40, 64, some_segment().relation)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptSegmentError, match=r"sales-0\.lineage cannot be read \(No such file"):
        segments.read(tmp_path / "sales-0.lineage")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "is not a segment of the lineage store, or is cut short"),
        (lambda data: data[:9], "is not a segment of the lineage store, or is cut short"),
        (lambda data: b"PAR1" + data, "is not a segment of the lineage store"),
        (lambda data: data[:-1], "is damaged or cut short: its checksum is wrong"),
        (lambda data: data + b"\0", "is damaged or cut short: its checksum is wrong"),
        (lambda data: data[:5] + b"\x01" + data[6:], "has version 1, form 2, which this version does not know"),
        (lambda data: data[:6] + b"\x07" + data[7:], "has version 2, form 7"),
        (lambda data: data[:40] + bytes([data[40] ^ 4]) + data[41:], "is damaged or cut short: its checksum is wrong"),
    ],
)
def test_damage_names_the_file(tmp_path: Path, damage: object, message: str) -> None:
    path = tmp_path / "sales-0.lineage"
    segments.write_encoded(path, some_segment())
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(CorruptSegmentError, match=rf"sales-0\.lineage {message}.*\. Other results are not affected"):
        segments.read(path)


@pytest.mark.parametrize("form", ["bdd", "runs", "boxes", "gather"])
def test_every_cut_and_every_flipped_byte_is_noticed(form: str) -> None:
    rng = np.random.default_rng(2)
    rows = np.arange(20) if form == "gather" else rng.integers(0, 20, 60)
    relation = RunsRelation.from_pairs(rows, rng.integers(0, 300, rows.size))
    data = segments.encode(Segment(0, 20, relation), form)  # type: ignore[arg-type]
    for at in range(len(data)):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]):
            with pytest.raises(CorruptSegmentError):
                segments.decode(damaged)


@pytest.mark.parametrize("form", ["bdd", "runs", "boxes", "gather"])
def test_damage_under_a_right_checksum_is_a_clean_error_or_a_relation(form: str) -> None:
    rng = random.Random(3)
    of_arrays = {
        "boxes": BoxRelation.rule((6, 4), (6, 9), [(Line(0), Line(0)), (Line(1, 2), Line(1, 2, 1))]),
        "gather": GatherRelation.from_index((4, 6), (4, 6), np.random.default_rng(1).permutation(24)),
    }
    some = Segment(40, 64, of_arrays[form]) if form in of_arrays else some_segment()
    data = segments.encode(some, form)  # type: ignore[arg-type]
    head, body = data[:7], data[11:]
    for _ in range(400):
        mutated = bytearray(body)
        for _ in range(rng.randint(1, 3)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        if rng.random() < 0.3:
            del mutated[rng.randrange(len(mutated)) :]
        checksum = segments.zlib.crc32(bytes(mutated)).to_bytes(4, "little")
        try:
            found = segments.decode(head + checksum + bytes(mutated), "x")
        except CorruptSegmentError as error:
            assert str(error).startswith("x is damaged: ")
        else:
            assert isinstance(found.relation, RunsRelation | BddRelation | BoxRelation | GatherRelation)
            if form in of_arrays:
                found.relation.assert_consistent()
                assert found.relation.last_row() < 64 and found.relation.backward(LineageSet(range(64))) is not None
