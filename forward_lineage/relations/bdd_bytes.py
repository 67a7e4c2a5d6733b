"""Form 1 of a segment: a roBDD's node table as columns.

varints row_bits, id_bits, root (0 unless there is no node), then the columns
nodes of each level, from the id's lowest bit upwards; lo steps; hi codes, as in `udafs/FORMAT.md`, tag 01
"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.bdd import MAX_BITS, BddRelation
from forward_lineage.relations.columns import Reader, Writer, announced
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from udafs import robdd_build, robdd_bytes

#: A node takes 1.5 to 2 bytes unless the lineage is very regular, so a BDD of many more nodes than a third of the bytes
#: would win little or nothing; a BDD of few nodes is tried in any case.
_CHEAP = 20_000


def encode(relation: LineageRelation) -> bytes:
    """The columns of a relation, the same for equal ones."""
    # What is made of pairs has as few bits as there can be.
    return _columns(relation.trimmed() if isinstance(relation, BddRelation) else BddRelation.of(relation))


def smaller(relation: RunsRelation, size: int) -> bytes | None:
    """The columns of a relation if they take less than `size` bytes."""
    rows, ids = relation.pairs()
    row_bits, id_bits = (int(side.max(initial=0)).bit_length() for side in (rows, ids))
    upper, lower = rows.view(np.uint64), ids.view(np.uint64)
    try:
        table = robdd_build.from_pairs(upper, lower, row_bits, id_bits, at_most=_CHEAP + size // 3)
    except robdd_build.TooManyNodesError:
        return None
    columns = _columns(BddRelation(table, row_bits, id_bits))
    return columns if len(columns) < size else None


def _columns(relation: BddRelation) -> bytes:
    writer = Writer()
    for number in (relation.row_bits, relation.id_bits, relation.table.root if not relation.table.nodes else 0):
        writer.number(number)
    for column in robdd_bytes.columns(relation.table):
        writer.column(column)
    return writer.bytes()


def decode(reader: Reader, most_rows: int, pairs: int | None) -> BddRelation:
    """The relation of some columns.

    Args:
        reader: stands in front of them.
        most_rows: of the segment.
        pairs: how many there are, when that is known: each is a path, which has a node for each bit at most.

    Raises:
        ValueError: they cannot be right; so may be a CorruptLineageError.

    """
    row_bits, id_bits, root = reader.number(), reader.number(), reader.number()
    if max(row_bits, id_bits) > MAX_BITS:
        raise ValueError(f"{row_bits} + {id_bits} bits, {MAX_BITS} a side are the most")
    if root > 1:
        raise ValueError(f"root {root} is neither 0 nor 1")
    count = reader.column(row_bits + id_bits)
    if pairs is not None:
        reader.most_numbers = min(reader.most_numbers, pairs * count.size)
    lo, hi = (reader.column(announced(count)).astype(np.uint64) for _ in range(2))
    return BddRelation(robdd_bytes.from_columns(count.astype(np.uint64), lo, hi, root), row_bits, id_bits)
