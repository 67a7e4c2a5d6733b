"""The learned filter: prefilter, classifier, backup filter.   [Macke 2021, chapter 4; Mitzenmacher 2018]

A tuple may occur if the prefilter finds it, and the classifier scores it high enough or the backup filter finds it. All
tuples that occur are in the prefilter; those with a low score are in the backup filter. So none is missed, whatever the
classifier says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forward_lineage.approximate.filters.classifier import Classifier, Scores, buckets_for, trained
from forward_lineage.approximate.filters.fuse import FuseFilter, bits_for, fuse_filter
from forward_lineage.approximate.filters.hashing import Hashes, Truths, Tuples
from forward_lineage.approximate.filters.tuples import CodedColumns

_WIDTHS = range(9)
_LEVELS = 200


@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """Tuples, as a filter.

    Attributes:
        before: finds all tuples that occur; of width 0 if there is no prefilter.
        classifier: scores tuples.
        threshold: the least score at which a tuple may occur without the backup filter.
        behind: finds those that occur and score less.

    """

    before: FuseFilter
    classifier: Classifier
    threshold: int
    behind: FuseFilter

    @property
    def bits(self) -> int:
        """How many bits it takes, with the classifier."""
        return self.before.bits + self.classifier.bits + self.behind.bits

    def occurs(self, tuples: Tuples) -> Truths:
        """Tell for each tuple whether it may occur."""
        keys = tuples.keys()
        found = self.before.contains(keys)
        left = np.flatnonzero(found)
        low = self.classifier.scores(tuples[left]) < self.threshold
        left = left[low]
        found[left] = self.behind.contains(keys[left])
        return found


@dataclass(frozen=True)
class Cut:
    """Where the scores are cut, and how wide the fingerprints around are.

    Attributes:
        threshold: the least score that is high.
        before: the width of the prefilter's fingerprints; 0: there is none.
        behind: the width of the backup filter's; 0: it finds everything.
        bits: of both filters.

    """

    threshold: int
    before: int
    behind: int
    bits: int


def divergence(true_rate: float, false_rate: float) -> float:
    """Return KL(T ‖ F) of two probabilities: the thesis cuts where it is greatest.   [Macke 2021, Theorem 4.1]"""
    total = 0.0
    for one, other in ((true_rate, false_rate), (1 - true_rate, 1 - false_rate)):
        if one > 0:
            total += one * math.log(one / other) if other > 0 else math.inf
    return total


def best_cut(there: Scores, others: Scores, rate: float) -> Cut:
    """Return the cut that takes the fewest bits at a rate of false positives.

    Theorem 4.1 says which threshold is best if there is a prefilter, and filters may have parts of bits. So its
    threshold is tried first. Fingerprints have whole bits, and no prefilter may be better: others are tried, too.

    Args:
        there: the scores of tuples that occur.
        others: the scores of tuples that do not, as they will be asked for.
        rate: the greatest part of these that may be found.

    """
    levels = np.unique(np.quantile(np.concatenate([there, others]), np.linspace(0, 1, _LEVELS), method="nearest"))
    there, others = np.sort(there), np.sort(others)
    low = np.searchsorted(there, levels)
    false = 1 - np.searchsorted(others, levels) / max(others.size, 1)
    kept = 1 - low / max(there.size, 1)
    by_theorem = int(np.argmax([divergence(t, max(f, 1e-9)) for t, f in zip(kept, false, strict=True)]))
    order = [by_theorem, *range(levels.size)]
    cuts = [_cut(int(levels[each]), int(there.size), int(low[each]), float(false[each]), rate) for each in order]
    found = [each for each in cuts if each is not None]
    if not found:  # every other tuple scores high: the backup filter has all
        top = int(max(there[-1], others[-1])) + 1
        return Cut(top, 0, 8, bits_for(int(there.size), 8))
    return min(found, key=lambda each: each.bits)


def _cut(threshold: int, size: int, low: int, false: float, rate: float) -> Cut | None:
    cuts = [
        Cut(threshold, before, behind, bits_for(size, before) + bits_for(low, behind))
        for before in _WIDTHS
        for behind in _WIDTHS
        if 2.0**-before * (false + (1 - false) * (2.0**-behind if low else 0)) <= rate
    ]
    return min(cuts, key=lambda each: each.bits, default=None)


def learned_filter(columns: CodedColumns, there: Tuples, rate: float, others: Tuples | None = None) -> LearnedFilter:
    """Return a learned filter of the tuples that occur.

    Args:
        columns: that they are of.
        there: all of them.
        rate: the greatest part of tuples that do not occur, but are asked for, that may be found.
        others: such tuples; None: of values that occur, though not together.

    Raises:
        SetupError: scikit-learn is not installed.

    """
    if others is None:
        others = not_together(columns, there, len(there))
    half = len(others) // 2  # those that a classifier was trained with look easier to it than they are
    classifier = trained(there, others[:half], buckets_for(columns.hashes))
    scores = classifier.scores(there)
    cut = best_cut(scores, classifier.scores(others[half:]), rate)
    keys = there.keys()
    behind = fuse_filter(np.unique(keys[scores < cut.threshold]), cut.behind)
    return LearnedFilter(fuse_filter(np.unique(keys), cut.before), classifier, cut.threshold, behind)


def not_together(columns: CodedColumns, there: Tuples, count: int, seed: int = 0) -> Tuples:
    """Return tuples that do not occur, of values that do: each place is of one of two rows.   [Macke 2021, §4.4]

    Wildcards are drawn as they are among tuples that occur: in most of these few places are free.

    Args:
        columns: the rows.
        there: all tuples that occur.
        count: how many are wanted at least; fewer come if nearly all tuples occur.
        seed: of the chance.

    """
    chance, known = np.random.default_rng(seed), np.sort(there.keys())
    parts: list[Tuples] = []
    for _ in range(6):
        rows = [columns.codes[chance.integers(0, len(columns.codes), count)] for _ in range(2)]
        codes = np.where(chance.random(rows[0].shape) < 0.5, *rows)
        given = there.given[chance.integers(0, len(there), count)] & (codes >= 0)
        drawn = Tuples(_hashes(columns.hashes, codes), given)
        parts.append(drawn[~_among(drawn.keys(), known) & (given.sum(axis=1) > 1)])
        if sum(map(len, parts)) >= count:
            break
    return Tuples(np.concatenate([each.hashes for each in parts]), np.concatenate([each.given for each in parts]))


def _hashes(values: Sequence[Hashes], codes: np.ndarray) -> Hashes:
    return np.stack([each[codes[:, place]] for place, each in enumerate(values)], axis=1)


def _among(keys: Hashes, known: Hashes) -> Truths:
    place = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.asarray(known[place] == keys)
