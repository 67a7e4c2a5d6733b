"""Groups that grow or shrink, run: what rows that came and went give, and sums that no column of the result has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.types import ByteType, DataType, DecimalType, IntegerType, LongType, ShortType, StructType

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.versions import arrow_table
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.updating.changed_views import ChangedViews
from forward_lineage.store.updating.growing_groups import Growing, hidden_column
from forward_lineage.store.updating.grown_values import check_kinds, counted_sums, sized_decimal
from forward_lineage.store.updating.hidden_sums import Hidden, sums_of
from forward_lineage.store.updating.inputs import Input
from forward_lineage.store.updating.joining_rows import NotProvableError, key_column
from forward_lineage.store.updating.new_rows import MadeAgain
from forward_lineage.store.updating.rows_made_again import Groups, Part, Row, added_up, listed, stacked
from udafs.lineage_set import LineageSet

_INTEGERS = {each.simpleString(): each for each in (ByteType(), ShortType(), IntegerType(), LongType())}
_MOST_TOTALS = 1_000_000
_UNCHECKED = "decimal(38"
"""Of sums that may not fit, where Spark gives NULL for them."""

Numbered = Callable[[pa.Table], LineageSet]
"""Gives the numbers of the rows of a result with some keys."""


class GroupSums:
    """Adds up groups of before, and those of rows that came and went.

    Args:
        tables: the session's registered tables.

    """

    def __init__(self, tables: RegisteredTables) -> None:
        self._spark = tables.spark

    def with_kinds(self, how: Growing, saved: SavedResult) -> Growing:
        """Return how groups grow with the types of hidden columns, if values of all can be added.

        Raises:
            NotProvableError: those of one cannot.

        """
        own = [kind.lower() for _, kind in saved.columns]
        hidden: list[str] = []
        if how.hidden:
            schema = self._spark.sql(how.totals).schema
            hidden = [field.dataType.simpleString() for field in schema][len(how.keys) :]
        check_kinds(how, [*own, *hidden])
        sums = {place for place, column in enumerate(how.columns) if column == "sum"} - set(counted_sums(how))
        large = any(own[place].startswith(_UNCHECKED) for place in sums)
        if large and self._spark.conf.get("spark.sql.ansi.enabled") != "true":
            raise NotProvableError("a sum of decimals that is too large would be NULL, as one of no values is")
        return replace(how, kinds=tuple(hidden))

    def made(
        self,
        saved: SavedResult,
        how: Growing,
        parts: Sequence[Part],
        went: tuple[Input, ChangedViews] | None,
        numbered: Numbered,
    ) -> tuple[MadeAgain, Hidden]:
        """Return the groups that are other ones now, and the hidden columns of all groups.

        Args:
            saved: the version before.
            how: how its groups grow.
            parts: what the rows that came give.
            went: the table whose rows went or differ, and what reads them as they were; None: they only came.
            numbered: see `Numbered`.

        Raises:
            NotProvableError: a value is not told.

        """
        gone, ids = None, LineageSet()
        if went is not None:
            found, views = went
            assert found.changes is not None, "others were turned away before"
            place = how.places[0]
            gone, ids = arrow_table(views.of_rows_that_went(place.sql, place.probe.table)), found.changes.before
        listed_parts = [rows for rows, _ in parts] or [each.slice(0, 0) for each in (gone,) if each is not None]
        came = pa.concat_tables(listed_parts)
        numbers = LineageSet(saved.numbers())
        if how.keys:
            numbers = numbered(_keys([each for each in (came, gone) if each is not None], how))
        then = sums_of(saved, how.hidden) if how.hidden else {}
        now = None if then is not None else self._totals(how)
        groups = Groups(
            *(numbers.ids(), came, stacked(parts)),
            gone,
            ids,
            then or {},
            now,
        )
        return added_up(saved, how, groups)

    def _totals(self, how: Growing) -> dict[Row, Row]:
        """Ask for the hidden columns of all groups, by their keys."""
        found = listed(arrow_table(self._spark.sql(how.totals).limit(_MOST_TOTALS + 1)))
        if len(found) > _MOST_TOTALS:
            raise NotProvableError(f"it has more than {_MOST_TOTALS:,} groups, whose sums it does not select")
        at = len(how.keys)
        return {row[:at]: row[at:] for row in found}


def _keys(tables: Sequence[pa.Table], how: Growing) -> pa.Table:
    """The keys of groups, in the columns that `key_column` names."""
    kinds = tables[0].schema.types
    return pa.concat_tables(
        pa.table({key_column(i): each.column(place).cast(kinds[place]) for i, place in enumerate(how.keys)})
        for each in tables
    )


def with_hidden_columns(schema: StructType, how: Growing) -> StructType:
    """Return the columns of a result, with hidden ones behind them."""
    found = StructType(list(schema.fields))
    for number, kind in enumerate(how.kinds):
        found = found.add(hidden_column(number), _type_of(kind))
    return found


def _type_of(kind: str) -> DataType:
    sized = sized_decimal(kind)
    return DecimalType(*sized) if sized else _INTEGERS[kind]
