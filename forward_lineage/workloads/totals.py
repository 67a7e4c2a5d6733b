"""From entries of a form to the answer: grouped by keys, added up, in the types that Spark gives."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import prod

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.views.measures import ROWS, MeasurePart
from forward_lineage.views.view import Aggregate
from forward_lineage.workloads.columns import Array
from forward_lineage.workloads.forms import Form, Ints, Sums, added_up, places
from forward_lineage.workloads.shape import Call, Shape

_COUNTED = 1 << 16


def kind_of(form: Form, call: Call, said: pa.DataType) -> pa.DataType:
    """Return the type that an aggregate has here; of sums and averages what Spark says, if it is one of theirs."""
    if call.function == "count" or call.argument is None:
        return pa.int64()
    kind = form.measures[call.argument].kind
    if call.function in ("min", "max"):
        return kind
    if pa.types.is_decimal128(kind):
        exact = pa.types.is_decimal128(said) and (call.function == "avg" or said.scale == kind.scale)
        return said if exact else pa.null()
    return pa.int64() if call.function == "sum" and pa.types.is_integer(kind) else pa.float64()


def answer_of(form: Form, shape: Shape, chosen: Ints | slice, schema: pa.Schema) -> pa.Table:
    """Group entries and add them up.

    Args:
        form: the form.
        shape: what is asked.
        chosen: the entries.
        schema: of the answer.

    """
    order = list(form.keys)
    codes = [form.codes[order.index(text)][chosen] for text in shape.keys]
    values = [form.keys[text] for text in shape.keys]
    count = (chosen.stop - chosen.start) if isinstance(chosen, slice) else chosen.size
    group, found = _groups(codes, [len(each) for each in values], count)
    size = found[0].size if shape.keys else 1
    counts = np.bincount(group, minlength=size) if form.counts is None else np.zeros(size, np.int64)
    if form.counts is not None:
        np.add.at(counts, group, form.counts[chosen])
    wanted = dict.fromkeys(call.argument for call in shape.calls if call.argument is not None)
    added = {text: added_up(_chosen(form.measures[text], chosen), group, size) for text in wanted}
    columns = [
        values[shape.keys.index(item)].take(pa.array(found[shape.keys.index(item)]))
        if isinstance(item, str)
        else _column(item, counts, added, field.type)
        for item, field in zip(shape.items, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _groups(codes: Sequence[Array], sizes: Sequence[int], count: int) -> tuple[npt.NDArray[np.intp], list[Ints]]:
    """The group of each entry, and of each group the codes of its keys."""
    if not codes:
        return np.zeros(count, np.intp), []
    place = places(codes, sizes)
    if prod(sizes) <= _COUNTED:
        there = np.bincount(place, minlength=prod(sizes)) > 0
        different = np.flatnonzero(there)
        group = (np.cumsum(there) - 1)[place]
    else:
        different, group = np.unique(place, return_inverse=True)
    found: list[Ints] = []
    for size in reversed(sizes):
        different, code = np.divmod(different, max(size, 1))
        found.append(code)
    return group, found[::-1]


def _chosen(sums: Sums, chosen: Ints | slice) -> Sums:
    total, valid, least, most = (
        None if each is None else each[chosen] for each in (sums.total, sums.valid, sums.least, sums.most)
    )
    return Sums(sums.kind, total, valid, least, most, sums.values)


def _column(call: Call, counts: Ints, added: dict[str, Sums], kind: pa.DataType) -> pa.Array:
    if call.argument is None:
        return pa.array(counts, kind)
    sums = added[call.argument]
    valid = counts if sums.valid is None else sums.valid
    if call.function in ("min", "max"):
        return _end(sums, sums.least if call.function == "min" else sums.most, valid, kind)
    scale = sums.kind.scale if pa.types.is_decimal128(sums.kind) else 0
    counted = {ROWS: counts, MeasurePart("valid", 0): valid}
    if sums.total is not None:
        counted[MeasurePart("sum", 0)] = sums.total
    return Aggregate(call.function, 0, scale).column(counted, kind)  # type: ignore[arg-type]


def _end(sums: Sums, ends: Array | None, valid: Array, kind: pa.DataType) -> pa.Array:
    assert ends is not None, "only forms that have it answer"
    none = valid == 0
    if sums.values is not None:
        return sums.values.take(pa.array(np.where(none, 0, ends), pa.int64(), mask=none))
    if pa.types.is_decimal128(kind):
        listed = zip(ends.tolist(), none.tolist(), strict=True)
        return pa.array([None if empty else Decimal(end).scaleb(-kind.scale) for end, empty in listed], kind)
    return pa.array(ends, mask=none).cast(kind)
