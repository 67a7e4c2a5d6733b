"""`Verdict`: what `ForwardLineage.dependencies` says of a constraint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from forward_lineage.profiling.codes import Array, Codes
from forward_lineage.profiling.violation_graph import Found, Kind
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.store.library.saved_result import SavedResult
from udafs.errors import BadArgumentError
from udafs.lineage_set import LineageSet


@dataclass(eq=False)
class Verdict:
    """The findings about a constraint, in one version of a table. Violations are counted from 0, most rows first.

    Attributes:
        constraint: its text.
        kind: ``dependency``, ``key``, ``inclusion`` or ``denial``.
        table: the table.
        version: of its registration.
        trusted: whether the table was registered with ``trusted=True``: nobody checks its ids.
        sql: the query whose rows are the violations, and whose lineage is their rows.
        counts: the columns of `violations` that say how many values there are on the right of a dependency.
        saved_as: the name under which the violations were saved last; None: they were not.

    """

    constraint: str
    kind: Kind
    table: str
    version: int
    trusted: bool
    sql: str
    counts: Sequence[str]
    _found: Found = field(repr=False)
    _schema: Callable[[], pa.Schema] = field(repr=False)
    _save: Callable[[Verdict, str], SavedResult] = field(repr=False)
    saved_as: str | None = None

    @cached_property
    def holds(self) -> bool:
        """Whether nothing violates it."""
        return not self._found.bad.any()

    @cached_property
    def count(self) -> int:
        """How many violations there are."""
        return int(np.count_nonzero(self._found.bad))

    @cached_property
    def violations(self) -> pa.Table:
        """The violations, one row each, as `sql` would give them.

        The columns are the common values of its rows, and ``rows``, how many there are. A dependency also has, for each
        attribute on the right, ``<attribute>_values``, how many values they have there.
        """
        schema = self._schema()
        columns = [each.cast(field.type) for each, field in zip(self._found.columns(), schema, strict=True)]
        return pa.table(columns, schema=schema)

    def rows(self, violations: int | Iterable[int] | None = None) -> LineageSet:
        """Return the ids of the rows of a violation, of several, or of all.

        Raises:
            BadArgumentError: there is no such violation.

        """
        graph = self._found.graph
        if violations is None:
            return LineageSet(self._found.ids_of(graph.order))
        numbers = [violations] if isinstance(violations, int) else list(violations)
        parts = [graph.rows(self._checked(number)) for number in numbers]
        return LineageSet(self._found.ids_of(np.concatenate([np.empty(0, np.int64), *parts])))

    def values(self, violation: int) -> dict[str, pa.Table]:
        """Return which values the rows of a violation of a dependency have on the right.

        Returns:
            for each attribute a table ``value``, ``rows``: how many rows have it, the most first.

        Raises:
            BadArgumentError: there is no such violation.

        """
        rows = self._found.graph.rows(self._checked(violation))
        return {name: _values(codes, rows, self._found.nulls_equal) for name, codes in self._found.right.items()}

    def partners(self, violation: int) -> LineageSet:
        """Return the ids of the rows that those of a violation must not stand beside, of a denial of two rows.

        Raises:
            BadArgumentError: there is no such violation; or it takes one row to violate the constraint.

        """
        rows = self._found.graph.rows(self._checked(violation))
        if self._found.partners is None:
            raise BadArgumentError(
                f"rows that violate {self.constraint} have no partners", instead="Denials of two rows have."
            )
        return LineageSet(self._found.ids_of(self._found.partners(int(rows[0]))))

    def save(self, name: str) -> SavedResult:
        """Keep the violations as a saved result, whose lineage is the graph; a result of the name gets a new version.

        Args:
            name: letters, digits and _.

        Raises:
            LineageError: the table is not any more what it was, or the name is in use.

        """
        saved = self._save(self, name)
        self.saved_as = saved.name
        return saved

    def relation(self) -> RunsRelation:
        """Return the graph as a relation: violation → row id."""
        return self._found.relation()

    def _checked(self, violation: int) -> int:
        if 0 <= violation < self.count:
            return violation
        raise BadArgumentError(
            f"{self.constraint} has no violation {violation}",
            instead=f"It has {self.count}, counted from 0." if self.count else "It holds.",
        )


def _values(codes: Codes, rows: Array, nulls_equal: bool) -> pa.Table:
    different, counts = np.unique(codes.codes[rows], return_counts=True)
    if not nulls_equal:
        kept = different != len(codes.values)
        different, counts = different[kept], counts[kept]
    order = np.argsort(-counts, kind="stable")
    return pa.table({"value": codes.shown(different[order]), "rows": counts[order]})
