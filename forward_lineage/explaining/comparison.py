"""The answer to "why did it change": rows that differ, what they are made of now and were, and parts of differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.explaining.attributing import BaseRow, Part
from forward_lineage.explaining.page import Panel
from forward_lineage.explaining.ranking import Explanation
from forward_lineage.explaining.told_answer import ToldAnswer, value_text, values_text
from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.versions import arrow_frame
from udafs.lineage_set import LineageSet

_LISTED = 8
_SHOWN = 20


@dataclass(frozen=True)
class TableMoves:
    """How the lineage of a row in a base table moved.

    Attributes:
        table: the table.
        joined: ids that came into the lineage.
        left: ids that went out of it.
        differs: ids that stayed, and whose row has other values now.
        note: what is not known of it, and why; else "".

    """

    table: str
    joined: LineageSet
    left: LineageSet
    differs: LineageSet
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.joined or self.left or self.differs or self.note)


@dataclass(frozen=True)
class ColumnChange:
    """A value that changed.

    Attributes:
        column: its name.
        before: the value; None also where there was no row.
        after: the value; None also where there is no row.
        difference: ``after - before`` exactly, a missing number counting as 0; None of what is no number.
        parts: what it is made of; empty if it is not attributed.
        remainder: the difference without its parts: 0 for integers and decimals, rounding for FLOAT and DOUBLE.
        reason: why it is not attributed; else "".

    """

    column: str
    before: Any
    after: Any
    difference: Fraction | None
    parts: tuple[tuple[Part, Fraction], ...] = field(default=(), repr=False)
    remainder: Fraction | None = None
    reason: str = ""


@dataclass(frozen=True)
class RowChange:
    """A row that was added, removed or changed.

    Attributes:
        key: column → value.
        change: ``added``, ``removed`` or ``changed``.
        columns: the columns that differ.
        tables: how its lineage moved, by base table.
        numbers: of the row in the earlier version, and in the later one; None: it is not there.

    """

    key: Mapping[str, Any]
    change: str
    columns: tuple[ColumnChange, ...]
    tables: tuple[TableMoves, ...] = ()
    numbers: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True, repr=False)
class Comparison(ToldAnswer):
    """The differences between two versions of a saved result, and why.

    Attributes:
        result: its name.
        before: the earlier version.
        after: the later version.
        key: the columns by which rows are matched.
        by: what differences are added up by.
        rows: the rows that differ.
        explanations: column → values of `by` that explain its difference, the best first.
        notes: what could not be told, and why.
        walked: makes the page, for which it reads rows.

    """

    spark: SparkSession
    result: str
    before: int
    after: int
    key: tuple[str, ...]
    by: tuple[str, ...]
    rows: tuple[RowChange, ...]
    explanations: Mapping[str, Sequence[Explanation]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    walked: Callable[[Comparison], Panel] | None = field(default=None, compare=False)

    # ------------------------------------------------------------ as rows

    def frame(self, what: Literal["parts", "rows", "lineage", "explanations"] = "parts") -> DataFrame:
        """Return the answer as rows, to be filtered, joined and written.

        Args:
            what: ``"parts"`` of each difference: the key, `by`, ``column, rows, amount``. In the row of the remainder
                ``rows`` is NULL. ``"rows"`` have the key, ``change, column, before, after``. ``"lineage"`` has the key,
                ``table, row_id, change``. ``"explanations"`` have ``column, explanation, rows, support, risk_ratio,
                difference, share``.

        """
        made = {"parts": self._parts, "rows": self._rows, "lineage": self._lineage, "explanations": self._explained}
        names, kinds, rows = made[what]()
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [_array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        return arrow_frame(self.spark, pa.Table.from_arrays(arrays, names=list(names)))

    def _parts(self) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
        rows = []
        for row in self.rows:
            for each in row.columns:
                for part, amount in each.parts:
                    said = ", ".join(map(base_row_text, part.rows))
                    rows.append((*row.key.values(), *part.by, each.column, said, amount))
                if each.remainder is not None:
                    rows.append((*row.key.values(), *[None] * len(self.by), each.column, None, each.remainder))
        names = [*self.key, *self.by, "column", "rows", "amount"]
        return names, [None] * (len(self.key) + len(self.by)) + [pa.string(), pa.string(), "number"], rows

    def _rows(self) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
        rows = [
            (*row.key.values(), row.change, each.column, value_text(each.before), value_text(each.after))
            for row in self.rows
            for each in row.columns
        ]
        return [*self.key, "change", "column", "before", "after"], [None] * len(self.key) + [pa.string()] * 4, rows

    def _lineage(self) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
        rows = [
            (*row.key.values(), moves.table, int(each), kind)
            for row in self.rows
            for moves in row.tables
            for kind in ("joined", "left", "differs")
            for each in getattr(moves, kind)
        ]
        kinds = [None] * len(self.key) + [pa.string(), pa.int64(), pa.string()]
        return [*self.key, "table", "row_id", "change"], kinds, rows

    def _explained(self) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
        rows = [
            (column, values_text(each.values), each.rows, each.support, each.risk_ratio, each.difference, each.share)
            for column, found in self.explanations.items()
            for each in found
        ]
        names = ["column", "explanation", "rows", "support", "risk_ratio", "difference", "share"]
        kinds = [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.float64(), "number", pa.float64()]
        return names, kinds, rows

    def as_data(self) -> dict[str, Any]:
        """Return the answer as JSON-able data; numbers that JSON has not exactly are texts."""
        return {
            "result": self.result,
            "before": self.before,
            "after": self.after,
            "key": list(self.key),
            "by": list(self.by),
            "rows": [_row_data(row, self.by) for row in self.rows],
            "explanations": {
                column: [_explanation_data(each) for each in found] for column, found in self.explanations.items()
            },
            "notes": list(self.notes),
        }

    # ------------------------------------------------------------ as people see it

    def _walk(self) -> Panel:
        return Panel("result", self.title) if self.walked is None else self.walked(self)

    @property
    def title(self) -> str:
        """How many rows differ, in a line."""
        kinds = {kind: sum(row.change == kind for row in self.rows) for kind in ("added", "removed", "changed")}
        counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
        return f"{self.result}, version {self.before} → {self.after}: {counts}"

    def _lines(self) -> Iterator[str]:
        yield self.title
        for row in self.rows[:_SHOWN]:
            yield f"{values_text(row.key) or 'the row'}: {row.change}"
            for each in row.columns:
                yield f"  {each.column}: {value_text(each.before)} → {value_text(each.after)}{_difference(each)}"
                yield from (f"    {line}" for line in self._parts_lines(each))
            for moves in row.tables:
                if moves:
                    yield f"  {_moves(moves)}"
        if len(self.rows) > _SHOWN:
            yield f"and {counted(len(self.rows) - _SHOWN, 'more row')}"
        for column, found in self.explanations.items():
            yield from (f"{column} is explained by {explanation_text(one)}" for one in found[:3])
        yield from (f"Note: {note}" for note in self.notes)

    def _parts_lines(self, each: ColumnChange) -> Iterator[str]:
        ordered = sorted(each.parts, key=lambda found: -abs(found[1]))
        for part, amount in ordered[:_LISTED]:
            by = values_text(dict(zip(self.by, part.by, strict=True)))
            yield f"{signed(amount)}  {_base_rows(part.rows)}{f'  ({by})' if by else ''}"
        if len(ordered) > _LISTED:
            rest = sum((amount for _, amount in ordered[_LISTED:]), Fraction(0))
            yield f"{signed(rest)}  {counted(len(ordered) - _LISTED, 'more part')}"
        if each.remainder:
            yield f"{signed(each.remainder)}  remainder{f': {each.reason}' if each.reason else ': rounding'}"
        elif each.reason:
            yield f"not attributed: {each.reason}"

    def _repr_html_(self) -> str:
        rows = [
            (values_text(row.key), row.change, each.column, value_text(each.before), value_text(each.after), line)
            for row in self.rows[:_SHOWN]
            for each in row.columns
            for line in (list(self._parts_lines(each)) or [""])
        ]
        tables = [table_html(["row", "change", "column", "before", "after", "because of"], rows)] if rows else []
        lineage = [
            (
                values_text(row.key),
                moves.table,
                _listed(moves.joined),
                _listed(moves.left),
                _listed(moves.differs),
                moves.note,
            )
            for row in self.rows[:_SHOWN]
            for moves in row.tables
            if moves
        ]
        if lineage:
            tables.append(table_html(["row", "table", "joined", "left", "other values", ""], lineage))
        explained = [
            (column, explanation_text(each)) for column, found in self.explanations.items() for each in found[:5]
        ]
        if explained:
            tables.append(table_html(["column", "explained by"], explained))
        return facts_html(self.title, [("note", note) for note in self.notes], tables)


def _array(values: Sequence[Any], kind: Any) -> pa.Array:
    if kind != "number":
        return pa.array(values, kind) if kind is not None else _any_array(values)
    exact = [None if each is None else number(each) for each in values]
    if all(each is None or isinstance(each, int | Decimal) for each in exact):
        decimals = [None if each is None else Decimal(each) for each in exact]
        scale = max((max(-int(each.as_tuple().exponent), 0) for each in decimals if each is not None), default=0)
        return pa.array(decimals, pa.decimal128(38, min(scale, 18)))
    return pa.array([None if each is None else float(each) for each in exact], pa.float64())


def _any_array(values: Sequence[Any]) -> pa.Array:
    array = pa.array(values)
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def number(value: Fraction) -> int | Decimal | float:
    """Return a fraction as an integer or a decimal if it is one of at most 18 places, else as the nearest double."""
    if value.denominator == 1:
        return value.numerator
    scaled = value * 10**18
    if scaled.denominator == 1 and abs(value.numerator) < 10**20:
        return Decimal(scaled.numerator).scaleb(-18).normalize()
    return float(value)


def _row_data(row: RowChange, by: Sequence[str]) -> dict[str, Any]:
    return {
        "key": {name: _json(value) for name, value in row.key.items()},
        "change": row.change,
        "columns": [_column_data(each, by) for each in row.columns],
        "lineage": [
            {
                "table": moves.table,
                **{kind: [int(each) for each in getattr(moves, kind)] for kind in ("joined", "left", "differs")},
                **({"note": moves.note} if moves.note else {}),
            }
            for moves in row.tables
        ],
    }


def _column_data(each: ColumnChange, by: Sequence[str]) -> dict[str, Any]:
    return {
        "column": each.column,
        "before": _json(each.before),
        "after": _json(each.after),
        "difference": _json(each.difference),
        "parts": [
            {
                "rows": [vars(row) for row in part.rows],
                "by": {name: _json(value) for name, value in zip(by, part.by, strict=True)},
                "amount": _json(amount),
            }
            for part, amount in each.parts
        ],
        "remainder": _json(each.remainder),
        **({"reason": each.reason} if each.reason else {}),
    }


def _explanation_data(each: Explanation) -> dict[str, Any]:
    values = {name: _json(value) for name, value in each.values.items()}
    ratio = each.risk_ratio if each.risk_ratio != float("inf") else None
    return {**vars(each), "values": values, "risk_ratio": ratio, "difference": _json(each.difference)}


def _json(value: Any) -> Any:
    if isinstance(value, Fraction):
        value = number(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return value if isinstance(value, float) and value - value == 0 else value_text(value)


def signed(value: Fraction) -> str:
    """Return a difference as people see it: ``+1,204``."""
    shown = number(value)
    return f"{'+' if value >= 0 else '-'}{abs(shown):,}"


def _difference(each: ColumnChange) -> str:
    return "" if each.difference is None else f" ({signed(each.difference)})"


def base_row_text(row: BaseRow) -> str:
    """Return a base row, and how it changed, in words."""
    return f"{row.table} {row.row_id} {row.change}"


def _base_rows(rows: Sequence[BaseRow]) -> str:
    said = ", ".join(map(base_row_text, rows[:_LISTED]))
    said += f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
    return f"{said}, together" if len(rows) > 1 else said or "no base row"


def _listed(ids: LineageSet) -> str:
    first = ", ".join(str(int(each)) for each in list(ids)[:_LISTED])
    return first + (f" and {len(ids) - _LISTED:,} more" if len(ids) > _LISTED else "")


def _moves(moves: TableMoves) -> str:
    kinds = (("joined", moves.joined), ("left", moves.left), ("other values", moves.differs))
    said = [f"{name} {_listed(ids)}" for name, ids in kinds if ids]
    return f"{moves.table}: {'; '.join([*said, *([moves.note] if moves.note else [])])}"


def explanation_text(each: Explanation) -> str:
    """Return values that explain a difference, and how much of it."""
    share = "" if each.share is None else f", {each.share:.0%} of the difference"
    ratio = "only these changed" if each.risk_ratio == float("inf") else f"risk ratio {each.risk_ratio:.3g}"
    changed = f"{each.support:.0%} of the rows that changed"
    return f"{values_text(each.values)}: {signed(each.difference)}{share}; {changed}, {ratio}"
