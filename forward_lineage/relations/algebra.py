"""Operations that take two relations or make one: union, composition, inverse, the empty relation, identities.

The one file that knows every form and picks the way. It joins runs while the pairs it goes through can be listed.
Beyond that, or where a relation is a BDD already, it takes the relational product of BDDs. [Zhang 2007, §3.1; §4.2 for
the BDD]
"""

from __future__ import annotations

from collections.abc import Iterable

from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.box_composition import composed
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from udafs.lineage_set import LineageSet

#: Relations are combined through this many pairs (row, id) at most; what has more is combined as BDDs.
MOST_PAIRS = 1 << 26


def empty() -> LineageRelation:
    """The relation without pairs."""
    return RunsRelation.from_pairs((), ())


def identity(of: LineageSet) -> LineageRelation:
    """Every number of a set with itself."""
    return RunsRelation.identity(of)


def inverse(relation: LineageRelation) -> LineageRelation:
    """The pairs the other way round: ids as rows, rows as ids."""
    rows, ids = relation.pairs()
    return RunsRelation.from_pairs(ids, rows)


def union(parts: Iterable[LineageRelation]) -> LineageRelation:
    """The pairs that are in any of the parts; of none, the empty relation."""
    listed = list(parts)
    if len(listed) < 2:
        return listed[0] if listed else empty()
    if any(isinstance(part, BddRelation) and part.cardinality > MOST_PAIRS for part in listed):
        return BddRelation.united([BddRelation.of(part) for part in listed])
    boxes = [part for part in listed if isinstance(part, BoxRelation)]
    if len(boxes) == len(listed) and all(part.shapes == boxes[0].shapes for part in boxes):
        return BoxRelation.united(boxes)
    return RunsRelation.united([RunsRelation.of(part) for part in listed])


def compose(first: LineageRelation, second: LineageRelation) -> LineageRelation:
    """The pairs (row, id) with some m such that (row, m) is in the first relation and (m, id) in the second."""
    if isinstance(first, BoxRelation) and isinstance(second, BoxRelation):
        boxes = composed(first, second)
        if isinstance(boxes, BoxRelation):
            return boxes
    if not isinstance(first, BddRelation) and not isinstance(second, BddRelation):
        mine = RunsRelation.of(first)
        if mine.members <= MOST_PAIRS:
            return mine.join(RunsRelation.of(second))
    return BddRelation.of(first).product(BddRelation.of(second))
