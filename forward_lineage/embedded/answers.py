"""Answers that were computed here, as commands show them: the rows and the JSON that Spark would give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.store.asking.pipeline import Touched

_ROW_ID = "row_id"


@dataclass(frozen=True)
class PickedRows:
    """Some rows with their ids; see `cli.answers.Rows`.

    Attributes:
        ids: ascending.
        rows: of them, in that order.
        trusted: tables that they are taken on trust from.

    """

    ids: npt.NDArray[np.int64]
    rows: pa.Table
    trusted: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns, that of the ids first."""
        taken = {name.lower() for name in self.rows.column_names}
        name = _ROW_ID
        while name in taken:
            name = f"_{name}"
        return [name, *self.rows.column_names]

    @property
    def unit(self) -> str:
        """What stands in their lineage: row ids."""
        return "rows"

    @property
    def total(self) -> int:
        """How many they are."""
        return int(self.rows.num_rows)

    def first(self, limit: int) -> tuple[Sequence[Sequence[object]], bool]:
        """Return up to `limit` rows, and whether there are more."""
        rows = self.rows.slice(0, limit)
        columns = [self.ids[:limit].tolist(), *(column.to_pylist() for column in rows.columns)]
        return list(zip(*columns, strict=True)), self.rows.num_rows > limit

    def json_lines(self, limit: int | None = None) -> list[str]:
        """Return rows as JSON objects, as Spark writes them.

        Raises:
            NeedsSpark: a value is of a type that it writes in a way of its own.

        """
        rows, _ = self.first(self.rows.num_rows if limit is None else limit)
        if any(pa.types.is_floating(field.type) for field in self.rows.schema):
            raise NeedsSpark("numbers with a floating point as JSON")
        return [_object(self.columns, row) for row in rows]


@dataclass(frozen=True)
class Impact:
    """The reach of suspected rows.

    Attributes:
        touched: each result.
        trusted: tables that are taken on trust.
        facts: columns with their types, and rows, as `ForwardLineage.impact` has them.

    """

    touched: tuple[Touched, ...]
    trusted: tuple[str, ...]
    facts: tuple[dict[str, str], list[tuple[str | int | None, ...]]]

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows that `ForwardLineage.impact` has."""
        columns, rows = self.facts
        return [dict(zip(columns, each, strict=True)) for each in rows]


@dataclass(frozen=True)
class Stale:
    """The stale results, as rows of `ForwardLineage.stale`; see `cli.answers.Rows`."""

    found: tuple[tuple[str, str, int, int | None], ...]
    trusted: tuple[str, ...]
    columns: tuple[str, ...] = ("result", "table", "saved_with", "now")

    @property
    def unit(self) -> str:
        """What stands in their lineage: row ids."""
        return "rows"

    @property
    def total(self) -> int:
        """How many they are."""
        return len(self.found)

    def first(self, limit: int) -> tuple[list[tuple[object, ...]], bool]:
        """Return up to `limit` rows, and whether there are more."""
        return list(self.found[:limit]), len(self.found) > limit

    def json_lines(self, limit: int | None = None) -> list[str]:
        """Return rows as JSON objects."""
        return [_object(self.columns, each) for each in self.found[:limit]]


def _object(columns: Sequence[str], row: Sequence[object]) -> str:
    """Write a row as a JSON object, as Spark writes it."""
    fields = (
        f"{json.dumps(name, ensure_ascii=False)}:{_value(value)}" for name, value in zip(columns, row, strict=True)
    )
    return "{" + ",".join(fields) + "}"


def _value(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)  # as Java writes a BigDecimal
    return json.dumps(value.isoformat() if isinstance(value, date) else value, ensure_ascii=False)
