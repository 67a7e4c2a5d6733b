"""Calls about sketches: queries that read only what mattered when they were run before."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from forward_lineage.session.components import Parts
from forward_lineage.sketches.decisions import Decision
from forward_lineage.sketches.tuning import Tuning
from forward_lineage.spark.planning import Arguments


class SketchCalls:
    """The calls of `ForwardLineage` about sketches. docs/sketches.md says what they are and when they are safe."""

    _parts: Parts

    def tune(
        self, mode: str = "adaptive", *, budget: int = 64 << 20, seconds: float | None = None, least: int = 64 << 20
    ) -> None:
        """Say how `run` captures and uses sketches in this session. Before you call it, `run` does neither.

        Args:
            mode: ``"adaptive"``: a sketch is captured when the runs of such queries so far would have paid for it.
                ``"eager"``: at the first run. ``"off"``: never, and none is used.
            budget: bytes that all sketches under the home may take; those that save least are dropped.
            seconds: that this session may spend on capturing; None: any.
            least: bytes; a query over tables that are smaller, all together, is run as it is.

        Raises:
            BadArgumentError: no such mode, or a number below 0.

        Examples:
            >>> lineage.tune("eager", least=0)
            >>> lineage.tune("off")

        """
        self._parts.runner.tune(Tuning.of(mode, budget, seconds, least))

    def run(self, sql: str, args: Arguments = None) -> DataFrame:
        """Run a query as Spark does, without lineage; with a sketch, if one serves it and you called `tune`.

        A sketch says which ranges of a column of a table hold all that the query needs, so that the rest need not be
        read. The rows are those that `spark.sql` returns: that is proven, or no sketch is used.   [Niu 2022]

        Args:
            sql: any statement; only queries over registered tables have sketches.
            args: values of its parameters, as `spark.sql` takes them.

        Raises:
            LineageError: Spark's own complaint.

        Examples:
            >>> lineage.run("SELECT max(amount) AS best FROM sales").collect()
            [Row(best=70)]

        """
        return self._parts.runner.run(sql, args)

    def decisions(self) -> Sequence[Decision]:
        """Return the decisions of `run`, one for each query, with their reasons. You can replay and undo a decision.

        Examples:
            >>> lineage.tune("eager")
            >>> rows = lineage.run("SELECT max(amount) AS best FROM sales").collect()
            >>> lineage.decisions()[-1].way.value
            'plain'
            >>> lineage.tune("off")

        """
        return self._parts.runner.decisions
