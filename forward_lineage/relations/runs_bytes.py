"""Form 2 of a segment: rows, and the runs of their sets, as columns.

varint rows, then the columns
row gaps; which set (0: a new one, else how many sets back); runs of each new set − 1; first id of each new set,
as zigzag steps; gaps between its runs − 2; lengths of all runs − 1
"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.columns import Reader, Writer, announced, steps, zigzag
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation

_MAX = 2**63 - 1


def encode(relation: LineageRelation) -> bytes:
    """The columns of a relation, the same for equal ones."""
    return _columns(RunsRelation.of(relation))


def _columns(relation: RunsRelation) -> bytes:
    count = np.diff(relation.set_starts)
    opens = np.zeros(relation.first.size, bool)
    opens[relation.set_starts[:-1]] = True
    gap = (relation.first[1:] - relation.last[:-1])[~opens[1:]]
    known = np.maximum.accumulate(np.append(-1, relation.set_of_row))[:-1] + 1
    writer = Writer()
    writer.number(relation.row.size)
    writer.column(np.diff(relation.row, prepend=-1) - 1)
    writer.column(known - relation.set_of_row)  # 0 where the row's set is a new one
    writer.column(count - 1)
    writer.column(zigzag(np.diff(relation.first[opens], prepend=0)))
    writer.column(gap - 2)
    writer.column(relation.last - relation.first)
    return writer.bytes()


def decode(reader: Reader, most_rows: int, pairs: int | None) -> RunsRelation:
    """The relation of some columns.

    Args:
        reader: stands in front of them.
        most_rows: of the segment; no more can have an id.
        pairs: how many there are, when that is known; no more runs can there be.

    Raises:
        ValueError: they cannot be right; so may be an IndexError.

    """
    if pairs is not None:
        reader.most_numbers = min(reader.most_numbers, pairs)
    rows = reader.number()
    if rows > most_rows:
        raise ValueError(f"{rows} rows with ids in a segment of {most_rows}")
    row_gap, back = reader.column(rows), reader.column(rows)
    more = reader.column(int((back == 0).sum()))  # than one run, each set
    runs, count = announced(more) + more.size, more + 1
    step, gap, length = reader.column(count.size), reader.column(runs - count.size), reader.column(runs)
    set_of_row = np.cumsum(back == 0) - back
    set_of_row[back == 0] -= 1
    if rows and set_of_row.min() < 0:
        raise ValueError("a row without a set")
    set_starts = np.append(0, np.cumsum(count))
    first, last = _runs(set_starts, step, gap, length)
    _check_size(length, set_starts, set_of_row, pairs)
    return RunsRelation(_ascending(row_gap), set_of_row, set_starts, first, last)


def _check_size(length: Numbers, set_starts: Numbers, set_of_row: Numbers, pairs: int | None) -> None:
    """There must not be more pairs than are known to be there, or can be counted; in floating point nothing wraps."""
    members = np.diff(np.append(0.0, np.cumsum(length + 1.0))[set_starts])
    found = float(members[set_of_row].sum())
    if found >= 2.0**63 or (pairs is not None and found > 1.5 * pairs):
        raise ValueError(f"about {found:.3g} pairs" + (f", the manifest says {pairs}" if pairs is not None else ""))


def _ascending(gap: Numbers) -> Numbers:
    """Numbers from the gaps between them."""
    # In floating point a sum beyond 2^64 stays one; below that, the first beyond 2^63 is negative.
    number: Numbers = np.cumsum(gap + 1) - 1
    if float(gap.sum(dtype=np.float64)) > 1.5 * _MAX or np.any(number < 0):
        raise ValueError("a row beyond 2^63 − 1")
    return number


def _runs(set_starts: Numbers, step: Numbers, gap: Numbers, length: Numbers) -> tuple[Numbers, Numbers]:
    """First and last id of each run."""
    count, opens = np.diff(set_starts), np.zeros(length.size, bool)
    opens[set_starts[:-1]] = True
    # Within a set a run begins its gap behind the end of the one before; each set begins at its own id.
    begin = np.zeros(length.size, np.int64)
    begin[~opens] = gap + 2
    begin[1:] += np.where(opens[1:], 0, length[:-1])
    opening = np.cumsum(steps(step)) & _MAX
    total = np.cumsum(begin)
    first = total - np.repeat(total[set_starts[:-1]] - opening, count)
    last = first + length
    # All sums are modulo 2^64. No step is larger than that, so a run beyond 2^63 − 1 ends, or the next begins, too low.
    if np.any(last < first) or np.any(first < 0) or np.any((first[1:] - 1 <= last[:-1]) & ~opens[1:]):
        raise ValueError("an id beyond 2^63 − 1")
    return first, last
