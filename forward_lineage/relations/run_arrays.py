"""Runs of consecutive ids as arrays: made, merged, compared, listed; those of many owners at once."""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.relation import Numbers

_EVEN = np.uint64(0xC2B2AE3D27D4EB4E)


def ranges(first: Numbers, count: Numbers) -> Numbers:
    """The numbers first[i] … first[i] + count[i] − 1 of each i, one after the other."""
    ends = np.cumsum(count)
    listed: Numbers = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(first - ends + count, count)
    return listed


def merged(first: Numbers, last: Numbers) -> tuple[Numbers, Numbers]:
    """The same ids as runs that neither overlap nor touch, ascending."""
    if not bool(np.all(first[1:] >= first[:-1])):
        order = np.argsort(first, kind="stable")
        first, last = first[order], last[order]
    reached = np.maximum.accumulate(last)
    begins = np.ones(first.size, bool)
    begins[1:] = first[1:] - 1 > reached[:-1]
    at = np.flatnonzero(begins)
    return first[at], reached[np.append(at[1:], first.size)[: at.size] - 1]


def merged_by(owner: Numbers, first: Numbers, last: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Runs of each owner merged where they overlap or touch, sorted by (owner, first)."""
    order = np.lexsort((first, owner))
    owner, first, last = owner[order], first[order], last[order]
    # Ranks instead of ids leave room for the owner in front, so that one running maximum serves all owners.
    values, rank = np.unique(last, return_inverse=True)
    reach = np.maximum.accumulate(owner * max(values.size, 1) + rank)
    reached = values[reach % max(values.size, 1)] if values.size else last
    begins = np.ones(first.size, bool)
    begins[1:] = (np.diff(owner) != 0) | (first[1:] - 1 > reached[:-1])
    at = np.flatnonzero(begins)
    return owner[at], first[at], reached[np.append(at[1:], first.size) - 1] if at.size else first


def first_equal(starts: Numbers, count: Numbers, first: Numbers, last: Numbers) -> Numbers:
    """For each row the first row with the same runs: found by a hash, then compared run by run."""
    if not starts.size:
        return starts
    place = (np.arange(first.size) - np.repeat(starts, count)).astype(np.uint64)
    # Odd plus even: of runs of one id, too, no two are mixed alike.
    mixed = first.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + last.astype(np.uint64) * _EVEN
    mixed = (mixed ^ mixed >> np.uint64(29)) * (place * np.uint64(0xD6E8FEB86659FD92) + np.uint64(0xBF58476D1CE4E5B9))
    _, index, inverse = np.unique(np.add.reduceat(mixed, starts), return_index=True, return_inverse=True)
    like = index[inverse]
    asked = np.flatnonzero((like != np.arange(like.size)) & (count == count[like]))
    mine, theirs = ranges(starts[asked], count[asked]), ranges(starts[like[asked]], count[asked])
    same = (first[mine] == first[theirs]) & (last[mine] == last[theirs])
    ends = np.cumsum(count[asked])
    equal = np.logical_and.reduceat(same, ends - count[asked]) if asked.size else np.zeros(0, bool)
    found = np.arange(like.size)
    found[asked[equal]] = like[asked[equal]]
    return found


def runs_in(ids: Numbers, owner: Numbers | None = None) -> tuple[Numbers, Numbers]:
    """Where the runs of consecutive ids begin and where they end; ids ascending, for each owner if there are owners."""
    begins = np.ones(ids.size, bool)
    begins[1:] = np.diff(ids) != 1
    if owner is not None:
        begins[1:] |= np.diff(owner) != 0
    at = np.flatnonzero(begins)
    return at, np.append(at[1:], ids.size)[: at.size] - 1
