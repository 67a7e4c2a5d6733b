"""A row as 128 bits: equal bits, equal row; two rows that any expression of SQL could tell apart have other bits.

Spark's own equality does not do: to it 0.0 is -0.0, and 'a' is 'A' under some collations, and a query may still tell
them apart. So each value is written as bytes of which no other value of its type has the same, with its length before
it, and the row is the beginning of the SHA-256 of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from forward_lineage.spark.names import quoted
from udafs.errors import NotTracedError

_NULL = "X'4E'"  # no length begins so
#: By the first word of a type: the bytes of a value; {0} is the column.
_BYTES = {
    **dict.fromkeys(("boolean", "tinyint", "smallint", "int", "bigint", "decimal"), "CAST({0} AS STRING)"),
    **dict.fromkeys(("float", "double"), "CAST({0} AS STRING)"),  # the shortest text that is read back as the value
    **dict.fromkeys(("string", "char", "varchar"), "CAST({0} AS STRING)"),
    "binary": "{0}",
    "date": "CAST(unix_date({0}) AS STRING)",
    "timestamp": "CAST(unix_micros({0}) AS STRING)",  # as text an hour is there twice when clocks are put back
    "timestamp_ntz": "CAST({0} AS STRING)",
}


def row_hash(columns: Sequence[tuple[str, str]], name: str) -> str:
    """Write the hash of a row in SQL, 16 bytes.

    Args:
        columns: names and Spark types.
        name: what messages call the table.

    Raises:
        NotTracedError: a column has a type whose values are not compared, e.g. an array.

    """
    parts = [_part(column, kind, name) for column, kind in columns]
    return f"unhex(substr(sha2(concat({', '.join(parts)}), 256), 1, 32))"


def _part(column: str, kind: str, name: str) -> str:
    written = _BYTES.get(kind.partition("(")[0].partition(" ")[0].lower())
    if written is None:
        raise NotTracedError(
            f"values of column {column} of {name} are not compared: it is {kind}",
            instead="Whatever was made of the table is computed again when it has changed.",
        )
    value = f"CAST({written.format(quoted(column))} AS BINARY)"
    length = f"CAST(CONCAT(CAST(octet_length({value}) AS STRING), ':') AS BINARY)"
    return f"CASE WHEN {quoted(column)} IS NULL THEN {_NULL} ELSE concat({length}, {value}) END"
