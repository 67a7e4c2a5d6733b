"""Columns whose values are in the names of folders: `day=2024-01-03/shop=7/part-0.parquet`, read as Spark reads it.

Only of types that there is one way to read, in the spelling that Spark writes. Anything else raises
`NeedsSpark`.   [Spark 4: PartitioningUtils.parsePartitionColumn, ExternalCatalogUtils.unescapePathName]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa

from forward_lineage.embedded.needs_spark import NeedsSpark

_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DAY = re.compile(r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}")


def partition_values(path: str, root: str | None, columns: Mapping[str, pa.DataType]) -> dict[str, pa.Scalar]:
    """Return the values of those columns that folders give to the rows of a file, by the columns' names.

    Args:
        path: of the file.
        root: the folder of the table; None: it is not known.
        columns: those that are read, by name.

    Raises:
        NeedsSpark: Spark may read other values.

    """
    above, below = _parts(path, root)
    if any("=" in part for part in above):
        raise NeedsSpark(f"{path}, whose folders may say what is in a column")
    said = [part.split("=", 1) for part in below if "=" in part]
    names = [name.lower() for name, _ in said]
    if len(said) < len(below) and said:
        raise NeedsSpark(f"{path}, some of whose folders say what is in a column")
    if len(set(names)) < len(names) or any(_ESCAPED.search(name) for name, _ in said):
        raise NeedsSpark(f"{path}, whose folders may say what is in a column")
    wanted = {name.lower(): name for name in columns}
    return {
        wanted[name.lower()]: _value(text, columns[wanted[name.lower()]], path)
        for name, text in said
        if name.lower() in wanted
    }


def _parts(path: str, root: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders down to the table's, and those below it."""
    folder = Path(path).parent
    if root is None or not folder.is_relative_to(root):
        return folder.parts, ()
    return Path(root).parts, folder.relative_to(root).parts


def _value(text: str, kind: pa.DataType, path: str) -> pa.Scalar:
    if text == _NULL:
        return pa.scalar(None, kind)
    if pa.types.is_string(kind) and text and all(int(each, 16) < 128 for each in _ESCAPED.findall(text)):
        return pa.scalar(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), text), kind)
    try:
        if pa.types.is_integer(kind) and _INTEGER.fullmatch(text):
            return pa.scalar(int(text), kind)
        if pa.types.is_date32(kind) and _DAY.fullmatch(text):
            return pa.scalar(date.fromisoformat(text), kind)
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    raise NeedsSpark(f"{path}, whose folders say {text} of a {kind}")
