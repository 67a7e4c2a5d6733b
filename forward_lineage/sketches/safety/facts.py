"""The facts about tables: types of columns, and the exact content of their statistics."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal

Family = Literal["int", "decimal", "float", "string", "date", "timestamp", "bool", "other"]
Known = int | float | Decimal | str | dt.date | dt.datetime | bool | None

_INTEGERS = {"tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"}
_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(_INTEGERS, "int"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "decimal"),
    **dict.fromkeys(("float", "real", "double"), "float"),
    **dict.fromkeys(("string", "varchar"), "string"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ltz"), "timestamp"),
    "date": "date",
    "boolean": "bool",
}
EXACT: tuple[Family, ...] = ("int", "decimal")
"""Numbers whose arithmetic does not depend on the order of rows; `=` among them compares values, not roundings."""


def family(type_name: str) -> Family:
    """Return the family of a Spark type, by its name; ``"other"`` for what nothing is known of.

    CHAR is padded when it is compared, a collation makes different strings equal: neither is ``"string"``.
    """
    words = re.match(r"\s*(\w+)\s*(\([\d\s,]*\))?\s*$", type_name)
    return _FAMILIES.get(words[1].lower(), "other") if words else "other"


def is_narrow(type_name: str) -> bool:
    """Say whether sums of it cannot leave BIGINT: 2^32 rows of INT, or fewer."""
    return type_name.strip().lower() in _INTEGERS - {"bigint", "long"}


@dataclass(frozen=True)
class ColumnFacts:
    """The facts about a column.

    Attributes:
        type: Spark's name of its type, such as ``decimal(12,2)``; empty where it is not known.
        low: a value that none of its values is below (a bound, not always attained); None: not known.
        high: a value that none is above; None: not known.
        nulls: whether NULL may be among its values; True where it is not known.
        unique: whether no value but NULL stands in two rows.
    """

    type: str = ""
    low: Known = None
    high: Known = None
    nulls: bool = True
    unique: bool = False


@dataclass(frozen=True)
class Facts:
    """The facts about the tables that a statement may read; all names in lower case.

    Attributes:
        tables: name → its columns in order, with what is known of each.
        ansi: whether Spark fails where a number overflows (``spark.sql.ansi.enabled``); else it wraps around,
            or is NULL.
    """

    tables: Mapping[str, Mapping[str, ColumnFacts]] = field(default_factory=dict)
    ansi: bool = True

    @classmethod
    def of_statistics(
        cls,
        types: Mapping[str, Mapping[str, str]],
        statistics: Mapping[tuple[str, str], tuple[Known, Known, bool]],
        keys: Iterable[tuple[str, str]] = (),
        *,
        ansi: bool = True,
    ) -> Facts:
        """Put together what a session knows.

        Args:
            types: table → its columns in order, with Spark's names of their types.
            statistics: (table, column) → bounds, or None, and whether there are NULLs; where it is not known, no entry.
                Truncated strings are bounds, too, if the upper one was rounded up.
            keys: (table, column) of columns without two equal values.
            ansi: as the attribute.
        """
        unique = {(table.lower(), column.lower()) for table, column in keys}
        known = {(table.lower(), column.lower()): found for (table, column), found in statistics.items()}
        tables: dict[str, dict[str, ColumnFacts]] = {}
        for table, columns in types.items():
            for column, kind in columns.items():
                name = (table.lower(), column.lower())
                facts = ColumnFacts(kind, *known.get(name, (None, None, True)), unique=name in unique)
                tables.setdefault(name[0], {})[name[1]] = facts
        return cls(tables, ansi)

    def of(self, table: str, column: str) -> ColumnFacts:
        """Return what is known of a column; nothing of one that is not there."""
        return self.tables.get(table, {}).get(column, ColumnFacts())


def as_number(value: Known) -> Fraction | None:
    """Return a number, a date or a truth value as an exact number; None for other values, and for infinities."""
    match value:
        case None | str() | dt.datetime():
            return None
        case dt.date():
            return Fraction(value.toordinal())
        case float() if not math.isfinite(value):
            return None
        case Decimal() if not value.is_finite():
            return None
    return Fraction(value)
