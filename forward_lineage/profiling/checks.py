"""How each kind of constraint is checked, and which query has its violations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forward_lineage.frontend.constraints import Attribute, Constraint, Dependency, Key, names_apart
from forward_lineage.profiling.capture import Captured, Wanted
from forward_lineage.profiling.codes import Codes, both, grouped
from forward_lineage.profiling.conflicts import disagreeing
from forward_lineage.profiling.queries import GroupedRows, disagreeing_sql, repeated_sql
from forward_lineage.profiling.verdict import Found, Kind
from forward_lineage.row_ids.manifest import Manifest

ROWS = "rows"


@dataclass(frozen=True, eq=False)
class Columns:
    """Attributes of a table, as they were captured.

    Attributes:
        manifest: the table.
        captured: its attributes.
        wanted: what they are, by the `id` of each `Attribute`.

    """

    manifest: Manifest
    captured: Captured
    wanted: Mapping[int, Wanted]

    def codes(self, attribute: Attribute) -> Codes:
        """Return the values of an attribute."""
        return self.captured.codes[self.wanted[id(attribute)].key]


@dataclass(frozen=True, eq=False)
class Checked:
    """A constraint that was checked.

    Attributes:
        kind: which kind it is.
        sql: the query for its violations.
        found: them.
        counts: what it calls the numbers of values.

    """

    kind: Kind
    sql: str
    found: Found
    counts: Sequence[str] = ()


def attributes_of(constraint: Constraint) -> tuple[Attribute, ...]:
    """Return the attributes of the table that a constraint is about."""
    if isinstance(constraint, Dependency):
        return (*constraint.left, *constraint.right)
    if isinstance(constraint, Key):
        return constraint.attributes
    raise NotImplementedError


def check(constraint: Constraint, columns: Columns, *, nulls_equal: bool) -> Checked:
    """Check a constraint.

    Args:
        constraint: it.
        columns: of its table.
        nulls_equal: whether NULL is a value like others.

    """
    if isinstance(constraint, Dependency):
        return _dependency(constraint, columns, nulls_equal=nulls_equal)
    assert isinstance(constraint, Key)
    return _key(constraint, columns, nulls_equal=nulls_equal)


def _dependency(constraint: Dependency, columns: Columns, *, nulls_equal: bool) -> Checked:
    """X → A, B is X → A and X → B: a NULL in A says nothing of B."""
    left = [columns.codes(each) for each in constraint.left]
    groups = grouped(left, nulls_equal=nulls_equal)
    bad = np.zeros(groups.count, np.bool_)
    right = [columns.codes(each) for each in constraint.right]
    for each in right:
        known = groups.known if nulls_equal else both(groups.known, each.known())
        bad |= disagreeing(groups, each.codes, known)
    names = names_apart([each.name for each in constraint.left])
    rows, *counts = names_apart([ROWS, *(f"{each.name}_values" for each in constraint.right)], names)
    grouped_rows = GroupedRows(columns.manifest.name, constraint.left, names, rows, nulls_equal)
    sql = disagreeing_sql(grouped_rows, dict(zip(counts, constraint.right, strict=True)))
    told = dict(zip(names_apart([each.name for each in constraint.right]), right, strict=True))
    return Checked("dependency", sql, Found(groups, bad, left, told, columns.captured.ids, nulls_equal), counts)


def _key(constraint: Key, columns: Columns, *, nulls_equal: bool) -> Checked:
    """Rows are numbered, and a group must agree on the number."""
    left = [columns.codes(each) for each in constraint.attributes]
    groups = grouped(left, nulls_equal=nulls_equal)
    bad = disagreeing(groups, np.arange(columns.captured.rows), groups.known)
    names = names_apart([each.name for each in constraint.attributes])
    (rows,) = names_apart([ROWS], names)
    sql = repeated_sql(GroupedRows(columns.manifest.name, constraint.attributes, names, rows, nulls_equal))
    return Checked("key", sql, Found(groups, bad, left, {}, columns.captured.ids, nulls_equal))
