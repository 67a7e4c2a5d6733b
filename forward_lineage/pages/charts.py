"""The drawn parts of a view, and their places: positions of bars on axes, labels, values. Nothing here knows Bokeh."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.pages.page_definition import AskedView, Kind
from forward_lineage.views.linked import Answer, LinkedViews
from udafs.errors import BadArgumentError

Floats = npt.NDArray[np.float64]
Bars = npt.NDArray[np.intp]

#: A numeric axis with more places than this between its ends has one for each value that there is instead.
MOST_PLACES = 2048
_NULL = "NULL"


@dataclass(frozen=True, eq=False)
class Axis:
    """Where bars stand, by one key.

    Attributes:
        at: where each bar begins, shape (bars,); times are milliseconds since 1970.
        unit: how wide a bar is.
        time: whether it is of times.
        names: what stands at 0, 1, 2, … where places mean no numbers.
        odd: what stands at places that mean no number on an axis of numbers or times: NULL, NaN, infinities.

    """

    at: Floats
    unit: float = 1.0
    time: bool = False
    names: tuple[str, ...] | None = None
    odd: tuple[tuple[float, str], ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends."""
        if not self.at.size:
            return 0.0, 1.0
        return float(self.at.min()), float(self.at.max() + self.unit)

    @property
    def places(self) -> Bars:
        """The number of each bar's place, counted from the first one."""
        return np.asarray(np.rint((self.at - self.ends[0]) / self.unit), np.intp)


@dataclass(frozen=True, eq=False)
class Chart:
    """A view on the page.

    Attributes:
        name: of the view.
        kind: how it is drawn.
        columns: the names of its columns.
        keys: which of them say what a bar is.
        value: which of them is drawn; None: the number of base rows.
        adds_up: whether values of bars may be added up, as counts may.
        axes: by which bars are placed: none of a table, two of a heat map.
        order: the bars in the order in which somebody goes through them.
        table: the view without a brush.
        counted: whether a column says how many base rows a bar has.

    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    keys: tuple[int, ...]
    value: int | None
    adds_up: bool
    axes: tuple[Axis, ...]
    order: Bars
    table: pa.Table
    counted: bool

    @property
    def bars(self) -> int:
        """How many bars there are."""
        return int(self.table.num_rows)

    @property
    def drawn(self) -> str:
        """The meaning of its lengths or colours."""
        return "base rows" if self.value is None else self.columns[self.value]

    @cached_property
    def rank(self) -> Bars:
        """The place of each bar in the order."""
        rank = np.empty(self.bars, np.intp)
        rank[self.order] = np.arange(self.bars)
        return rank

    @cached_property
    def texts(self) -> list[tuple[str | None, ...]]:
        """The keys of each bar, as text."""
        return list(zip(*(texts(self.table.column(key)) for key in self.keys), strict=True))

    def label(self, bar: int) -> str:
        """The name of a bar."""
        return ", ".join(_NULL if text is None else text for text in self.texts[bar])

    def values(self, answer: Answer) -> Floats:
        """Return what is drawn of each bar, NaN where that is NULL."""
        if self.value is None:
            return np.asarray(answer[self.name], np.float64)
        return floats(answer.table(self.name).column(self.value))


def chart_of(linked: LinkedViews, name: str, asked: AskedView, *, ordered: bool) -> Chart:
    """Decide how a view is drawn.

    Args:
        linked: the views.
        name: which one.
        asked: what was said of it.
        ordered: whether the order of its rows means something; else bars of texts stand with the most rows first.

    Raises:
        BadArgumentError: it cannot be drawn as was asked.

    """
    table = linked.bars(name)
    keys = _keys(linked, name)
    value = _value(table, linked.keys(name), name, asked.value)
    kind = asked.chart or _kind([table.schema.field(key).type for key in keys])
    axes = _axes(table, keys, kind, name)
    counts = linked.hand().answer()[name]
    order = np.arange(table.num_rows)
    if kind in (Kind.BARS, Kind.TABLE):
        if not ordered:
            order = np.argsort(-counts, kind="stable")
        if kind is Kind.BARS:
            rank = np.empty(table.num_rows, np.float64)
            rank[order] = np.arange(table.num_rows)
            labels = texts(table.column(keys[0]))
            axes = (Axis(rank, names=tuple(_NULL if (text := labels[bar]) is None else text for bar in order)),)
    else:
        order = np.lexsort([axis.at for axis in axes])
    adds_up = value is None or _adds_up(linked, name, value)
    counted = any(
        linked.is_total(name, place) and np.array_equal(floats(table.column(place)), counts)
        for place in range(table.num_columns)
        if place not in keys
    )
    return Chart(name, kind, tuple(table.column_names), tuple(keys), value, adds_up, axes, order, table, counted)


def _keys(linked: LinkedViews, name: str) -> list[int]:
    """The columns that say what a bar is; of a saved result the fewest first ones that tell its rows apart."""
    table, keys = linked.bars(name), linked.keys(name)
    if len(keys) < table.num_columns:
        return keys
    for count in range(1, len(keys)):
        known = list(zip(*(texts(table.column(key)) for key in keys[:count]), strict=True))
        if len(set(known)) == len(known):
            return keys[:count]
    return keys


def _value(table: pa.Table, keys: Sequence[int], name: str, asked: str | None) -> int | None:
    names = table.column_names
    if asked is None:
        return next((place for place in range(table.num_columns) if place not in keys), None)
    known = [place for place, each in enumerate(names) if each == asked and place not in keys]
    if len(known) != 1:
        others = [each for place, each in enumerate(names) if place not in keys]
        raise BadArgumentError(
            f"view {name} is to show {asked}, which is none of its aggregates",
            instead=f"It has {', '.join(others)}." if others else "It has none; its bars show base rows.",
        )
    return known[0]


def _adds_up(linked: LinkedViews, name: str, value: int) -> bool:
    """Whether it is a count, or a sum without negative values."""
    if not linked.is_total(name, value):
        return False
    values = floats(linked.bars(name).column(value))
    return bool(np.all(np.nan_to_num(values) >= 0))


def _kind(types: Sequence[pa.DataType]) -> Kind:
    if len(types) == 1:
        return Kind.TIMELINE if _is_time(types[0]) else Kind.HISTOGRAM if _is_number(types[0]) else Kind.BARS
    return Kind.HEATMAP if len(types) == 2 else Kind.TABLE


def _axes(table: pa.Table, keys: Sequence[int], kind: Kind, name: str) -> tuple[Axis, ...]:
    types = [table.schema.field(key).type for key in keys]
    fits = {
        Kind.BARS: len(keys) == 1,
        Kind.HISTOGRAM: len(keys) == 1 and _is_number(types[0]),
        Kind.TIMELINE: len(keys) == 1 and _is_time(types[0]),
        Kind.HEATMAP: len(keys) == 2,
        Kind.TABLE: True,
    }
    if not fits[kind]:
        wanted = {
            Kind.BARS: "one key",
            Kind.HISTOGRAM: "one key that is a number",
            Kind.TIMELINE: "one key that is a date or a timestamp",
            Kind.HEATMAP: "two keys",
        }
        has = ", ".join(f"{table.column_names[key]} ({kind_})" for key, kind_ in zip(keys, types, strict=True))
        raise BadArgumentError(
            f"view {name} is to be a {kind}, and has the keys {has}", instead=f"A {kind} has {wanted[kind]}."
        )
    if kind in (Kind.TABLE, Kind.BARS):
        return ()
    return tuple(axis_of(table.column(key), of_grid=kind is Kind.HEATMAP) for key in keys)


def axis_of(column: pa.ChunkedArray, *, of_grid: bool) -> Axis:
    """Return the axis of a key.

    Args:
        column: the key of each bar.
        of_grid: whether its places are to be counted; if there are too many, each value gets one.

    """
    if _is_number(column.type) or _is_time(column.type):
        at = floats(column)
        known = np.unique(at[np.isfinite(at)])
        unit = float(np.diff(known).min()) if known.size > 1 else 86_400_000.0 if _is_time(column.type) else 1.0
        if not of_grid or (known.size and (known[-1] - known[0]) / unit < MOST_PLACES and _even(known, unit)):
            return _numbers(at, unit, _is_time(column.type), texts(column))
    values = texts(column)
    nested = pa.types.is_nested(column.type)  # has no order in Arrow
    ranked = pa.array(values, pa.string()) if nested else column
    order = pc.rank(ranked, sort_keys="ascending", tiebreaker="dense").to_numpy() - 1
    names = dict(zip(order.tolist(), values, strict=True))
    labels = tuple(_NULL if (text := names[place]) is None else text for place in range(len(names)))
    return Axis(order.astype(np.float64), names=labels)


def _even(known: Floats, unit: float) -> bool:
    """Whether all values stand at multiples of the unit."""
    steps = (known - known[0]) / unit
    return bool(np.all(np.abs(steps - np.rint(steps)) < 0.01))


def _numbers(at: Floats, unit: float, time: bool, names: Sequence[str | None]) -> Axis:
    """An axis of numbers; what is none stands before them, apart."""
    odd = np.flatnonzero(~np.isfinite(at))
    first = float(at[np.isfinite(at)].min(initial=np.inf)) if odd.size < at.size else 0.0
    apart = max(unit, (float(at[np.isfinite(at)].max(initial=first)) - first) / 40)
    at = at.copy()
    marked = []
    for place, bar in enumerate(odd.tolist(), 2):
        at[bar] = first - np.ceil(apart / unit) * unit * place
        name = names[bar]
        marked.append((float(at[bar]), _NULL if name is None else name))
    return Axis(at, unit, time, odd=tuple(marked))


# ---------------------------------------------------------------- columns


def floats(column: pa.ChunkedArray) -> Floats:
    """Return a column as numbers: times as milliseconds since 1970 on the session's clock, NULL as NaN."""
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.int32()).cast(pa.float64())
        return np.asarray(pc.multiply(column, 86_400_000.0).to_numpy(zero_copy_only=False), np.float64)
    if pa.types.is_timestamp(kind):
        local = pc.local_timestamp(column) if kind.tz else column
        return np.asarray(
            pc.divide(local.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1000.0).to_numpy(),
            np.float64,
        )
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    return np.full(len(column), np.nan)


def texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return a column as text, None for NULL; equal texts are equal values."""
    return [text_of(value) for value in column.to_pylist()]


def text_of(value: Any) -> str | None:
    """Return a value as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def number(value: Any) -> str:
    """Return a number as people read it."""
    if value is None:
        return _NULL
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e15 else f"{value:.6g}"
    return text_of(value) or ""


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
