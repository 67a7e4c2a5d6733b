"""A classifier of tuples whose scores are whole numbers, so that no two machines disagree.   [Macke 2021, §4.2–4.3]

Each value is hashed to one of a few buckets of its column, a wildcard to one of its own. A bucket has a vector of small
whole numbers; the vectors of a tuple are added up, negative numbers cut off, and weighted. That is a network with one
hidden layer. scikit-learn trains it; then its weights are rounded, and everything after counts with the rounded ones.

The thesis reads values of many kinds letter by letter, in a recurrent network. Buckets take their place here.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.hashing import Hashes, Tuples
from forward_lineage.extras import import_extra

_MOST_BUCKETS = 512
_HIDDEN = 16
_ROUNDED = 127
_ROUNDS = 12
_SEED = 4
#: Of how much the slope of the loss is cut for one tuple: λ of the shift parameters.
_SHIFTED = 0.9
Scores = npt.NDArray[np.int64]
Small = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Classifier:
    """Tells tuples that occur from others, mostly.

    Attributes:
        starts: where the buckets of each column begin among the vectors; the first of each is the wildcard's.
        buckets: how many each column has, but for the wildcard's; powers of 2.
        vectors: of each bucket, shape (all buckets, hidden).
        bias: added to the sum of vectors, shape (hidden,).
        weights: of the hidden numbers, shape (hidden,).

    """

    starts: tuple[int, ...]
    buckets: tuple[int, ...]
    vectors: Small
    bias: npt.NDArray[np.int32]
    weights: Small

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return 8 * (self.vectors.nbytes + self.bias.nbytes + self.weights.nbytes)

    def scores(self, tuples: Tuples) -> Scores:
        """Return a score of each tuple; the higher, the more it looks like one that occurs."""
        total = np.tile(self.bias, (len(tuples), 1))
        for column in range(len(self.buckets)):
            total += self.vectors[_bucket(tuples, column, self.buckets[column]) + self.starts[column]]
        return np.asarray(np.maximum(total, 0) @ self.weights.astype(np.int64), np.int64)


def buckets_for(hashes: Sequence[Hashes]) -> tuple[int, ...]:
    """Return how many buckets each column gets: about two for each value, `_MOST_BUCKETS` at most."""
    return tuple(min(1 << max(2 * each.size - 1, 1).bit_length(), _MOST_BUCKETS) for each in hashes)


def trained(there: Tuples, others: Tuples, buckets: tuple[int, ...]) -> Classifier:
    """Return a classifier that tells some tuples from others.

    Each tuple that occurs may shift its own score, at a price for each shift (ℓ₁). So the loss of one tuple grows no
    faster than the price, and noise does not bend the model: tuples that are shifted weigh less in a second training.

    Args:
        there: tuples that occur.
        others: tuples that do not.
        buckets: as from `buckets_for`.

    """
    network = import_extra("sklearn.neural_network", "filters", "learned filters need")
    starts = tuple(int(each) for each in np.cumsum([0, *(each + 1 for each in buckets[:-1])]))
    both = Tuples(np.concatenate([there.hashes, others.hashes]), np.concatenate([there.given, others.given]))
    rows, truth = _one_hot(both, starts, buckets), np.arange(len(both)) < len(there)
    model = network.MLPClassifier(
        (_HIDDEN,), batch_size=min(2_048, len(both)), max_iter=_ROUNDS, learning_rate_init=0.005, random_state=_SEED,
        n_iter_no_change=_ROUNDS, warm_start=True,
    )  # fmt: skip
    weights = np.ones(len(both))
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it ends after so many rounds, whether it could be better or not
            model.fit(rows, truth, sample_weight=weights)
        missing = 1 - model.predict_proba(rows)[:, 1]
        weights = np.where(truth, np.minimum(1, _SHIFTED / np.maximum(missing, 1e-9)), 1.0)
    return _rounded(model, starts, buckets)


def _one_hot(tuples: Tuples, starts: Sequence[int], buckets: Sequence[int]) -> object:
    sparse = import_extra("scipy.sparse", "filters", "learned filters need")
    columns = len(buckets)
    places = np.stack([_bucket(tuples, each, buckets[each]) + starts[each] for each in range(columns)], axis=1)
    ends = np.arange(0, places.size + 1, columns)
    return sparse.csr_matrix((np.ones(places.size, np.float32), places.ravel(), ends), (len(tuples), _all(buckets)))


def _all(buckets: Sequence[int]) -> int:
    return sum(each + 1 for each in buckets)


def _bucket(tuples: Tuples, column: int, buckets: int) -> npt.NDArray[np.int64]:
    bucket = (tuples.hashes[:, column] & np.uint64(buckets - 1)).astype(np.int64) + 1
    return np.where(tuples.given[:, column], bucket, 0)


def _rounded(model: object, starts: tuple[int, ...], buckets: tuple[int, ...]) -> Classifier:
    """The model in whole numbers, each layer on a scale of its own."""
    (first, second), (bias, _) = model.coefs_, model.intercepts_  # type: ignore[attr-defined]
    scale = _ROUNDED / max(float(np.abs(first).max()), 1e-9)
    last = _ROUNDED / max(float(np.abs(second).max()), 1e-9)
    return Classifier(
        starts,
        buckets,
        np.round(first * scale).astype(np.int8),
        np.round(bias * scale).astype(np.int32),
        np.round(second[:, 0] * last).astype(np.int8),
    )
