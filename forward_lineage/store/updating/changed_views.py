"""The relations that probes read: rows of tables that changed, under names in the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.updating.hidden_keys import NUMBER
from forward_lineage.store.updating.inputs import Input, Inputs
from forward_lineage.store.updating.joining_rows import PLACE, Probe
from forward_lineage.store.updating.touched_rows import before, both


class ChangedViews:
    """The relations that probes read, under names in the session.

    Args:
        rows: gives rows of inputs.
        inputs: those that changed, by name in lower case.
        spark: the session.

    """

    def __init__(self, rows: Inputs, inputs: Mapping[str, Input], spark: SparkSession) -> None:
        self._rows, self._inputs, self._spark = rows, inputs, spark
        self._names: dict[str, str] = {}  # by what stands in a probe

    def asked(self, probe: Probe) -> DataFrame | None:
        """Return what a probe gives; None: its table has no rows for its place."""
        found = self._inputs[probe.table]
        assert found.changes is not None, "others were turned away before"
        if not (found.changes if probe.both else found.changes.after):
            return None
        place = f"{probe.table} {'both' if probe.both else 'came'}"
        view = self._view(place, lambda: self._of_place(found, both=probe.both))
        try:
            return self._spark.sql(self._named(probe.sql).replace(PLACE, view))
        except AnalysisException:  # perhaps it mentions the query around it
            if probe.within is None:
                raise
            return self._spark.sql(self._named(probe.within).replace(PLACE, view))

    def finding(self, probes: Sequence[Probe]) -> list[Probe]:
        """Return those of some probes that find rows."""
        asked = [(probe, frame) for probe in probes if (frame := self.asked(probe)) is not None]
        if not all(self._rows.are_few(self._inputs[probe.table]) for probe, _ in asked):
            return [probe for probe, frame in asked if frame.limit(1).collect()]
        numbered = [frame.select(F.lit(number).alias("number")) for number, (_, frame) in enumerate(asked)]
        if not numbered:
            return []
        ((numbers,),) = reduce(DataFrame.unionAll, numbered).agg(F.collect_set("number")).collect()
        return [asked[number][0] for number in sorted(numbers)]

    def computed(self, sql: str, rows: IdentifiedRows) -> DataFrame:
        """Return what a text gives that reads rows with their ids, the column `NUMBER`, in the place of a table."""
        frame = rows.frame
        view = self._view(f"rows of {uuid4().hex}", lambda: frame.withColumnRenamed(frame.columns[0], NUMBER))
        return self._spark.sql(sql.replace(PLACE, view))

    def drop(self) -> None:
        """Take the names back."""
        for name in self._names.values():
            self._spark.catalog.dropTempView(name)

    def _of_place(self, found: Input, *, both: bool) -> DataFrame:
        rows = partial(self._rows.rows_of_both, found) if both else partial(self._came, found)
        return self._rows.at_hand(found, rows, both=both)

    def _came(self, found: Input) -> DataFrame:
        rows = self._rows.rows_that_came(found).frame
        return rows.drop(rows.columns[0])

    def _named(self, sql: str) -> str:
        for table, found in self._inputs.items():
            for stands, now in ((both(table), True), (before(table), False)):
                if stands in sql:
                    sql = sql.replace(stands, self._view(stands, partial(self._rows.all_rows, found, now=now)))
        return sql

    def _view(self, stands: str, frame: Callable[[], DataFrame]) -> str:
        if stands not in self._names:
            name = f"__fl_changed_{uuid4().hex}"
            frame().createOrReplaceTempView(name)
            self._names[stands] = name
        return self._names[stands]
