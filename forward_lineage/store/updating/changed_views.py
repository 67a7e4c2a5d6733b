"""The relations that probes read: rows of tables that changed, under names in the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from forward_lineage.spark.versions import arrow_frame, arrow_table
from forward_lineage.store.asking.rows import IdentifiedRows
from forward_lineage.store.updating.hidden_keys import NUMBER
from forward_lineage.store.updating.inputs import Input, Inputs
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, NotProvableError, Probe
from forward_lineage.store.updating.sources_in_parts import Source
from forward_lineage.store.updating.touched_rows import before, both, kept

MOST_KEYS = 100_000
"""Of touched parts; with more the query runs as a whole."""


class ChangedViews:
    """The relations that probes read, under names in the session.

    Args:
        rows: gives rows of inputs.
        inputs: those that changed, by name in lower case.
        spark: the session.
        sources: queries that probes read as tables.

    """

    def __init__(
        self, rows: Inputs, inputs: Mapping[str, Input], spark: SparkSession, sources: Sequence[Source] = ()
    ) -> None:
        self._rows, self._inputs, self._spark = rows, inputs, spark
        self._sources = {each.name: each for each in sources}
        self._parts: dict[str, str | None] = {}  # name of a source → view of the keys of its touched parts
        self._names: dict[str, str] = {}  # by what stands in a probe

    def asked(self, probe: Probe) -> DataFrame | None:
        """Return what a probe gives; None: its table has no rows for its place."""
        source = self._sources.get(probe.table)
        if source is not None:
            view = self._view_of_parts(source)
            return None if view is None else self._of_probe(probe, view)
        found = self._inputs[probe.table]
        assert found.changes is not None, "others were turned away before"
        if not (found.changes if probe.both else found.changes.after):
            return None
        place = f"{probe.table} {'both' if probe.both else 'came'}"
        return self._of_probe(probe, self._view(place, lambda: self._of_place(found, both=probe.both)))

    def _of_probe(self, probe: Probe, view: str) -> DataFrame:
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

    def of_rows_that_went(self, sql: str, table: str) -> DataFrame:
        """Return what a text gives that reads the rows which went or differ, as they were, in the place of a table."""

        def rows() -> DataFrame:
            frame = self._rows.rows_that_went(self._inputs[table]).frame
            return frame.drop(frame.columns[0])

        return self._spark.sql(sql.replace(PLACE, self._view(f"{table} went", rows)))

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

    def _view_of_parts(self, source: Source) -> str | None:
        """The rows of a source that came or went; None: no part of it is touched."""
        keys = self._keys_of_parts(source)
        if keys is None:
            return None
        texts = [self._named(text.replace(KEYS, keys)) for text in source.part]
        return self._view(
            f"parts of {source.name}", lambda: self._spark.sql(" UNION ALL ".join(map("({})".format, texts)))
        )

    def _keys_of_parts(self, source: Source) -> str | None:
        if source.name not in self._parts:
            frames = list(filter(None, map(self.asked, source.probes)))
            keys = arrow_table(reduce(DataFrame.unionAll, frames).distinct().limit(MOST_KEYS + 1)) if frames else None
            if keys is not None and keys.num_rows > MOST_KEYS:
                raise NotProvableError(f"more than {MOST_KEYS:,} parts of a query in FROM have rows that changed")
            view = None
            if keys is not None and keys.num_rows:
                named = keys.rename_columns(list(source.keys))
                view = self._view(f"keys of {source.name}", lambda: arrow_frame(self._spark, named))
            self._parts[source.name] = view
        return self._parts[source.name]

    def _all_of_source(self, source: Source) -> DataFrame:
        keys = self._keys_of_parts(source)
        texts = [source.whole[0], *([] if keys is None else [source.part[1].replace(KEYS, keys)])]
        return self._spark.sql(self._named(" UNION ALL ".join(map("({})".format, texts))))

    def _named(self, sql: str) -> str:
        for name, source in reversed(self._sources.items()):
            if both(name) in sql:
                sql = sql.replace(both(name), self._view(both(name), partial(self._all_of_source, source)))
            sql = sql.replace(before(name), f"({source.whole[1]})").replace(name, f"({source.whole[0]})")
        for table, found in self._inputs.items():
            for stands, now in ((both(table), True), (before(table), False)):
                if stands in sql:
                    sql = sql.replace(stands, self._view(stands, partial(self._rows.all_rows, found, now=now)))
            if kept(table) in sql:
                sql = sql.replace(kept(table), self._view(kept(table), partial(self._rows.rows_that_stayed, found)))
        return sql

    def _view(self, stands: str, frame: Callable[[], DataFrame]) -> str:
        if stands not in self._names:
            name = f"__fl_changed_{uuid4().hex}"
            frame().createOrReplaceTempView(name)
            self._names[stands] = name
        return self._names[stands]
