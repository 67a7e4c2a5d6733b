"""The BDD manager against what would bring CUDD down: each try is a process of its own, for a crash takes it along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import forward_lineage
import udafs
from udafs.bdd_manager import available_backends

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


def run_loads(backend: str, rounds: int) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", _LOADS, backend, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr[-3000:]


@pytest.mark.parametrize("backend", available_backends())
def test_loaded_tables_come_back_and_nothing_crashes(backend: str) -> None:
    run_loads(backend, rounds=40 if backend == "cudd" else 3)


@pytest.mark.long
@pytest.mark.parametrize("backend", available_backends())
def test_many_loads(backend: str) -> None:
    run_loads(backend, rounds=600 if backend == "cudd" else 50)


def test_nodes_are_never_made_by_find_or_add() -> None:
    """dd hands a complemented `high` edge on to CUDD, whose table is wrong from then on."""
    for package in (udafs, forward_lineage):
        assert package.__file__
        for source in Path(package.__file__).parent.rglob("*.py"):
            assert "find_or_add(" not in source.read_text(encoding="utf-8"), source
