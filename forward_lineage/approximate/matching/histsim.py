"""HistSim: which k candidates are closest to a target, in three stages, each with a third of δ.   [Macke 2021, §5.3]

1. Candidates with few rows are pruned: by an index, which is exact, or by a test.
2. Rounds: guess the k closest, then draw fresh rows, and test the guess. Round t has δ/3 / 2ᵗ. All tests of a round
   must reject, so one of them that is wrong has to; their number costs nothing (Lemma 5.4).
3. The histograms of the k closest are made of so many rows that none is off by ε.

The thesis' stage 3 divides its δ/3 by k. But which k candidates these are was chosen by rows that are used again. Here
it is divided by the number of all candidates that were left, and the histogram of each is of its *first* rows, whose
number is settled: it does not matter who is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from forward_lineage.approximate.matching.block_reading import BlockReader, Truths
from forward_lineage.approximate.matching.distance_tests import (
    CERTAIN,
    Counts,
    Floats,
    Sample,
    all_rejected,
    distance,
    divergence,
    is_far,
    is_near,
    is_rare,
    rows_to_reconstruct,
)

#: Tables with so many rows are read whole, where rounds would take longer.
ADD_UP_FROM = 1 << 20
Tell = Callable[[str], None]
_Made = tuple[Sequence[Counts], Sequence[Callable[[], Any]], Sequence[bool]]
_PILOT = 4  # so many times the rows that show a candidate with the least share for sure
_PART = 20  # the pilot is this part of all rows at most
_GROWTH = 2  # a candidate's rows of a round: at most so many times those seen before
_FEW = 512
_PARTS = 4  # a row that is drawn takes so many times as long as one in order, and longer
_SURE = 2.0  # standard deviations by which tests of fresh rows should pass


@dataclass(frozen=True)
class Wanted:
    """The histograms to look for.

    Attributes:
        target: adds up to 1, shape (bars,).
        k: how many candidates.
        error: ε.
        delta: the probability that the answer is wrong.
        least: the share of all rows below which a candidate may be left out.
        exact_sizes: whether the index knows how many rows each candidate has.

    """

    target: Floats
    k: int
    error: float
    delta: float
    least: float
    exact_sizes: bool


@dataclass(frozen=True, eq=False)
class Match:
    """The answer.

    Attributes:
        chosen: the candidates, the closest first.
        counts: of each the histogram.
        rows: gives the positions that the histogram of each is made of.
        whole: for each whether these are all of its rows.
        left: how many candidates were not pruned.
        rounds: how many tests there were.
        certified: whether stage 2 and 3 came to an end.

    """

    chosen: list[int]
    counts: list[Counts]
    rows: list[Callable[[], Counts]]
    whole: list[bool]
    left: int
    rounds: int
    certified: bool


class HistSim:
    """Looks for candidates.

    Args:
        reader: nothing was read yet.
        wanted: what is looked for.
        tell: is told how far it is.

    """

    def __init__(self, reader: BlockReader, wanted: Wanted, tell: Tell) -> None:
        self._reader, self._wanted, self._tell = reader, wanted, tell
        self._seen: Counts = np.zeros((reader.rows.count, reader.rows.bars), np.int64)
        self._level = math.log(wanted.delta / 3)
        self._rounds = 0

    def run(self) -> Match:
        """Return the answer, or the guess so far once the reader stops."""
        left = self._prune()
        sure = self._separate(left) if np.count_nonzero(left) > self._wanted.k else True
        chosen = self._guess(left)
        if self._reader.whole:
            counts = [self._seen[each] for each in chosen]
            rows = [partial(self._reader.rows.all_of, each) for each in chosen]
            return self._match(left, chosen, (counts, rows, [True] * len(chosen)), certified=True)
        found, whole, enough = self._reconstruct(chosen, int(np.count_nonzero(left)))
        made = [self._histogram(each) for each in found], [partial(np.copy, each) for each in found], whole
        return self._match(left, chosen, made, certified=sure and enough)

    def _match(self, left: Truths, chosen: list[int], made: _Made, *, certified: bool) -> Match:
        counts, rows, whole = made
        far = [distance(each, self._wanted.target) for each in counts]
        there = [place for place in range(len(chosen)) if counts[place].any()]  # a condition may leave nothing
        order = sorted(there, key=lambda place: (far[place], chosen[place]))
        return Match(
            [chosen[each] for each in order],
            [counts[each] for each in order],
            [rows[each] for each in order],
            [whole[each] for each in order],
            int(np.count_nonzero(left)),
            self._rounds,
            certified,
        )

    def _histogram(self, positions: Counts) -> Counts:
        return np.bincount(self._reader.rows.bar[positions], minlength=self._reader.rows.bars)

    # ------------------------------------------------------------ stage 1

    def _prune(self) -> Truths:
        """Stage 1: candidates that are not rare, or not known to be."""
        reader, wanted = self._reader, self._wanted
        total = reader.positions.size
        few = math.ceil(wanted.least * total)
        left = reader.size >= max(few, 1)  # a condition leaves no more rows than there are
        count = int(np.count_nonzero(left))
        if not count:
            return left
        pilot = _PILOT * math.log(3 * count / wanted.delta) / max(wanted.least, 1 / total)
        self._seen += reader.first(min(max(int(pilot), _FEW), max(total // _PART, 1)))
        read, places = reader.rows_read, np.flatnonzero(left)
        if wanted.exact_sizes or not wanted.least:
            return left
        found = self._seen[places].sum(axis=1)
        tests = np.array([is_rare(int(each), read, few / total) for each in found])
        left[places[all_rejected(tests, wanted.delta / 3)]] = False
        self._tell(f"stage 1: {read:,} rows read, {int(np.count_nonzero(left)):,} candidates left")
        return left

    # ------------------------------------------------------------ stage 2

    def _separate(self, left: Truths) -> bool:
        """Stage 2: read until the guess is the right one, or one that is as good."""
        while not self._reader.stopped():
            places = np.flatnonzero(left)
            chosen = self._guess(left)
            far = self._distances(places)
            near = np.isin(places, chosen)
            split = (far[near].max() + far[~near].min()) / 2
            needs = self._needs(places, far, near, float(split))
            most = np.maximum(_GROWTH * self._seen[places].sum(axis=1), _FEW)
            if not needs.any():  # all of them were read whole
                return True
            if self._is_long(int(needs.sum())):
                self._seen = self._reader.all()
                return True
            if (needs > most).any():  # nothing could be certain after this round: look who is where
                self._seen += self._reader.fill(self._spread(places, np.where(needs > most, most, 0)))
                continue
            self._rounds += 1
            if self._tested(places, near, float(split), needs):
                return True
        return False

    def _is_long(self, needs: int) -> bool:
        """Whether a good part of a large table would be read: to read it whole, in order, takes less time.

        Args:
            needs: how many rows are needed for which the condition holds.

        """
        rows = self._reader.positions.size
        return rows >= ADD_UP_FROM and self._reader.rows_read + needs > rows / _PARTS

    def _tested(self, places: Counts, near: Truths, split: float, needs: Counts) -> bool:
        """Draw fresh rows, and tell whether all tests reject what would make the guess wrong."""
        wanted = self._wanted
        signs = np.where(self._shares(places) >= wanted.target, 1, -1)
        fresh = self._reader.fill(self._spread(places, needs))
        worst = CERTAIN
        for place, candidate in enumerate(places):
            sample = self._sample(int(candidate), fresh[candidate])
            if near[place]:
                worst = max(worst, is_near(sample, wanted.target, split + wanted.error / 2))
            else:
                worst = max(worst, is_far(sample, wanted.target, split - wanted.error / 2, signs[place]))
        self._seen += fresh
        level = self._level - self._rounds * math.log(2)
        self._tell(
            f"round {self._rounds}: {self._reader.rows_read:,} of {self._reader.positions.size:,} rows read, "
            f"{len(places):,} candidates"
        )
        return worst <= level and not self._reader.stopped()

    def _sample(self, candidate: int, fresh: Counts) -> Sample:
        seen, size = self._seen[candidate], int(self._reader.size[candidate])
        read = int(seen.sum() + fresh.sum())
        if self._wanted.exact_sizes:
            return Sample(seen, fresh, size, size)
        most = size - (int(self._reader.touched[candidate]) - read)
        return Sample(seen, fresh, read, most)

    def _needs(self, places: Counts, far: Floats, near: Truths, split: float) -> Counts:
        """How many fresh rows each candidate likely needs; it costs nothing but time if they are too few."""
        bars, half = self._wanted.target.size, self._wanted.error / 2
        level = -self._level + (self._rounds + 1) * math.log(2)
        spread = math.sqrt(2 * bars / math.pi)  # by how much a sample looks farther than all rows, times √rows
        of_near = (math.sqrt(2 * (bars * math.log(2) + level)) + spread) / np.maximum(split + half - far, half)
        seen = np.maximum(self._seen[places].sum(axis=1), 1)
        shares = self._shares(places)
        signs = np.where(shares >= self._wanted.target, 1, -1)
        of_signs = (1 + (signs * shares).sum(axis=1)) / 2
        limit = (1 + split - half + signs @ self._wanted.target) / 2
        sure = np.maximum(of_signs - spread / np.sqrt(seen) / 2, limit + half / 2)
        needs = np.zeros(places.size)
        for place in np.flatnonzero(~near):
            apart = divergence(float(min(sure[place], 1.0)), float(limit[place]))
            needs[place] = (math.sqrt(2 * level) + _SURE) ** 2 / 2 / apart if apart and split > half else 0
        needs = np.where(near, of_near**2, needs)
        rest = (self._reader.size - self._reader.touched)[places]
        needs = np.where(rest > 0, np.maximum(needs, 1), 0)
        return np.asarray(np.minimum(np.ceil(needs), np.maximum(rest, 0)), np.int64)

    # ------------------------------------------------------------ stage 3

    def _reconstruct(self, chosen: list[int], left: int) -> tuple[list[Counts], list[bool], bool]:
        """Stage 3: the first rows of each candidate that was chosen, so many that its histogram is close."""
        wanted, reader = self._wanted, self._reader
        level = wanted.delta / 3 / max(left, 1)
        rows, whole, enough = [], [], True
        for candidate in chosen:
            size = int(reader.size[candidate])
            needed = rows_to_reconstruct(wanted.target.size, size, wanted.error, level)
            if int(reader.touched[candidate]) >= size:
                needed = size  # all were read: exact
            found = reader.first_of(candidate, needed)
            rows.append(found.astype(np.int64))
            whole.append(int(reader.touched[candidate]) >= size and (needed == size or found.size < needed))
            enough &= whole[-1] or found.size >= needed
        return rows, whole, enough

    # ------------------------------------------------------------ what was seen

    def _guess(self, left: Truths) -> list[int]:
        places = np.flatnonzero(left)
        order = np.argsort(self._distances(places), kind="stable")
        return [int(each) for each in places[order[: self._wanted.k]]]

    def _distances(self, places: Counts) -> Floats:
        return np.array([distance(self._seen[each], self._wanted.target) for each in places])

    def _shares(self, places: Counts) -> Floats:
        seen = self._seen[places]
        return np.asarray(seen / np.maximum(seen.sum(axis=1, keepdims=True), 1))

    def _spread(self, places: Counts, needs: Counts) -> Counts:
        found = np.zeros(self._reader.rows.count, np.int64)
        found[places] = needs
        return found
