"""Form 1 of a segment: a roBDD's node table as columns.

varints row_bits, id_bits, root (0 unless there is no node), then the columns
nodes of each level, from the id's lowest bit upwards; lo steps; hi codes, as in `udafs/FORMAT.md`, tag 01
"""

from __future__ import annotations

import numpy as np

from forward_lineage.relations.bdd import MAX_BITS, BddRelation
from forward_lineage.relations.columns import Reader, Writer, announced
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation
from udafs import robdd_build, robdd_bytes

#: A node takes 1.5 to 2 bytes unless the lineage is very regular, so a BDD of many more nodes than a third of the bytes
#: would win little or nothing; a BDD of few nodes is tried in any case.
_CHEAP = 20_000
#: Up to so many pairs a BDD is made in a hundredth of a second, so it is tried whatever it may win.
_FEW_PAIRS = 1 << 16
#: Of more, one is not tried for the sake of so many bytes,
_FEW_BYTES = 1 << 13
#: nor if one of the first sixteenth of the pairs alone has this many times the nodes that are its share.
_SAMPLED, _TOO_MANY = 16, 2
#: Beyond this many pairs none is tried: building it could take longer than saving the result.
_MOST_PAIRS = 1 << 22


def encode(relation: LineageRelation) -> bytes:
    """The columns of a relation, the same for equal ones."""
    # What is made of pairs has as few bits as there can be.
    return _columns(relation.trimmed() if isinstance(relation, BddRelation) else BddRelation.of(relation))


def smaller(relation: RunsRelation, size: int) -> bytes | None:
    """The columns of a relation if they take less than `size` bytes; None as well where that is unlikely."""
    many = relation.cardinality > _FEW_PAIRS
    if many and (size <= _FEW_BYTES or relation.cardinality > _MOST_PAIRS):
        return None
    rows, ids = relation.pairs()
    part = rows.size // _SAMPLED
    if many and _within(rows[:part], ids[:part], _TOO_MANY * (_CHEAP + size // 3) // _SAMPLED) is None:
        return None
    found = _within(rows, ids, _CHEAP + size // 3)
    columns = None if found is None else _columns(found)
    return columns if columns is not None and len(columns) < size else None


def _within(rows: Numbers, ids: Numbers, nodes: int) -> BddRelation | None:
    """The BDD of some pairs, sorted, if it has no more nodes than that."""
    row_bits, id_bits = (int(side.max(initial=0)).bit_length() for side in (rows, ids))
    upper, lower = rows.view(np.uint64), ids.view(np.uint64)
    try:
        table = robdd_build.from_pairs(upper, lower, row_bits, id_bits, at_most=nodes)
    except robdd_build.TooManyNodesError:
        return None
    return BddRelation(table, row_bits, id_bits)


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
