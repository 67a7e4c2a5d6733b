"""Values as bytes, exactly and safely: what is read back has the same types and contents, and no code is run.

There are three forms: values as in JSON, also with tuples, bytes and arrays inside; an array of numpy's; a table of
Arrow's. Anything else has no form, and a step that returns it is computed each time.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable
from typing import Any

_PLAIN = (type(None), bool, int, str)


def written(value: object) -> tuple[str, bytes] | None:
    """Return a value's form and bytes; None if it has none.

    Examples:
        >>> form, data = written({"rate": 0.5, "names": ("a", "b")})
        >>> form, read_back(form, data)
        ('json', {'rate': 0.5, 'names': ('a', 'b')})
        >>> written({1, 2}) is None
        True

    """
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        data = _array_bytes(value)
        return None if data is None else ("npy", data)
    if kind.__module__ == "pyarrow.lib" and kind.__name__ == "Table":
        return "arrow", _table_bytes(value)
    try:
        return "json", json.dumps(_plain(value, set())).encode()
    except (_NoFormError, RecursionError):
        return None


def read_back(form: str, data: bytes) -> Any:
    """Return the value that was written.

    Raises:
        ValueError: the bytes are not of this form.

    """
    if form == "npy":
        return _array(data)
    if form == "arrow":
        import pyarrow as pa  # noqa: PLC0415 - only where a table was kept

        return pa.ipc.open_file(pa.BufferReader(data)).read_all()
    if form == "json":
        return _value(json.loads(data))
    raise ValueError(f"unknown form {form}")


class _NoFormError(Exception):
    """A value that cannot be written exactly."""


def _plain(value: Any, above: set[int]) -> Any:
    """Return a value in terms of JSON; an object of one key says what JSON has no word for."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return {"float": struct.pack(">d", value).hex()}  # its bits; a NaN has many
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if id(value) in above:
        raise _NoFormError  # the same list twice would come back as two
    above.add(id(value))
    if kind is list or kind is tuple:
        return {kind.__name__: [_plain(each, above) for each in value]}
    if kind is dict:
        return {"dict": [[_plain(key, above), _plain(each, above)] for key, each in value.items()]}
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and (data := _array_bytes(value)) is not None:
        return {"array": base64.b64encode(data).decode()}
    raise _NoFormError


def _value(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, inside),) = plain.items()
    readers: dict[str, Callable[[Any], Any]] = {
        "float": lambda each: struct.unpack(">d", bytes.fromhex(each))[0],
        "bytes": base64.b64decode,
        "array": lambda each: _array(base64.b64decode(each)),
        "list": lambda each: [_value(one) for one in each],
        "tuple": lambda each: tuple(_value(one) for one in each),
        "dict": lambda each: {_value(key): _value(one) for key, one in each},
    }
    return readers[kind](inside)


def _array_bytes(value: Any) -> bytes | None:
    """Return an array as a file of numpy's; None if it would come back as another one."""
    import numpy as np  # noqa: PLC0415 - there already, as there is an array

    lies_plainly = value.flags.c_contiguous or value.flags.f_contiguous
    if value.dtype.hasobject or value.dtype.metadata is not None or not lies_plainly:
        return None
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    back = _array(file.getvalue())
    return file.getvalue() if (back.dtype, back.shape) == (value.dtype, value.shape) else None


def _array(data: bytes) -> Any:
    import numpy as np  # noqa: PLC0415 - only where an array was kept

    return np.load(io.BytesIO(data), allow_pickle=False)


def _table_bytes(value: Any) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - there already, as there is a table

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, value.schema) as writer:
        writer.write_table(value)
    data: bytes = sink.getvalue().to_pybytes()
    return data
