"""The BDD manager against what would bring CUDD down: each try is a process of its own, for a crash takes it along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import forward_lineage
import udafs
from udafs.bdd_manager import Backend, BddManager, available_backends
from udafs.errors import InternalError

_LOADS = """
import sys
import numpy as np
from udafs import robdd_build
from udafs.bdd_manager import BddManager, bit_variables

backend, rounds = sys.argv[1], int(sys.argv[2])
dice = np.random.default_rng(2007)
names = bit_variables("x", 24)
for turn in range(rounds):
    manager = BddManager(names, backend=backend, memory=1 << 28)
    kept = []
    for _ in range(8):
        nbits = int(dice.integers(1, 25))
        size = int(dice.integers(0, min(1 << nbits, 2000)))
        codes = np.unique(dice.integers(0, 1 << nbits, size).astype(np.uint64))
        if dice.random() < 0.5:  # mostly ones: every node has a complemented edge somewhere
            nbits = min(nbits, 12)
            codes = np.setdiff1d(np.arange(1 << nbits, dtype=np.uint64), codes)
        table = robdd_build.from_codes(codes, nbits).with_bits(24)
        table.assert_consistent()
        function = manager.load(table, names)
        assert manager.extract(function, names) == table
        kept.append((function, set(codes.tolist())))
    (f, a), (g, b), (h, c) = (kept[i] for i in dice.choice(len(kept), 3, replace=False))
    assert manager.extract(f & g, names).count() == len(a & b)
    assert manager.extract((f | g) & ~h, names).count() == len((a | b) - c)
    upper = {code >> 12 for code in a & b}
    assert manager.extract(manager.and_exists(f, g, names[:12]), names[12:]).count() == len(upper)
    del f, g, h, function, kept  # dd wants them gone before their manager
print("done")
"""


# A function and the node that CUDD has for it already, once more with a complemented `high` edge.
_FIND_OR_ADD = """
import os
import dd.cudd

bdd = dd.cudd.BDD(memory_estimate=1 << 28)
bdd.configure(reordering=False)
bdd.declare("a", "b")
child = ~bdd.var("b")
right = bdd.ite(bdd.var("a"), child, bdd.true)
before = child.ref
wrong = bdd.find_or_add("a", bdd.true, child)
print(child.negated, wrong == right, child.ref - before, flush=True)
os._exit(0)  # the end of `wrong` may be the end of the process
"""

_OUT_OF_MEMORY = """
import numpy as np
from udafs import robdd_build
from udafs.bdd_manager import BddManager, bit_variables
from udafs.errors import SetupError

names = bit_variables("x", 40)
dice = np.random.default_rng(2007)
manager = BddManager(names, backend="cudd", memory=1 << 24)
few = robdd_build.from_codes(np.arange(0, 1 << 20, 3, dtype=np.uint64), 20)
first, second = manager.load(few, names[:20]), manager.load(few, names[20:])
kept, refused = [], 0
for turn in range(8):
    table = robdd_build.from_codes(np.unique(dice.integers(0, 1 << 40, 10_000).astype(np.uint64)), 40)
    try:
        kept.append(manager.load(table, names))
    except SetupError as error:
        assert str(error).startswith("the BDD manager has used up its 16 MB. Ask "), error
        refused += 1
        kept.clear()
assert 0 < refused < 8, refused
assert manager.extract(manager.and_exists(first, second, names[20:]), names[:20]) == few
del first, second, kept
print("done")
"""


def output_of(program: str, *arguments: str) -> str:
    """What a program prints in a process of its own."""
    command = [sys.executable, "-X", "faulthandler", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def run_loads(backend: str, rounds: int) -> None:
    assert output_of(_LOADS, backend, str(rounds)) == "done"


@pytest.mark.parametrize("backend", available_backends())
def test_loaded_tables_come_back_and_nothing_crashes(backend: str) -> None:
    run_loads(backend, rounds=40 if backend == "cudd" else 3)


@pytest.mark.long
@pytest.mark.parametrize("backend", available_backends())
def test_many_loads(backend: str) -> None:
    run_loads(backend, rounds=600 if backend == "cudd" else 50)


needs_cudd = pytest.mark.skipif("cudd" not in available_backends(), reason="dd has no CUDD here")


@needs_cudd
def test_why_nodes_are_not_made_by_find_or_add() -> None:
    """One reference is counted as 256, an address off, and the node equals no other.

    Should this fail with "True True 1", dd has learnt what CUDD asks of its callers, and `load` may go by find_or_add.
    """
    assert output_of(_FIND_OR_ADD) == "True False 256"


@needs_cudd
def test_a_manager_without_memory_says_so_and_goes_on() -> None:
    assert output_of(_OUT_OF_MEMORY) == "done"


@needs_cudd
def test_more_memory_than_the_machine_has() -> None:
    """dd would print, raise, and raise again when the manager goes."""
    manager = BddManager(("x",), backend="cudd", memory=1 << 60)
    assert manager.memory < 1 << 60
    assert manager.extract(manager.true, ("x",)).count() == 2


@pytest.mark.parametrize("backend", available_backends())
def test_what_is_not_the_managers(backend: Backend) -> None:
    """dd raises for these what it raises for memory that is used up."""
    one, other = (BddManager(("x", "y"), backend=backend) for _ in range(2))
    with pytest.raises(InternalError, match="of one BDD manager was given to another"):
        one.exist(["x"], other.true)
    with pytest.raises(InternalError, match="has no variable z"):
        one.exist(["x", "z"], one.true)
    with pytest.raises(InternalError, match="has no variable z"):
        one.rename(one.true, {"x": "z"})
    with pytest.raises(InternalError, match="has no variable z"):
        one.cube({"z": True})


def test_nodes_are_never_made_by_find_or_add() -> None:
    """dd hands a complemented `high` edge on to CUDD, whose table is wrong from then on."""
    for package in (udafs, forward_lineage):
        assert package.__file__
        for source in Path(package.__file__).parent.rglob("*.py"):
            assert "find_or_add(" not in source.read_text(encoding="utf-8"), source
