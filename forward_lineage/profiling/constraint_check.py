"""The common part of checks: the attributes of a table, and the outcome of a constraint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import types as T  # noqa: N812

from forward_lineage.frontend.constraints import Attribute
from forward_lineage.profiling.attribute_arrays import CapturedAttributes, WantedAttribute
from forward_lineage.profiling.codes import Codes
from forward_lineage.profiling.violation_graph import Found, Kind
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
    captured: CapturedAttributes
    wanted: Mapping[int, WantedAttribute]

    def codes(self, attribute: Attribute) -> Codes:
        """Return the values of an attribute."""
        return self.captured.codes[self.wanted[id(attribute)].key]

    def kind(self, attribute: Attribute) -> T.DataType:
        """Return what Spark says of its type."""
        return self.wanted[id(attribute)].kind


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


class Check(ABC):
    """How a constraint is checked.

    Attributes:
        attributes: of the table that it is about.
        others: a table that it looks into, and the attributes there.

    """

    attributes: Sequence[Attribute]
    others: tuple[str, Sequence[Attribute]] | None = None

    @abstractmethod
    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations.

        Args:
            columns: of the table.
            others: of the other table.
            nulls_equal: whether NULL is a value like others; else what has one is not compared.

        """
