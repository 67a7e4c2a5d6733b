"""How large the lineage of a result is: rows, ids, replication, clustering, bytes.   [Zhang 2007, Tables 7, 8 and 9]"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from forward_lineage.relations import segment
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.values import relation_of_values
from forward_lineage.row_ids.clustering import NEAR


@dataclass(frozen=True)
class LineageSize:
    """The lineage of one result, over all base tables.

    Attributes:
        rows: rows of the result.
        ids: base rows, summed over the result's rows and the tables.
        replication: mean number of result rows that a base row of the lineage appears in.
        clustering: percentage of ids with a neighbour in their set less than 3 away; see `row_ids/clustering.py`.
        int32: bytes as the paper counts them, 4 an id.
        values: bytes of the lineage values in `DL`.
        stored: bytes that the lineage store writes.

    """

    rows: int
    ids: int
    replication: float
    clustering: float
    int32: int
    values: int
    stored: int

    @property
    def average(self) -> float:
        """Base rows per result row."""
        return self.ids / self.rows if self.rows else 0.0


def lineage_size(values: pa.Table) -> LineageSize:
    """Measure a result.

    Args:
        values: the fields of `DL`: a column of lineage values for each base table.

    """
    ids = near = distinct = size = stored = 0
    for column in values.columns:
        relation = relation_of_values(column)
        ids += len(relation)
        near += clustered(relation)
        distinct += len(relation.ids())
        size += sum(len(each.as_buffer()) for each in column if each.is_valid)
        stored += len(segment.encode(Segment(0, values.num_rows, relation)))
    return LineageSize(
        rows=values.num_rows,
        ids=ids,
        replication=ids / distinct if distinct else 0.0,
        clustering=100 * near / ids if ids else 0.0,
        int32=4 * ids,
        values=size,
        stored=stored,
    )


def clustered(relation: LineageRelation) -> int:
    """Count the ids that have a neighbour in their row less than 3 away."""
    rows, ids = relation.pairs()
    close = (rows[1:] == rows[:-1]) & (ids[1:] - ids[:-1] < NEAR)
    near = np.zeros(len(ids), dtype=bool)
    near[1:] |= close
    near[:-1] |= close
    return int(near.sum())
