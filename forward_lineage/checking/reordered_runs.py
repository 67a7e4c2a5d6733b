"""Plain Spark asked again, over the same base rows in other orders: has a query one answer, or several?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from forward_lineage.checking.copies import NotCutError, OtherRows
from forward_lineage.checking.ordering import Expected
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.results import Result, collect, failure_of
from forward_lineage.checking.shapes import is_deterministic
from forward_lineage.checking.values import unordered

#: Functions whose value depends on the order of the rows that they are given.
_COLLECTS = ("collect_list", "collect_set", "array_agg", "listagg", "string_agg", "first", "any_value", "last", "any")


@dataclass(frozen=True)
class PlainAgain:
    """A query that plain Spark is asked again.

    Attributes:
        frame: the query.
        expected: what it gave.
        other: the same base rows in another order.

    """

    frame: DataFrame
    expected: Expected
    other: OtherRows

    def agrees(self, found: Sequence[Result]) -> bool:
        """Whether plain Spark gives the same again.

        Args:
            found: what the rewritten query gave; where that differs, plain Spark is asked more thoroughly.

        Raises:
            NotCutError: it fails over the rows in another order.

        """
        if all(self.expected.compare(each.rows) is not Rows.DIFFERENT for each in found):
            return self._same()
        return self.agrees_in_doubt() and not any(map(self._collected_otherwise, found))

    def agrees_in_doubt(self) -> bool:
        """Whether plain Spark gives the same in several orders, shuffled into few and many partitions.

        Raises:
            NotCutError: it fails over the rows in another order.

        """
        if not is_deterministic(self.frame):
            return False
        return all(self._same(backwards, partitions) for backwards, partitions in ((False, 1), (True, 5), (True, 1)))

    def _same(self, backwards: bool = False, partitions: int | None = None) -> bool:
        if partitions is not None:
            self.other.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        self.other.all_rows(backwards=backwards)
        try:
            again = collect(self.other.run(self.expected.sql))
        except Exception as error:  # whatever Spark says
            failure_of(error)
            raise NotCutError("plain Spark fails over the same rows in another order") from None
        return self.expected.compare(again.rows) is not Rows.DIFFERENT

    def _collected_otherwise(self, found: Result) -> bool:
        """Whether rows differ in the order of lists alone, which Spark collects in no order."""
        if not any(f"{word}(" in self.expected.sql.lower() for word in _COLLECTS):
            return False
        return sorted(map(unordered, self.expected.plain.rows)) == sorted(map(unordered, found.rows))
