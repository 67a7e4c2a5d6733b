"""The kernel's bytes: the shared vectors, the laws, a state machine against a plain set, damaged bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.mutations.campaign import compare, judge
from tests.mutations.kinds import KINDS
from tests.tiers import every_day
from tests.udafs.kernel_probe import KernelProbe, RefusedError

VECTORS = Path(__file__).parents[2] / "udafs" / "vectors"
SETTINGS = ("auto", "set", "bdd", "roaring")
LARGEST = 2**63 - 1
EDGES = [edge + step for edge in (1, 2**16, 2**32, 2**48, 2**62) for step in (-1, 0, 1)] + [LARGEST - 1, LARGEST]

near_edges = st.sampled_from(EDGES).flatmap(lambda edge: st.integers(max(0, edge - 70), min(LARGEST, edge + 70)))
an_id = st.one_of(st.integers(0, 200), near_edges, st.integers(0, LARGEST))
id_sets = st.one_of(
    st.sets(an_id, max_size=60),
    st.builds(lambda start, n, step: set(range(start, start + n * step, step)), an_id.map(lambda i: i % 2**62),
              st.integers(0, 3000), st.integers(1, 9)),
)  # fmt: skip


def vectors(name: str) -> list[Any]:
    return [
        pytest.param(vector, id=vector["name"])
        for vector in json.loads((VECTORS / f"{name}.json").read_text())["vectors"]
    ]


def ids_of(vector: dict[str, Any]) -> list[int]:
    ids = set(vector.get("ids", ()))
    for span in vector.get("ranges", ()):
        ids.update(range(*span))
    return sorted(ids)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def kernel(compiled: Path) -> Iterator[KernelProbe]:
    with KernelProbe(compiled) as probe:
        yield probe


@pytest.mark.parametrize("vector", vectors("sets"))
def test_vector_is_written_and_read(kernel: KernelProbe, vector: dict[str, Any]) -> None:
    ids = ids_of(vector)
    for setting in SETTINGS:
        if vector.get(setting) is None:
            continue
        value = bytes.fromhex(vector[setting])
        assert kernel.encode(ids, setting).hex() == vector[setting], setting
        assert kernel.encode(reversed(ids), setting).hex() == vector[setting], f"{setting}, descending"
        assert kernel.decode(value) == ids, setting
        assert kernel.size(value) == len(ids)


@pytest.mark.parametrize("vector", vectors("readable"))
def test_foreign_bytes_are_read(kernel: KernelProbe, vector: dict[str, Any]) -> None:
    assert kernel.decode(bytes.fromhex(vector["hex"])) == vector["ids"]


@pytest.mark.parametrize("vector", vectors("malformed"))
def test_malformed_bytes_are_refused(kernel: KernelProbe, vector: dict[str, Any]) -> None:
    for question in (kernel.decode, kernel.size, kernel.merge, lambda value: kernel.contains(value, 1)):
        with pytest.raises(RefusedError, match=f"corrupt lineage value: {vector['keyword']}: "):
            question(bytes.fromhex(vector["hex"]))


@given(left=id_sets, right=id_sets, data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_laws(kernel: KernelProbe, left: set[int], right: set[int], data: st.DataObject) -> None:
    a, b = data.draw(st.sampled_from(SETTINGS)), data.draw(st.sampled_from(SETTINGS))
    one, two = kernel.encode(left, a), kernel.encode(right, b)
    assert kernel.decode(one) == sorted(left)
    for setting in SETTINGS:
        union = kernel.encode(left | right, setting)
        assert united(kernel, setting, one, two) == union, "union of values is the value of the union"
        assert united(kernel, setting, two, one) == union, "commutative"
        assert united(kernel, setting, one, two, one, union) == union, "idempotent, associative"
        assert united(kernel, setting, one, kernel.encode([], b)) == kernel.encode(left, setting), "identity"
    assert kernel.intersects(one, two) == bool(left & right)
    for wanted in data.draw(st.lists(st.sampled_from(sorted(left | right | {0, LARGEST})), max_size=3)):
        assert kernel.contains(one, wanted) == (wanted in left)


def united(kernel: KernelProbe, setting: str, *values: bytes) -> bytes:
    kernel.ask("new")
    for value in values:
        kernel.merge(value)
    return kernel.result(setting)


@given(ids=id_sets)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_auto_is_the_shortest_and_on_a_tie_the_lowest_tag(kernel: KernelProbe, ids: set[int]) -> None:
    candidates = [kernel.encode(ids, setting) for setting in ("set", "bdd", "roaring")]
    assert kernel.encode(ids, "auto") == min(candidates, key=len)


def test_the_bound_that_spares_building_a_bdd(kernel: KernelProbe) -> None:
    """It is never above the BDD, and for scattered ids, which it is there for, nearly always above half of it."""
    proved, scattered = map(int, kernel.ask("bounds", "7", "3000").split())
    assert scattered > 1000
    assert proved > 0.9 * scattered


@pytest.mark.parametrize("name", ["dense", "clustered", "random", "every third", "huge", "blocks and strays"])
def test_large_sets_in_any_order(kernel: KernelProbe, name: str) -> None:
    dice = random.Random(name)
    ids = {
        "dense": set(range(1000, 150_000)),
        "clustered": {start * 977 + i for start in dice.sample(range(100_000), 800) for i in range(120)},
        "random": set(dice.sample(range(2**21), 100_000)),
        "every third": set(range(0, 400_000, 3)),
        "huge": {dice.randrange(2**63) for _ in range(30_000)},
        "blocks and strays": set(range(2**40, 2**40 + 70_000)) | {dice.randrange(2**41) for _ in range(20_000)},
    }[name]
    shuffled = list(ids)
    dice.shuffle(shuffled)
    for setting in SETTINGS:
        value = kernel.encode(sorted(ids), setting)
        assert kernel.encode([*shuffled, *shuffled[:50_000]], setting) == value
        assert kernel.decode(value) == sorted(ids)
        assert kernel.size(value) == len(ids)
    parts = [kernel.encode(shuffled[i::3], setting) for i, setting in enumerate(("set", "bdd", "roaring"))]
    assert united(kernel, "auto", *parts) == kernel.encode(ids, "auto")


def test_a_bdd_of_more_ids_than_memory_answers_questions(kernel: KernelProbe) -> None:
    lower_half = bytes.fromhex("013e" + "00" * 62 + "01")
    all_ids = bytes.fromhex("013f" + "00" * 63 + "01")
    upper_half = bytes.fromhex("013f" + "00" * 62 + "01" + "00" + "01")
    assert kernel.size(lower_half) == 2**62 == kernel.size(upper_half)
    assert not kernel.intersects(lower_half, upper_half)
    assert kernel.intersects(all_ids, upper_half)
    assert kernel.contains(upper_half, LARGEST)
    assert not kernel.contains(lower_half, LARGEST)
    with pytest.raises(RefusedError, match="9223372036854775808 ids is too large"):
        kernel.size(all_ids)
    with pytest.raises(RefusedError, match="too large"):
        kernel.decode(lower_half)
    with pytest.raises(RefusedError, match="too large"):
        kernel.merge(lower_half)


@pytest.mark.slow
def test_state_machine_against_a_plain_set(kernel: KernelProbe, compiled: Path) -> None:
    with KernelProbe(compiled) as writer:

        class Machine(RuleBasedStateMachine):
            @initialize()
            def start(self) -> None:
                kernel.ask("new")
                self.model: set[int] = set()

            @rule(ids=st.lists(an_id, max_size=30))
            def add(self, ids: list[int]) -> None:
                kernel.add(ids)
                self.model.update(ids)

            @rule(start=st.integers(0, 2**20), n=st.integers(1000, 20_000))
            def add_many(self, start: int, n: int) -> None:
                kernel.add(range(start, start + n))
                self.model.update(range(start, start + n))

            @rule(ids=id_sets, setting=st.sampled_from(SETTINGS))
            def merge(self, ids: set[int], setting: str) -> None:
                kernel.merge(writer.encode(ids, setting))
                self.model.update(ids)

            @invariant()
            def same(self) -> None:
                assert kernel.decode(kernel.result("auto")) == sorted(self.model)

        quiet = settings(
            max_examples=50, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        )
        run_state_machine_as_test(Machine, settings=quiet)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heap", "where"), every_day([(2**30, "on the heap"), (2**20, "in a file")], [(2**20, "in a file")])
)
def test_pool_of_groups_against_plain_sets(kernel: KernelProbe, heap: int, where: str) -> None:
    assert kernel.ask("pool", "0", "400000", str(heap)) == where


@pytest.mark.long
@pytest.mark.parametrize(("heap", "where"), [(2**30, "on the heap"), (1, "in a file"), (2**20, "in a file")])
def test_pool_of_groups_against_plain_sets_for_long(kernel: KernelProbe, heap: int, where: str) -> None:
    for seed in range(1, 10):
        assert kernel.ask("pool", str(seed), "400000", str(heap)) == where


@pytest.mark.parametrize(("name", "count"), [("values", 4000), ("registrations", 2000)])
def test_both_languages_judge_what_is_spoilt_alike(kernel: KernelProbe, tmp_path: Path, name: str, count: int) -> None:
    """A million of each: `python -m tests.mutations`."""
    kind, dice = KINDS[name](), random.Random(name)
    spoilt = [kind.spoilt(dice) for _ in range(count)]
    found, judged = judge(kind, spoilt, name)
    compare(kernel, kind, spoilt, judged, found, tmp_path, name)
    assert not found.faults
    assert 0 < count - found.refused < count / 4


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_mutated_bytes_give_clean_errors_in_bounded_time(kernel: KernelProbe, tmp_path: Path, seed: int) -> None:
    """50,000 mutations of valid values, checked in the JVM: see CodecProbe.fuzz."""
    dice = random.Random(1)
    seeds = [vector.values[0]["hex"] for name in ("malformed", "readable") for vector in vectors(name)]
    seeds += [
        vector.values[0][setting] for vector in vectors("sets") for setting in SETTINGS if vector.values[0].get(setting)
    ]
    for spread in (64, 2**10, 2**18, 2**40):
        for n in (3, 20, 60):
            ids = {dice.randrange(spread) for _ in range(n)}
            seeds += [kernel.encode(ids, setting).hex() for setting in SETTINGS]
    seeds = [seed for seed in seeds if len(seed) < 4000]
    file = tmp_path / "seeds"
    file.write_text("\n".join(seeds))
    words = kernel.ask("fuzz", str(seed), "50000", str(file)).split()
    refused, read = int(words[0]), int(words[2])
    assert int(words[5]) < 2000, "slowest value in ms"
    assert refused + read == 50_000
    assert read > 500
