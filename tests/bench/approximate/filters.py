"""Bits and misses of membership filters: ``python -m tests.bench.approximate.filters [rows]``; 1 if one misses a key.

Keys are rows of 7 attributes and all their choices of wildcards, as in the thesis' logs: 70,000 rows, in which values
are skewed and go together. Tuples that do not occur mix the values of two rows. Shifted ones have other wildcards, and
values that are rare; a learned filter has not seen their like. The thesis asks for *pairs* of values that never occur
together, all other places being free (§4.4). A filter that learns from pairs alone is shown, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from forward_lineage.approximate.filters.choosing import RATE, TupleFilter, plain_filter
from forward_lineage.approximate.filters.fuse import FuseFilter
from forward_lineage.approximate.filters.hashing import Tuples, hashes_of
from forward_lineage.approximate.filters.learned import learned_filter, not_together
from forward_lineage.approximate.filters.tuples import CodedColumns

ROWS = 70_000
_VALUES = (40, 120, 12, 300, 25, 2_000, 8)
_ASKED = 200_000
_BLOOM = 9.59


def logs(rows: int, kinds: int = 400) -> CodedColumns:
    """Return skewed rows of 7 attributes: each row is of a kind, and mostly has the values of it."""
    chance = np.random.default_rng(7)
    weights = 1 / np.arange(1, kinds + 1) ** 1.1
    kind = chance.choice(kinds, rows, p=weights / weights.sum())
    columns = []
    for count in _VALUES:
        skewed = np.minimum((count * chance.random(kinds) ** 2).astype(np.int64), count - 1)
        near = np.minimum(chance.geometric(0.5, rows) - 1, count - 1)
        other = (count * chance.random(rows) ** 2).astype(np.int64)
        columns.append(np.where(chance.random(rows) < 0.97, (skewed[kind] + near) % count, other))
    return CodedColumns(np.stack(columns, axis=1), [hashes_of(range(count)) for count in _VALUES]).distinct()


def shifted(columns: CodedColumns, there: Tuples) -> Tuples:
    """Return tuples that do not occur, of values drawn evenly, with every choice of wildcards as likely."""
    chance, known = np.random.default_rng(9), np.sort(there.keys())
    hashes = np.stack([chance.choice(each, _ASKED) for each in columns.hashes], axis=1)
    drawn = Tuples(hashes, chance.random(hashes.shape) < 0.5)
    keys = drawn.keys()
    return drawn[known[np.minimum(np.searchsorted(known, keys), known.size - 1)] != keys]


def pairs(columns: CodedColumns, there: Tuples, seed: int) -> Tuples:
    """Return pairs of values, of any two attributes, that do not occur together; other places are free."""
    chance, known = np.random.default_rng(seed), np.sort(there.keys())
    hashes = np.stack([chance.choice(each[np.unique(codes)], _ASKED) for each, codes in _by_column(columns)], axis=1)
    given = np.argsort(chance.random(hashes.shape), axis=1) < 2
    drawn = Tuples(hashes, given)
    keys = drawn.keys()
    return drawn[known[np.minimum(np.searchsorted(known, keys), known.size - 1)] != keys]


def _by_column(columns: CodedColumns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(columns.hashes, columns.codes.T, strict=True)


def tell(name: str, found: TupleFilter, there: Tuples, asked: dict[str, Tuples]) -> int:
    """Print how a filter does; returns how many keys it misses."""
    began = time.process_time()
    missed = int((~found.occurs(there)).sum())
    seconds = time.process_time() - began
    rates = ", ".join(f"{100 * each.mean():.2f} % of {name}" for name, each in _found(found, asked).items())
    print(
        f"{name:10} {found.bits / len(there):6.2f} bits a key, {missed} of {len(there):,} missed, found {rates}; "
        f"{1e9 * seconds / len(there):.0f} ns a look-up",
        flush=True,
    )
    return missed


def _found(found: TupleFilter, asked: dict[str, Tuples]) -> dict[str, np.ndarray]:
    return {name: found.occurs(each) for name, each in asked.items()}


def main() -> int:
    columns = logs(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    there = columns.all_tuples()
    asked = {"others": not_together(columns, there, _ASKED, seed=5), "shifted": shifted(columns, there)}
    print(f"{len(columns.codes):,} rows, {len(there):,} keys, at {100 * RATE:.0f} %; a Bloom filter takes {_BLOOM}")
    asked["pairs"] = pairs(columns, there, 5)
    missed = tell("plain", plain_filter(columns), there, asked)
    began = time.process_time()
    learned = learned_filter(columns, there, RATE)
    print(f"trained in {time.process_time() - began:.0f} s of processor")
    missed += tell("learned", learned, there, asked)
    parts: dict[str, FuseFilter] = {"before": learned.before, "behind": learned.behind}
    said = ", ".join(f"{name} {each.bits / len(there):.2f} (width {each.width})" for name, each in parts.items())
    print(f"learned: {said}, classifier {learned.classifier.bits / len(there):.2f}")
    of_pairs = learned_filter(columns, there, RATE, pairs(columns, there, 6))
    missed += tell("of pairs", of_pairs, there, asked)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
