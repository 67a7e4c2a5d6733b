"""Tag 00: sorted ids as delta varints, the set fallback for small and scattered sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udafs import varint

Ids = npt.NDArray[np.int64]

MAX_ID = 2**63 - 1


def deltas(ids: Ids) -> varint.UInt64s:
    """The first id, then each id minus its predecessor minus 1. `ids` are strictly ascending and not negative."""
    out = ids.astype(np.uint64)
    out[1:] -= out[:-1] + np.uint64(1)
    return out


def size(ids: Ids) -> int:
    """Bytes of the body that `encode` would write."""
    return int(varint.sizes(deltas(ids)).sum()) + int(varint.sizes(np.array([ids.size], np.uint64))[0])


def encode(ids: Ids) -> bytes:
    """The body of tag 00."""
    return varint.encode(np.concatenate([np.array([ids.size], np.uint64), deltas(ids)]))


def decode(body: varint.Bytes) -> Ids:
    """The ids of a body of tag 00, strictly ascending.

    Raises:
        CorruptLineageError: with a keyword of FORMAT.md.

    """
    numbers = _announced(body)
    numbers[1:] += np.uint64(1)
    ids = np.cumsum(numbers, dtype=np.uint64)
    # A step is at most 2^63, so the first id beyond the range is seen before the sum can wrap around 2^64.
    if np.any(ids > np.uint64(MAX_ID)):
        raise varint.corrupt("range", f"an id above {MAX_ID}")
    return ids.view(np.int64)


def _announced(body: varint.Bytes) -> varint.UInt64s:
    """The numbers of a body, which are as many as it says."""
    count, start = varint.decode_first(body)
    if count > body.size - start:
        raise varint.corrupt("truncated", f"{count} ids announced, {body.size - start} bytes follow")
    numbers = varint.decode(body[start:])
    if numbers.size != count:
        keyword = "truncated" if numbers.size < count else "trailing"
        raise varint.corrupt(keyword, f"{count} ids announced, {numbers.size} follow")
    return numbers
