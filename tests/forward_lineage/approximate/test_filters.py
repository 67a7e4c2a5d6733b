"""Membership filters: no tuple that occurs is missed, whatever is free, and few others are found.   [Macke 2021, §4]"""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.asked_values import Never, asked_value
from forward_lineage.approximate.filters.bitmap import BitmapFilter, bitmap_filter
from forward_lineage.approximate.filters.choosing import FuseOfTuples, TupleFilter, plain_filter, with_learned
from forward_lineage.approximate.filters.files import file_filter
from forward_lineage.approximate.filters.fuse import bits_for, fuse_filter, width_for
from forward_lineage.approximate.filters.hashing import Tuples, hash_of, hashes_of
from forward_lineage.approximate.filters.learned import best_cut, divergence, learned_filter, not_together
from forward_lineage.approximate.filters.storing import as_arrays, from_arrays
from forward_lineage.approximate.filters.tuples import CodedColumns
from forward_lineage.approximate.occurrences import coded
from forward_lineage.approximate.table_columns import Column

ROWS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(-2, 3))] * 3), max_size=30)


def _columns(rows: list[tuple[object, ...]], width: int = 3) -> CodedColumns:
    return coded([pa.array([row[place] for row in rows], pa.int64()) for place in range(width)]).distinct()


def _same_after_storing(kept: TupleFilter) -> TupleFilter:
    arrays, described = as_arrays(kept)
    return from_arrays(arrays, json.loads(json.dumps(described)))


@pytest.mark.slow
@given(ROWS)
def test_every_choice_of_wildcards_is_a_key_and_a_bitmap_has_no_others(rows: list[tuple[int | None, ...]]) -> None:
    columns = _columns(rows)
    exact = _same_after_storing(bitmap_filter(columns))
    fuse = _same_after_storing(FuseOfTuples(fuse_filter(columns.keys(), 7)))
    values = (None, *range(-3, 5))
    expected = {
        asked: any(all(want is None or want == has for want, has in zip(asked, row, strict=True)) for row in rows)
        for asked in product(values, repeat=3)
    }
    tuples = _tuples(list(expected))
    truth = np.array(list(expected.values()))
    assert np.array_equal(exact.occurs(tuples), truth)
    assert fuse.occurs(tuples)[truth].all()
    assert truth.sum() == len(columns.all_tuples()) == columns.keys().size or not rows


def _tuples(asked: list[tuple[object, ...]]) -> Tuples:
    hashes = np.array([[0 if each is None else hash_of(each) for each in row] for row in asked], np.uint64)
    return Tuples(hashes, np.array([[each is not None for each in row] for row in asked]))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1_000, 100_000])
def test_a_fuse_filter_finds_its_keys_and_few_others(count: int) -> None:
    keys = np.unique(np.random.default_rng(count).integers(0, 1 << 63, count, np.uint64))
    others = np.random.default_rng(1).integers(1 << 63, (1 << 64) - 1, 50_000, np.uint64)
    for width in (0, 1, 7, 8):
        found = fuse_filter(keys, width)
        assert found.contains(keys).all()
        assert found.bits == bits_for(keys.size, width)
        rate = 0.0 if not count else 2.0**-width
        assert abs(found.contains(others).mean() - rate) <= 5 * math.sqrt(rate * (1 - rate) / others.size)
    if count == 100_000:
        assert fuse_filter(keys, width_for(0.01)).bits <= 8 * keys.size  # a Bloom filter takes 9.59


def test_the_smaller_one_is_made() -> None:
    chance = np.random.default_rng(3)
    small = CodedColumns(chance.integers(0, 6, (500, 3)), [hashes_of(range(6))] * 3)
    wide = CodedColumns(chance.integers(0, 900, (500, 3)), [hashes_of(range(900))] * 3)
    assert isinstance(plain_filter(small), BitmapFilter)
    assert isinstance(plain_filter(wide), FuseOfTuples)


def test_files_are_a_superset() -> None:
    chance = np.random.default_rng(4)
    codes = chance.integers(-1, 300, (2_000, 2))
    columns, file_of = CodedColumns(codes, [hashes_of(range(300))] * 2), chance.integers(0, 40, 2_000)
    found = file_filter(columns, file_of, 40, 0.01)
    kept = 0
    for place in range(200):
        row = codes[place]
        hashes = np.array([columns.hashes[each][max(code, 0)] for each, code in enumerate(row)])
        may = found.may_have(hashes, row >= 0)
        having = {file for file, other in zip(file_of, codes, strict=True) if (other == row)[row >= 0].all()}
        assert having <= set(np.flatnonzero(may))
        kept += int(may.sum())
    assert kept < 200 * 40 / 8  # it skips something
    assert not found.may_have(hashes_of(["unknown", 1]), np.array([True, False])).all()


def test_a_learned_filter_misses_nothing_and_is_taken_only_if_it_wins() -> None:
    pytest.importorskip("sklearn")
    chance = np.random.default_rng(5)
    kind = chance.integers(0, 8, 400)
    codes = np.stack([kind * 4 + chance.integers(0, 4, 400) for _ in range(3)], axis=1)
    columns = CodedColumns(codes, [hashes_of(range(32))] * 3).distinct()
    there = columns.all_tuples()
    learned = learned_filter(columns, there, 0.05)
    assert learned.occurs(there).all()
    stored = _same_after_storing(learned)
    others = not_together(columns, there, 5_000, seed=9)
    assert np.array_equal(learned.occurs(others), stored.occurs(others))
    assert learned.occurs(others).mean() < 0.1
    assert learned.classifier.scores(there).dtype == np.int64  # whole numbers: no machine disagrees
    chosen, compared = with_learned(columns)
    assert compared is not None
    assert isinstance(chosen, type(plain_filter(columns))) is not compared.won
    every = CodedColumns(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [hashes_of(range(2))] * 2)
    assert with_learned(every)[1] is None


def test_theorem_4_1_cuts_where_a_prefilter_pays_most() -> None:
    """With filters of parts of bits the fewest bits are where KL(T ‖ F) is greatest."""
    chance = np.random.default_rng(6)
    there, others = np.sort(chance.normal(2, 1, 20_000)), np.sort(chance.normal(0, 1, 20_000))
    levels = np.linspace(-1, 4, 101)
    true = 1 - np.searchsorted(there, levels) / there.size
    false = 1 - np.searchsorted(others, levels) / others.size
    rate = 1e-4

    def bits(t: float, f: float) -> float:
        """Mitzenmacher 2018: the backup filter has the rate F(1 − T) / ((1 − F) T), the prefilter the rest."""
        behind = f * (1 - t) / ((1 - f) * t)
        before = rate / (f + (1 - f) * behind)
        return -math.log(before) - (1 - t) * math.log(behind)

    usable = [place for place in range(101) if 0 < false[place] < true[place] < 1]
    assert min(usable, key=lambda each: bits(true[each], false[each])) == max(
        usable, key=lambda each: divergence(true[each], false[each])
    )
    cut = best_cut((1_000 * there).astype(np.int64), (1_000 * others).astype(np.int64), 0.01)
    assert cut.bits < bits_for(20_000, 7)


@pytest.mark.parametrize(
    ("value", "kind", "width", "found"),
    [
        ("AB", T.StringType(), 4, "AB  "),
        ("AB", T.StringType(), 0, "AB"),
        (np.int32(5), T.LongType(), 0, 5),
        (1 << 70, T.LongType(), 0, Never),
        (3, T.DoubleType(), 0, 3.0),
        ((1 << 60) + 1, T.DoubleType(), 0, Never),
        (Decimal("1.50"), T.DecimalType(3, 1), 0, Decimal("1.5")),
        (Decimal("1.55"), T.DecimalType(3, 1), 0, Never),
        (1_000, T.DecimalType(3, 1), 0, Never),
        (Decimal(0), T.DecimalType(3, 3), 0, Decimal(0)),
        (Decimal("NaN"), T.DecimalType(3, 1), 0, Never),
        (date(2020, 2, 29), T.DateType(), 0, date(2020, 2, 29)),
    ],
)
def test_values_as_their_columns_have_them(value: object, kind: T.DataType, width: int, found: object) -> None:
    asked = asked_value(value, Column("c", kind, width))
    assert isinstance(asked, Never) if found is Never else asked == found


def test_values_that_sql_takes_for_the_same_have_the_same_hash() -> None:
    assert hash_of(Decimal("1.50")) == hash_of(Decimal("1.5"))
    assert hash_of(Decimal("100")) == hash_of(Decimal("1E+2"))
    assert hash_of(math.nan) == hash_of(-math.nan)
    assert len({hash_of(each) for each in (1, 1.0, True, "1", Decimal(1), date(1970, 1, 2))}) == 6
    twice = coded([pa.array([0.0, -0.0, math.nan, None])])
    assert twice.codes[0] == twice.codes[1]
    assert twice.codes[3] == -1
