"""How a value of each type that is known is fed to a digest; a table from type to function."""

from __future__ import annotations

import datetime
import functools
import logging
import pathlib
import re
import types
import typing
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import Field
from fractions import Fraction
from typing import Any

from forward_lineage.steps.encoding import Encoder, put_sequence, put_unordered

Put = Callable[[Encoder, object], None]


def put_known(encoder: Encoder, value: Any, put: Put) -> bool:
    """Feed a value of a known type of Python's, numpy's or Arrow's; return whether it is of one.

    Args:
        encoder: takes it.
        value: what is fed.
        put: feeds values inside it.

    """
    writer = _WRITERS.get(type(value))
    if writer is None:
        others = (_put_array(encoder, value, put), _put_arrow(encoder, value), _put_spark_type(encoder, value))
        return any(others) or _put_type_hint(encoder, value, put)
    if type(value) in _SHARED and not encoder.is_first(value):
        return True
    encoder.put("value", type(value).__qualname__)
    writer(encoder, value, put)
    return True


def _items(encoder: Encoder, value: Any, put: Put) -> None:
    put_sequence(encoder, "items", value, put)


def _unordered(encoder: Encoder, value: Any, put: Put) -> None:
    put_unordered(encoder, "unordered", value, put)


def _pairs(encoder: Encoder, value: Any, put: Put) -> None:
    put_sequence(encoder, "pairs", (part for pair in value.items() for part in pair), put)


def _parts(*names: str) -> Callable[[Encoder, Any, Put], None]:
    def writer(encoder: Encoder, value: Any, put: Put) -> None:
        put_sequence(encoder, "parts", (getattr(value, name) for name in names), put)

    return writer


def _text(encoder: Encoder, value: Any, put: Put) -> None:
    encoder.put("text", str(value))


def _moment(encoder: Encoder, value: Any, put: Put) -> None:
    put_sequence(encoder, "reduced", value.__reduce__()[1], put)


def _default_dict(encoder: Encoder, value: Any, put: Put) -> None:
    put(encoder, value.default_factory)
    _pairs(encoder, value, put)


def _deque(encoder: Encoder, value: Any, put: Put) -> None:
    put(encoder, value.maxlen)
    _items(encoder, value, put)


def _namespace(encoder: Encoder, value: Any, put: Put) -> None:
    _pairs(encoder, vars(value), put)


def _bytes(encoder: Encoder, value: Any, put: Put) -> None:
    encoder.put("bytes", bytes(value))


def _partial(encoder: Encoder, value: Any, put: Put) -> None:
    put_sequence(encoder, "partial", (value.func, value.args, value.keywords, vars(value)), put)


def _logger(encoder: Encoder, value: Any, put: Put) -> None:
    levels = (value.level, value.getEffectiveLevel(), value.disabled, value.manager.disable)
    encoder.put("logger", value.name, repr(levels))  # messages are no part of a result; what is asked may be


def _field(encoder: Encoder, value: Any, put: Put) -> None:
    names = ("name", "type", "default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
    _parts(*names)(encoder, value, put)
    put(encoder, dict(value.metadata))


def _getter(encoder: Encoder, value: Any, put: Put) -> None:
    put(encoder, value.__reduce__()[1][0])  # its place in the tuple


_SHARED = {list, dict, set, bytearray, OrderedDict, Counter, defaultdict, deque, types.SimpleNamespace}
_WRITERS: dict[type, Callable[[Encoder, Any, Put], None]] = {
    tuple: _items,
    list: _items,
    dict: _pairs,
    OrderedDict: _pairs,
    Counter: _pairs,
    types.MappingProxyType: _pairs,
    defaultdict: _default_dict,
    deque: _deque,
    set: _unordered,
    frozenset: _unordered,
    bytearray: _bytes,
    slice: _parts("start", "stop", "step"),
    range: _parts("start", "stop", "step"),
    Fraction: _parts("numerator", "denominator"),
    datetime.date: _moment,
    datetime.time: _moment,
    datetime.datetime: _moment,
    datetime.timedelta: _moment,
    datetime.timezone: lambda encoder, value, put: put_sequence(encoder, "zone", value.__getinitargs__(), put),
    re.Pattern: _parts("pattern", "flags"),
    pathlib.PurePosixPath: _text,  # no path of this machine: that can be asked about files
    pathlib.PureWindowsPath: _text,
    types.SimpleNamespace: _namespace,
    functools.partial: _partial,
    logging.Logger: _logger,
    logging.RootLogger: _logger,
    staticmethod: _parts("__func__"),
    classmethod: _parts("__func__"),
    property: _parts("fget", "fset", "fdel"),
    functools.cached_property: _parts("func"),
    functools.partialmethod: _parts("func", "args", "keywords"),
    Field: _field,
    type(namedtuple("Point", "x").x): _getter,  # type: ignore[attr-defined]
}


def _put_array(encoder: Encoder, value: Any, put: Put) -> bool:
    """Feed an array of numpy's, or one of its scalars or types, without importing numpy for it."""
    if type(value).__module__ not in ("numpy", "numpy.dtypes"):
        return False
    import numpy as np  # noqa: PLC0415 - there already, or there would be no such value

    if isinstance(value, np.dtype):
        encoder.put("dtype", repr(value.descr), str(value))
        return value.metadata is None
    if isinstance(value, np.generic):
        if value.dtype.hasobject:
            return False
        encoder.put("scalar", repr(value.dtype.descr), value.tobytes())
        return True
    return type(value) is np.ndarray and _put_ndarray(encoder, value, put)


def _put_ndarray(encoder: Encoder, value: Any, put: Put) -> bool:
    if not encoder.is_first(value):
        return True
    # How it lies in memory is part of it: sums of floats differ in their last digits.
    flags = value.flags
    encoder.put("array", repr(value.dtype.descr), repr((value.shape, flags.c_contiguous, flags.f_contiguous)))
    if value.dtype.hasobject:
        put_sequence(encoder, "objects", value.ravel().tolist(), put)
        return bool(value.dtype == object)
    encoder.put(value.tobytes())
    return True


def _put_arrow(encoder: Encoder, value: Any) -> bool:
    if type(value).__module__ != "pyarrow.lib":
        return False
    import pyarrow as pa  # noqa: PLC0415 - there already

    if isinstance(value, pa.DataType | pa.Field | pa.Schema):
        field = value if isinstance(value, pa.Field | pa.Schema) else pa.field("type", value)
        schema = field if isinstance(field, pa.Schema) else pa.schema([field])
        encoder.put("arrow", type(value).__name__, schema.serialize().to_pybytes())
        return True
    if type(value) not in (pa.Table, pa.RecordBatch):
        return False
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, value.schema) as writer:
        writer.write(value)
    encoder.put("arrow", type(value).__name__, sink.getvalue().to_pybytes())
    return True


def _put_spark_type(encoder: Encoder, value: Any) -> bool:
    if type(value).__module__ != "pyspark.sql.types" or not hasattr(value, "jsonValue"):
        return False
    encoder.put("type", type(value).__name__, value.json())
    return True


def _put_type_hint(encoder: Encoder, value: Any, put: Put) -> bool:
    """Feed ``list[int]``, ``int | None`` and the like."""
    if isinstance(value, typing.TypeVar | typing.ParamSpec):
        encoder.put("variable", value.__name__)
        return True
    origin = typing.get_origin(value)
    if origin is None or type(value).__module__ not in ("types", "typing"):
        if type(value).__module__ == "typing":
            encoder.put("typing", repr(value))
            return True
        return False
    encoder.put("hint")
    put_sequence(encoder, "hint", (origin, *typing.get_args(value)), put)
    return True
