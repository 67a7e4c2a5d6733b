"""Node tables: bulk construction, enumeration, structure, and both BDD managers."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.udafs import reference_format
from udafs import robdd_build, robdd_enumerate
from udafs.bdd_manager import BddManager, available_backends, bit_variables
from udafs.errors import LineageError
from udafs.robdd import NodeTable


@st.composite
def code_sets(draw: st.DrawFn, most_bits: int = 64) -> tuple[list[int], int]:
    """Codes and their number of bits: scattered, in runs, in repeated patterns."""
    nbits = draw(st.one_of(st.integers(0, min(9, most_bits)), st.integers(0, most_bits)))
    top = (1 << nbits) - 1
    codes = set(draw(st.lists(st.integers(0, top), max_size=30)))
    for start, length, step in draw(
        st.lists(st.tuples(st.integers(0, top), st.integers(1, 70), st.sampled_from([1, 2, 3, 8])), max_size=4)
    ):
        codes.update(code for code in range(start, start + length * step, step) if code <= top)
    return sorted(codes), nbits


def uint64(codes: list[int]) -> np.ndarray:
    return np.array(codes, np.uint64)


@given(code_sets())
def test_bulk_construction_is_the_canonical_robdd(case: tuple[list[int], int]) -> None:
    codes, nbits = case
    table = robdd_build.from_codes(uint64(codes), nbits)
    table.assert_consistent()
    _, nodes = reference_format.robdd(codes, nbits)
    assert np.diff(table.starts).tolist() == [len(nodes[level]) for level in range(nbits)]
    assert table.count() == len(codes)
    assert robdd_enumerate.codes(table).tolist() == codes
    assert list(robdd_enumerate.one_by_one(table)) == codes
    assert (table.lowest(), table.highest()) == ((codes[0], codes[-1]) if codes else (None, None))


@given(code_sets(most_bits=63).filter(lambda case: bool(case[0]) and case[1] >= robdd_enumerate.WORD_BITS))
def test_codes_as_of_a_large_table(case: tuple[list[int], int]) -> None:
    codes, nbits = case
    with patch.object(robdd_enumerate, "_LARGE", 0):
        assert robdd_enumerate.codes(robdd_build.from_codes(uint64(codes), nbits)).tolist() == codes


@given(st.integers(0, 127), st.data())
def test_count_beyond_what_can_be_listed(nbits: int, data: st.DataObject) -> None:
    """Intervals, whose table has few nodes however many codes it has."""
    ends = sorted(data.draw(st.sets(st.integers(0, 1 << min(nbits, 63)), max_size=8)))
    pairs = list(zip(ends[::2], ends[1::2], strict=False))  # from … until
    first, last = uint64([first for first, _ in pairs]), uint64([until - 1 for _, until in pairs])
    table = robdd_build.from_intervals(first, last, min(nbits, 63)).with_bits(nbits)
    assert table.count() == sum(until - first for first, until in pairs)


@given(code_sets(), st.data())
def test_membership(case: tuple[list[int], int], data: st.DataObject) -> None:
    codes, nbits = case
    table = robdd_build.from_codes(uint64(codes), nbits)
    assert all(code in table for code in codes)
    other = data.draw(st.integers(-1, 1 << nbits))
    assert (other in table) == (other in codes)


@given(code_sets())
def test_intervals_give_the_same_table(case: tuple[list[int], int]) -> None:
    codes, nbits = case
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    table = robdd_build.from_intervals(uint64([run[0] for run in runs]), uint64([run[1] for run in runs]), nbits)
    assert table == robdd_build.from_codes(uint64(codes), nbits)


def test_an_interval_of_everything() -> None:
    table = robdd_build.from_intervals(uint64([0]), uint64([2**63 - 1]), 63)
    assert table == NodeTable.constant(True, 63)
    assert table.count() == 2**63


@st.composite
def relations(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int, int]:
    upper_bits, lower_bits = draw(st.integers(0, 64)), draw(st.integers(0, 64))
    uppers = draw(st.lists(st.integers(0, (1 << upper_bits) - 1), min_size=1, max_size=5))
    lower = st.one_of(st.integers(0, (1 << lower_bits) - 1), st.integers(0, (1 << min(lower_bits, 3)) - 1))
    return sorted(set(draw(st.lists(st.tuples(st.sampled_from(uppers), lower), max_size=40)))), upper_bits, lower_bits


@given(relations())
def test_relations_of_up_to_128_bits(case: tuple[list[tuple[int, int]], int, int]) -> None:
    pairs, upper_bits, lower_bits = case
    upper, lower = uint64([u for u, _ in pairs]), uint64([low for _, low in pairs])
    table = robdd_build.from_pairs(upper, lower, upper_bits, lower_bits)
    table.assert_consistent()
    codes = [u << lower_bits | low for u, low in pairs]
    _, nodes = reference_format.robdd(codes, upper_bits + lower_bits)
    assert np.diff(table.starts).tolist() == [len(nodes[level]) for level in range(upper_bits + lower_bits)]
    assert table.count() == len(pairs)
    found = robdd_enumerate.pairs(table, lower_bits)
    assert [list(side) for side in found] == [upper.tolist(), lower.tolist()]
    for u in {u for u, _ in pairs}:
        cofactor = np.array([table.walk(u << lower_bits, lower_bits)])
        ids = [low for _, part in robdd_enumerate.blocks(table, cofactor, lower_bits) for low in part.tolist()]
        assert ids == [low for other, low in pairs if other == u]
        part = table.part(int(cofactor[0]), lower_bits)
        part.assert_consistent()
        assert robdd_enumerate.codes(part).tolist() == ids


@given(code_sets(most_bits=40), st.integers(0, 24))
def test_more_and_fewer_variables(case: tuple[list[int], int], more: int) -> None:
    codes, nbits = case
    table = robdd_build.from_codes(uint64(codes), nbits)
    wider = table.with_bits(nbits + more)
    wider.assert_consistent()
    assert wider == robdd_build.from_codes(uint64(codes), nbits + more)
    assert wider.with_bits(nbits) == table
    needed = codes[-1].bit_length() if codes else 0
    assert robdd_enumerate.codes(table.with_bits(needed)).tolist() == codes
    if needed:
        with pytest.raises(ValueError, match="bits"):
            table.with_bits(needed - 1)


@given(code_sets(), st.integers(0, 40))
def test_giving_up_beyond_a_number_of_nodes(case: tuple[list[int], int], at_most: int) -> None:
    codes, nbits = case
    nodes = robdd_build.from_codes(uint64(codes), nbits).nodes
    if nodes > at_most:
        with pytest.raises(robdd_build.TooManyNodesError):
            robdd_build.from_codes(uint64(codes), nbits, at_most)
    else:
        assert robdd_build.from_codes(uint64(codes), nbits, at_most).nodes == nodes


def test_the_papers_figure_2() -> None:
    """Figure 2 (b) without the sinks: v3, two nodes of v2, two of v1, one of v0."""
    table = robdd_build.from_codes(uint64([0, 1, 2, 3, 4, 9, 10, 11, 12]), 4)
    _, nodes = reference_format.robdd([0, 1, 2, 3, 4, 9, 10, 11, 12], 4)
    assert np.diff(table.starts).tolist() == [len(nodes[level]) for level in range(4)] == [2, 2, 2, 1]
    assert 4 in table and 5 not in table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lo": [0, 0, 2], "hi": [1, 1, 3]}, "merging rule"),
        ({"hi": [0, 0, 3]}, "elimination rule"),
        ({"hi": [1, 0, 4]}, "below"),
        ({"root": 3}, "root"),
        ({"starts": [0, 2, 2]}, "levels"),
        ({"hi": [1, 0]}, "as many"),
        ({"hi": [1, 0, 1]}, "reachable"),
    ],
)
def test_assert_consistent_sees_what_is_broken(change: dict[str, object], message: str) -> None:
    table = robdd_build.from_codes(uint64([1, 2]), 2)
    assert (table.lo.tolist(), table.hi.tolist(), table.root) == ([0, 1, 2], [1, 0, 3], 4)
    table.assert_consistent()
    broken = {name: value if name == "root" else np.array(value) for name, value in change.items()}
    with pytest.raises(AssertionError, match=message):
        dataclasses.replace(table, **broken).assert_consistent()


def test_random_codes_in_bulk() -> None:
    codes = np.unique(np.random.default_rng(7).integers(0, 1 << 20, 60_000)).astype(np.uint64)
    table = robdd_build.from_codes(codes, 20)
    table.assert_consistent()
    assert np.array_equal(robdd_enumerate.codes(table), codes)


# ---------------------------------------------------------------- the managers


@pytest.fixture(scope="module", params=available_backends())
def manager(request: pytest.FixtureRequest) -> Iterator[BddManager]:
    yield BddManager(bit_variables("x", 24), backend=request.param)


@pytest.mark.parametrize("nbits", [7, 12, 20, 31, 45, 63, 64])
@pytest.mark.parametrize("count", [1, 2, 50, 3000])
def test_scattered_codes_and_some_close_together(nbits: int, count: int) -> None:
    """Codes that are alone in their part of the domain, pairs of neighbours, and dense blocks, in one set."""
    rng = np.random.default_rng([nbits, count])
    scattered = rng.integers(0, 1 << nbits, count, np.uint64)
    dense = np.arange(min(300, 1 << nbits), dtype=np.uint64)
    pairs, mixed = np.concatenate([scattered, scattered ^ np.uint64(1)]), np.concatenate([scattered, dense])
    for codes in map(np.unique, (scattered, pairs, mixed)):
        assert np.array_equal(robdd_enumerate.codes(robdd_build.from_codes(codes, nbits)), codes)


@given(case=code_sets(most_bits=24))
def test_load_and_extract(manager: BddManager, case: tuple[list[int], int]) -> None:
    codes, nbits = case
    table = robdd_build.from_codes(uint64(codes), nbits)
    function = manager.load(table, manager.variables)
    back = manager.extract(function, manager.variables[:nbits])
    back.assert_consistent()
    assert back == table


@given(first=code_sets(most_bits=10), second=code_sets(most_bits=10))
def test_boolean_algebra_is_set_algebra(
    manager: BddManager, first: tuple[list[int], int], second: tuple[list[int], int]
) -> None:
    variables = manager.variables[:10]

    def load(codes: list[int]) -> object:
        return manager.load(robdd_build.from_codes(uint64(codes), 10), variables)

    def codes_of(function: object) -> set[int]:
        return set(robdd_enumerate.codes(manager.extract(function, variables)).tolist())

    (a, b), (f, g) = (set(first[0]), set(second[0])), (load(first[0]), load(second[0]))
    assert codes_of(f & g) == a & b
    assert codes_of(f | g) == a | b
    assert codes_of(~f) == set(range(1024)) - a
    low = set(variables[:4])
    shadow = {code >> 4 << 4 | low_bits for code in a & b for low_bits in range(16)}
    assert codes_of(manager.exist(low, f & g)) == codes_of(manager.and_exists(f, g, low)) == shadow
    renamed = manager.rename(f, dict(zip(variables, manager.variables[10:20], strict=True)))
    assert manager.extract(renamed, manager.variables[10:20]) == robdd_build.from_codes(uint64(first[0]), 10)


def test_extract_names_the_variable_that_is_too_much(manager: BddManager) -> None:
    function = manager.cube({"x3": True, "x5": False})
    assert manager.extract(function, manager.variables[:6]).count() == 16
    with pytest.raises(ValueError, match="x5"):
        manager.extract(function, manager.variables[:5])


def test_an_unknown_backend_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_BDD", "buddy")
    with pytest.raises(LineageError, match=r"'buddy' is not available here\. Use one of: .*autoref"):
        BddManager(("x0",))


def test_the_environment_chooses_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_BDD", "autoref")
    assert BddManager(("x0",)).backend == "autoref"


def test_without_cudd_the_pure_python_manager_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORWARD_LINEAGE_BDD", raising=False)
    monkeypatch.setitem(sys.modules, "dd.cudd", None)  # as on a platform for which dd ships no CUDD
    assert available_backends() == ("autoref",)
    assert BddManager(("x0",)).backend == "autoref"
    with pytest.raises(LineageError, match="'cudd' is not available here"):
        BddManager(("x0",), backend="cudd")
