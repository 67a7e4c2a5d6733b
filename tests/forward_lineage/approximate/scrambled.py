"""Scrambles and answers without Spark: tables of arrays, in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from forward_lineage.approximate.aggregate_query import read_query
from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.approximate.approximator import Asked, answered
from forward_lineage.approximate.scramble import Scramble, random_order

_KINDS = {pa.int64(): "bigint", pa.string(): "string", pa.float64(): "double"}


def scramble(table: pa.Table, groups: Sequence[str] = (), order: Sequence[int] | None = None) -> Scramble:
    """Return a table in random order, or in a given one; ids are the places of its rows."""
    kinds = tuple((field.name, _KINDS[field.type]) for field in table.schema)
    places = random_order(table.num_rows) if order is None else np.asarray(order)
    columns = {name: table.column(name).combine_chunks().take(pa.array(places)) for name in table.column_names}
    encoded = {name: each.dictionary_encode() if each.type == pa.string() else each for name, each in columns.items()}
    manifest: Any = SimpleNamespace(name="flights", columns=kinds)
    return Scramble(manifest, encoded, tuple(groups), places.astype(np.int64))


def ask(of: Scramble, sql: str, error: float | None = 0.05, rows: int | None = None, **given: Any) -> ApproximateAnswer:
    """Answer a query from a scramble."""
    said = {"relative": True, "confidence": 1 - 1e-6, "bounder": "betting", "tell": lambda _: None} | given
    return answered(read_query(sql), of, Asked(error=error, rows=rows, **said), lambda: None)
