"""The findings about a constraint: the graph from its violations to rows, and what these have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from forward_lineage.columns.files import Ids
from forward_lineage.profiling.codes import Array, Codes, Groups, Known
from forward_lineage.profiling.conflicts import Bad, Violations
from forward_lineage.relations.run_arrays import runs_in
from forward_lineage.relations.runs import RunsRelation

Kind = Literal["dependency", "key", "inclusion", "denial"]


@dataclass(frozen=True, eq=False)
class Found:
    """The findings about a constraint: over numbers of rows, groups and values.

    Attributes:
        groups: of rows.
        bad: which of them violate it.
        left: what a group has in common.
        ids: of the table's rows; None: 0, 1, 2, ….
        right: attributes whose values in a group are told; by name.
        within: which rows of these groups violate it; None: all.
        partners: given a row, the rows that it must not stand beside.
        nulls_equal: whether NULL is a value.

    """

    groups: Groups
    bad: Bad
    left: Sequence[Codes]
    ids: Ids | None
    right: Mapping[str, Codes] = field(default_factory=dict)
    within: Known = None
    partners: Callable[[int], Array] | None = None
    nulls_equal: bool = True

    @cached_property
    def graph(self) -> Violations:
        """The violations with their rows."""
        return Violations.of(self.groups, self.bad, self.within)

    def columns(self) -> list[pa.Array]:
        """Return what groups have in common, how many rows they have, and how many values in each attribute."""
        examples = self.graph.examples()
        return [
            *(each.shown(each.codes[examples]) for each in self.left),
            pa.array(self.graph.sizes),
            *(pa.array(self.graph.different(each, nulls_equal=self.nulls_equal)) for each in self.right.values()),
        ]

    def ids_of(self, rows: Array) -> Ids:
        """Return the ids of some rows."""
        return rows.astype(np.int64) if self.ids is None else self.ids[rows]

    def relation(self) -> RunsRelation:
        """Return the graph as a lineage relation: violation → row id."""
        violation, ids = np.repeat(np.arange(self.graph.count), self.graph.sizes), self.ids_of(self.graph.order)
        begins, ends = runs_in(ids, violation)
        return RunsRelation.from_runs(violation[begins], ids[begins], ids[ends])
