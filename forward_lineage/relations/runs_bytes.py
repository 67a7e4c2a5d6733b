"""Form 2 of a segment: rows, and the runs of their sets, as columns.

varint rows, then the columns
row gaps; which set (0: a new one, else how many sets back); runs of each new set − 1; first id of each new set,
as zigzag steps; gaps between its runs − 2; lengths of all runs − 1
"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.columns import Reader, Writer, announced
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
    writer.column(_zigzag(np.diff(relation.first[opens], prepend=0)))
    writer.column(gap - 2)
    writer.column(relation.last - relation.first)
    return writer.bytes()


def _zigzag(step: Numbers) -> Numbers:
    """Steps between numbers below 2^63, modulo 2^63, as numbers below 2^63 that are small for either sign."""
    centred = (step + (1 << 62) & _MAX) - (1 << 62)
    return centred << 1 ^ centred >> 63


def decode(reader: Reader) -> RunsRelation:
    """The relation of some columns. Raises ValueError or IndexError where they cannot be right."""
    rows = reader.number()
    row_gap, back = reader.column(rows), reader.column(rows)
    more = reader.column(int((back == 0).sum()))  # than one run, each set
    runs, count = announced(more) + more.size, more + 1
    step, gap, length = reader.column(count.size), reader.column(runs - count.size), reader.column(runs)
    row = np.cumsum(row_gap + 1) - 1
    set_of_row = np.cumsum(back == 0) - back
    set_of_row[back == 0] -= 1
    if rows and set_of_row.min() < 0:
        raise ValueError("a row without a set")
    set_starts = np.append(0, np.cumsum(count))
    opens = np.zeros(runs, bool)
    opens[set_starts[:-1]] = True
    # Within a set a run begins its gap behind the end of the one before; each set begins at its own id.
    begin = np.zeros(runs, np.int64)
    begin[~opens] = gap + 2
    begin[1:] += np.where(opens[1:], 0, length[:-1])
    opening = np.cumsum(step >> 1 ^ -(step & 1)) & _MAX
    total = np.cumsum(begin)
    first = total - np.repeat(total[set_starts[:-1]] - opening, count)
    return RunsRelation(row, set_of_row, set_starts, first, first + length)
