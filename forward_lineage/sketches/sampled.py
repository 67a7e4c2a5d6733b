"""How large a sketch would be, estimated on a sample: a few of its ranges.   [Niu 2022, §8, leaves tuning to later]

A safe attribute keeps rows together that belong together. Over some of its ranges alone a query gives about the part of
its answer that these hold. So the capture is run over them, and the part of them that its lineage touches is taken for
the part of all. A top-k returns as many rows over few ranges as over all, so there their number is taken. The table's
files say how many of its bytes so many ranges leave. Before anything runs, they also say in which columns any few
ranges are all over the table: no sketch helps there.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from forward_lineage.columns.ranges import Partition, Sketch
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.find_sketches import capturing
from forward_lineage.sketches.sketched_query import AskedQuery, QueriedTable
from forward_lineage.sketches.sketched_scan import cut_down, kept_size
from forward_lineage.spark.errors import rewritten_errors
from forward_lineage.tracing.statements import Statements
from udafs.lineage_set import LineageSet

_RUNS, _RATE = 8, 0.02
"""So many runs of neighbours are drawn, together this part of all ranges: few pages are read of a table in order."""
_SCATTERED = 0.5  # of the bytes, that so few ranges would leave


class Sampled:
    """Estimates of sketches of a query.

    Args:
        statements: those of the session.
        tables: the registered tables.
        query: the one whose sketches are to be captured.
        cut: cuts a column of a table that it reads into ranges, under the table's registered name.

    """

    def __init__(
        self,
        statements: Statements,
        tables: RegisteredTables,
        query: AskedQuery,
        cut: Callable[[QueriedTable, str], Partition],
    ) -> None:
        self._statements, self._tables, self._query, self._cut = statements, tables, query, cut

    def is_scattered(self, table: QueriedTable, column: str) -> bool:
        """Whether any few ranges of a column are all over a table; nothing is run."""
        return kept_size(self._tables.spark, table, _sample(self._cut(table, column))) > _SCATTERED * table.size

    def size(self, table: QueriedTable, column: str) -> int:
        """Return how many bytes of a table are left with a sketch of a column, about.

        Raises:
            LineageError: the query is not traced, or fails.

        """
        partition, query = self._cut(table, column), self._query
        drawn = _sample(partition)
        frame = capturing(self._statements, self._tables, query.sql, [partition], query.args)
        with rewritten_errors():
            row = cut_down(frame, {table.name: drawn}).first()
        assert row is not None  # a global aggregate
        touched = len(LineageSet.from_bytes(bytes(row[0])))
        cut_off = query.statement.tree.args.get("limit") is not None
        count = touched if cut_off else round(touched / len(drawn.fragments) * partition.fragments)
        spread = Random(1).sample(range(partition.fragments), min(max(count, 1), partition.fragments))
        return kept_size(self._tables.spark, table, partition.sketch(spread))


def _sample(partition: Partition) -> Sketch:
    """Draw a few runs of fragments."""
    fragments = partition.fragments
    run = max(1, round(fragments * _RATE / _RUNS))
    starts = Random(0).sample(range(0, max(fragments - run, 1), run), min(_RUNS, max(1, (fragments - run) // run)))
    return partition.sketch(sorted(each for start in starts for each in range(start, min(start + run, fragments))))
