"""`LineageSet` against Python's own `set`, and against the plain reference of the byte format."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from tests.udafs import make_vectors, reference_format
from udafs import lineage_set
from udafs.bdd_manager import BddManager, available_backends, bit_variables
from udafs.errors import CorruptLineageError, LineageError
from udafs.lineage_set import LineageSet

MAX_ID = 2**63 - 1
ENCODINGS = ("auto", "bdd", "set", "roaring")
BOUNDARIES = sorted({0, 1, MAX_ID, *(2**power + off for power in (6, 16, 32, 48, 62) for off in (-1, 0, 1))})

row_ids = st.one_of(st.sampled_from(BOUNDARIES), st.integers(0, 100), st.integers(0, 2**18), st.integers(0, MAX_ID))


@st.composite
def id_sets(draw: st.DrawFn) -> set[int]:
    """Scattered ids, runs and strides, near each other and far apart."""
    ids = set(draw(st.lists(row_ids, max_size=12)))
    runs = st.tuples(row_ids, st.integers(1, 300), st.sampled_from([1, 1, 2, 3, 64]))
    for start, length, step in draw(st.lists(runs, max_size=3)):
        ids.update(row_id for row_id in range(start, start + length * step, step) if row_id <= MAX_ID)
    return ids


def as_table(ids: set[int]) -> LineageSet:
    """The set in its other form."""
    return LineageSet.from_bytes(LineageSet(list(ids)).to_bytes("bdd"))


forms = pytest.mark.parametrize("form", [lambda ids: LineageSet(list(ids)), as_table], ids=["ids", "roBDD"])
Form = Callable[[set[int]], LineageSet]


# ---------------------------------------------------------------- bytes


@forms
@given(ids=id_sets())
def test_bytes_are_those_of_the_reference(form: Form, ids: set[int]) -> None:
    value = form(ids)
    for encoding in ENCODINGS:
        written = value.to_bytes(encoding)
        assert written == reference_format.encode(ids, encoding)
        read = LineageSet.from_bytes(written)
        assert read == value and read.ids().tolist() == sorted(ids) and len(read) == len(ids)


@given(id_sets(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_canonical_under_any_order_and_partitioning(ids: set[int], rng: random.Random, parts: int) -> None:
    shuffled = sorted(ids)
    rng.shuffle(shuffled)
    repeated = shuffled + shuffled[: len(shuffled) // 2]
    chunks = [LineageSet(repeated[part::parts]) for part in range(parts)]
    chunks = [LineageSet.from_bytes(chunk.to_bytes(rng.choice(ENCODINGS))) for chunk in chunks]
    rng.shuffle(chunks)
    united = LineageSet()
    for chunk in chunks:
        united = united | chunk
    for encoding in ENCODINGS:
        assert united.to_bytes(encoding) == LineageSet(ids).to_bytes(encoding)


def test_auto_is_the_shortest() -> None:
    rng = random.Random(1)
    for bits, count in itertools.product((8, 12, 17, 24, 40), (1, 5, 60, 900, 5000)):
        ids = LineageSet({rng.getrandbits(bits) for _ in range(count)})
        sizes = [(len(ids.to_bytes(encoding)), tag) for tag, encoding in enumerate(("set", "bdd", "roaring"))]
        value = ids.to_bytes()
        assert (len(value), value[0]) == min(sizes)


@pytest.mark.parametrize("data", [b"\x00\x01\x05", bytearray(b"\x00\x01\x05"), memoryview(b"\x00\x01\x05")])
def test_any_buffer_of_bytes(data: bytes) -> None:
    assert list(LineageSet.from_bytes(data)) == [5]


def test_an_unknown_encoding() -> None:
    with pytest.raises(LineageError, match=r"unknown encoding 'zip'\. Use one of: auto, bdd, set"):
        LineageSet([1]).to_bytes("zip")  # type: ignore[arg-type]


# ---------------------------------------------------------------- laws


@given(id_sets(), id_sets(), id_sets())
def test_union_is_associative_commutative_idempotent_with_identity(a: set[int], b: set[int], c: set[int]) -> None:
    x, y, z = LineageSet(a), as_table(b), LineageSet(c)
    assert (x | y) | z == x | (y | z)
    assert x | y == y | x
    assert x | x == x
    assert x | LineageSet() == LineageSet() | x == x


@given(id_sets(), id_sets())
def test_operators_are_those_of_set(a: set[int], b: set[int]) -> None:
    for x, y in itertools.product((LineageSet(a), as_table(a)), (LineageSet(b), as_table(b))):
        assert set(x | y) == a | b
        assert set(x & y) == a & b
        assert set(x - y) == a - b
        assert set(x ^ y) == a ^ b
        assert (x <= y, x < y, x >= y, x > y) == (a <= b, a < b, a >= b, a > b)
        assert (x == y, x != y) == (a == b, a != b)
        assert x.isdisjoint(y) == a.isdisjoint(b)
        assert x <= x | y and x & y <= y
        assert a != b or hash(x) == hash(y)


@settings(max_examples=30)
@given(id_sets(), id_sets())
def test_operators_of_sets_too_large_to_list(a: set[int], b: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage_set, "LISTABLE", -1)
        x, y = LineageSet(a), LineageSet(b)
        assert set(x | y) == a | b
        assert set(x & y) == a & b
        assert set(x - y) == a - b
        assert set(x ^ y) == a ^ b
        assert (x <= y) == (a <= b)


@forms
@given(ids=id_sets(), other=row_ids)
def test_collection(form: Form, ids: set[int], other: int) -> None:
    value = form(ids)
    assert list(value) == sorted(ids)
    assert len(value) == len(ids) and bool(value) == bool(ids)
    assert all(row_id in value for row_id in ids)
    assert (other in value) == (other in ids)
    assert np.int64(other) in value or other not in ids
    assert -1 not in value and 2**63 not in value and "1" not in value
    assert pickle.loads(pickle.dumps(value)) == value
    assert value.ids().dtype == np.int64


class AgainstSet(RuleBasedStateMachine):
    """Every operation on lineage sets and on plain sets, side by side."""

    sets = Bundle("sets")

    def __init__(self) -> None:
        super().__init__()
        self.made: list[tuple[LineageSet, frozenset[int]]] = []

    def remember(self, value: LineageSet, plain: set[int] | frozenset[int]) -> tuple[LineageSet, frozenset[int]]:
        self.made.append((value, frozenset(plain)))
        return self.made[-1]

    @initialize(target=sets)
    def empty(self) -> object:
        return self.remember(LineageSet(), set())

    @rule(target=sets, ids=id_sets())
    def new(self, ids: set[int]) -> object:
        return self.remember(LineageSet(ids), ids)

    @rule(target=sets, one=sets, other=sets, operator=st.sampled_from(["__or__", "__and__", "__sub__", "__xor__"]))
    def combine(self, one: tuple, other: tuple, operator: str) -> object:
        return self.remember(getattr(one[0], operator)(other[0]), getattr(one[1], operator)(other[1]))

    @rule(target=sets, one=consumes(sets), encoding=st.sampled_from(ENCODINGS))
    def write_and_read(self, one: tuple, encoding: str) -> object:
        return self.remember(LineageSet.from_bytes(one[0].to_bytes(encoding)), one[1])

    @rule(target=sets, one=sets, backend=st.sampled_from(available_backends()))
    def through_a_bdd(self, one: tuple, backend: str) -> object:
        manager = BddManager(bit_variables("id", 63), backend=backend)
        return self.remember(LineageSet.from_bdd(one[0].to_bdd(manager), manager), one[1])

    @rule(one=sets, row_id=row_ids)
    def contains(self, one: tuple, row_id: int) -> None:
        assert (row_id in one[0]) == (row_id in one[1])

    @rule(one=sets, other=sets)
    def compare(self, one: tuple, other: tuple) -> None:
        assert (one[0] == other[0]) == (one[1] == other[1])
        assert (one[0] <= other[0]) == (one[1] <= other[1])

    @invariant()
    def nothing_has_changed(self) -> None:
        for value, plain in self.made:
            assert len(value) == len(plain)
            assert value.ids().tolist() == sorted(plain)


TestAgainstSet = AgainstSet.TestCase
TestAgainstSet.settings = settings(max_examples=25, stateful_step_count=20)


@forms
@settings(max_examples=30)
@given(ids=id_sets(), limit=st.one_of(row_ids, st.just(2**63)))
def test_below(form: Form, ids: set[int], limit: int) -> None:
    expected = {row_id for row_id in ids if row_id < limit}
    assert set(form(ids).below(limit)) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lineage_set, "LISTABLE", -1)
        assert set(form(ids).below(limit)) == expected


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([-1], "a negative row id: -1"),
        ([2**63], "a row id beyond 9223372036854775807"),
        ([2**70], "row ids are integers from 0 to 9223372036854775807"),
        ([1, -5, 2**63], "row ids are integers from 0 to"),
        ([1.5], "row ids are integers"),
        (["7"], "row ids are one-dimensional integers"),
        ([None], "row ids are integers"),
        ([True, False], "row ids are one-dimensional integers, found bool"),
        (np.zeros((2, 2), np.int64), "of 2 dimensions"),
        (np.array([2**63], np.uint64), "a row id beyond"),
    ],
)
def test_bad_ids(ids: list[object], message: str) -> None:
    with pytest.raises(LineageError, match=message):
        LineageSet.from_ids(ids)  # type: ignore[arg-type]


def test_ids_cannot_be_written_to() -> None:
    mine = np.array([3, 1, 2])
    value = LineageSet(mine)
    mine[0] = 99
    assert list(value) == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        value.ids()[0] = 5
    same = value - LineageSet()
    with pytest.raises(ValueError, match="read-only"):
        same.ids()[0] = 5


def test_other_types() -> None:
    value = LineageSet([1])
    assert value != {1} and value != [1]
    for operator in (lambda: value | {1}, lambda: value <= {1}, lambda: value - [1]):
        with pytest.raises(TypeError):
            operator()


def test_too_few_variables() -> None:
    manager = BddManager(bit_variables("id", 3))
    assert LineageSet.from_bdd(LineageSet([7]).to_bdd(manager), manager) == LineageSet([7])
    with pytest.raises(LineageError, match=r"a code of 4 bits does not fit into 3\. Use a manager with more variables"):
        LineageSet([8]).to_bdd(manager)


# ---------------------------------------------------------------- very large sets


def test_a_set_of_2_to_the_40_never_becomes_an_array() -> None:
    value = LineageSet.from_bytes(bytes([1, 40] + [0] * 40 + [1]))
    assert len(value) == 2**40
    assert value.to_bytes() == value.to_bytes("bdd") == bytes([1, 40] + [0] * 40 + [1])
    assert 2**40 - 1 in value and 2**40 not in value
    with pytest.raises(LineageError, match="too large to list"):
        value.ids()
    assert list(itertools.islice(value, 3)) == [0, 1, 2]
    odd = LineageSet.from_bytes(bytes([1, 40, 1, 0, 1] + [0] * 39))
    assert len(odd) == 2**39 and odd < value and len(value - odd) == 2**39
    assert odd | (value - odd) == value and not odd & (value - odd)
    assert repr(odd) == "LineageSet({1, 3, 5, 7, 9, 11, … 549755813888 ids})"
    assert len(value | LineageSet([2**50])) == 2**40 + 1
    assert hash(odd | (value - odd)) == hash(value)


def billions_in_roaring() -> bytes:
    """Every id below 2**32, as runs of a Roaring bitmap."""
    container = (1).to_bytes(2, "little") + bytes([0, 0, 255, 255])
    keys = b"".join(key.to_bytes(2, "little") + b"\xff\xff" for key in range(65536))
    body = (12347 | 65535 << 16).to_bytes(4, "little") + b"\xff" * 8192 + keys
    offsets = b"".join((len(body) + 4 * 65536 + 6 * i).to_bytes(4, "little") for i in range(65536))
    bitmap = body + offsets + container * 65536
    return b"\x02" + (1).to_bytes(8, "little") + bytes(4) + bitmap


def test_roaring_runs_that_name_billions_of_ids() -> None:
    value = LineageSet.from_bytes(
        billions_in_roaring()
    )  # set by set it would take hours; tests/bench/test_limits.py has the time
    assert len(value) == 2**32
    assert value.to_bytes() == bytes([1, 32] + [0] * 32 + [1])


def test_all_row_ids_there_are() -> None:
    value = LineageSet.from_bytes(bytes([1, 63] + [0] * 63 + [1]))
    assert MAX_ID in value and value.cardinality == 2**63
    with pytest.raises(OverflowError):  # Python's len() ends one earlier
        len(value)


def test_repr() -> None:
    assert repr(LineageSet()) == "LineageSet({})"
    assert repr(LineageSet([3, 1])) == "LineageSet({1, 3})"


# ---------------------------------------------------------------- hostile bytes


def mutate(rng: random.Random, value: bytes) -> bytes:
    """A few of: flip bits, set bytes, cut, repeat, splice."""
    data = bytearray(value)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0 | 1 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 2 if data:
                data[at % len(data)] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 3:
                del data[at:]
            case 4:
                data[at:at] = data[at : at + rng.randint(1, 8)]
            case 5:
                data[at:at] = rng.randbytes(rng.randint(1, 9))
            case _:
                del data[at : at + rng.randint(1, 4)]
    return bytes(data)


def seeds() -> list[bytes]:
    values = [
        reference_format.encode(make_vectors.expand(recipe), setting)
        for recipe in make_vectors.sets()
        for setting in make_vectors.SETTINGS
        if len(make_vectors.expand(recipe)) < 1000
    ]
    values += [bytes.fromhex(each["hex"].replace(" ", "")) for each in make_vectors.readable()]
    values += [bytes.fromhex(text) for _, _, text in make_vectors.MALFORMED]
    return [value for value in values if len(value) < 400]


def survives(value: bytes) -> None:
    """A clean error or a set; what the set says of itself holds, and tags 00 and 01 are canonical."""
    try:
        read = LineageSet.from_bytes(value)
    except CorruptLineageError:
        with pytest.raises(reference_format.MalformedError):
            reference_format.decode(value)
        return
    if read.cardinality < 10_000:
        assert reference_format.decode(value) == read.ids().tolist()
    if value[0] == 1:
        read.table().assert_consistent()
        assert read.to_bytes("bdd") == value
    elif value[0] == 0:
        assert read.to_bytes("set") == value


def fuzz(count: int, seed: int) -> None:
    rng = random.Random(seed)
    values = seeds()
    assert len(values) > 100
    for _ in range(count):
        value = mutate(rng, rng.choice(values))
        survives(value)


def test_mutated_bytes() -> None:
    fuzz(4_000, seed=1)


@pytest.mark.long
def test_many_mutated_bytes() -> None:
    fuzz(200_000, seed=2)


@given(st.sampled_from([b"\x00", b"\x01", b"\x02", b""]), st.binary(max_size=60))
def test_any_bytes(tag: bytes, body: bytes) -> None:
    survives(tag + body)
