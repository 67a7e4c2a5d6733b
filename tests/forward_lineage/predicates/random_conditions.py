"""Rows with all that comparisons trip over, and random conditions over them, many of which are doubtful."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

_TEXTS = [
    "",
    " ",
    "a",
    "a ",
    " a",
    "A",
    "ab",
    "b",
    "5",
    "5 ",
    "05",
    "5.0",
    "true",
    "1994-01-01",
    "é",
    "z\U0001f600",
    "NULL",
]
_DAYS = ["1994-01-01", "1994-01-02", "2024-02-29", "1970-01-01", "9999-12-31", "1600-01-01"]
_COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "t": (pa.int8(), [-128, -1, 0, 1, 5, 127]),
    "s": (pa.int16(), [-32768, 0, 5, 300, 32767]),
    "i": (pa.int32(), [-(2**31), -5, 0, 1, 5, 6, 2**31 - 1]),
    "l": (pa.int64(), [-(2**63), -5, 0, 5, 2**31, 2**53 + 1, 2**63 - 1]),
    "d": (pa.decimal128(7, 2), ["-99999.99", "-0.01", "0.00", "1.50", "5.00", "5.01", "99999.99"]),
    "e": (pa.decimal128(18, 0), ["-999999999999999999", "0", "5", "999999999999999999"]),
    "f": (pa.decimal128(18, 17), ["-9.99999999999999999", "0.00000000000000001", "5", "1.5"]),
    "w": (pa.decimal128(38, 10), ["0", "5", "1.5", "9999999999999999999999999999.9999999999", "-0.0000000001"]),
    "u": (pa.decimal128(25, 2), ["0", "5.00", "5.01", "-99999999999999999999999.99", "300"]),
    "v": (pa.decimal128(38, 30), ["0", "5", "-0.000000000000000000000000000001"]),
    "n": (pa.string(), _TEXTS),
    "m": (pa.string(), _TEXTS),
    "day": (pa.date32(), [date.fromisoformat(each) for each in _DAYS]),
    "night": (pa.date32(), [date.fromisoformat(each) for each in _DAYS]),
    "yes": (pa.bool_(), [True, False]),
    "no": (pa.bool_(), [True, False]),
    "x": (pa.float64(), [-1.5, 0.1, 0.3, 1.0, 5.0, 1e300, float("inf"), float("-inf"), 0.1 + 0.2]),
    "y": (pa.float32(), [0.1, 5.0, 1.5]),
    "at": (pa.timestamp("us"), [datetime(1994, 1, 1), datetime(2024, 2, 29, 12)]),
    "Mixed Case": (pa.int32(), [1, 5]),
}
_NUMBERS = [
    *("0", "1", "5", "6", "-5", "-1", "127", "128", "-129", "300", "32768", "2147483647", "2147483648", "9999999999"),
    *("1.5", "5.0", "5.00", "5.001", "5.01", "-0.01", "0.30", "0.1", "99999.99", "99999.995", "1.50000000000000000"),
    *("9223372036854775807", "9223372036854775808", "999999999999999999", "9007199254740993", "00005", "1e3", "5L"),
    *("1.", ".5", "5D", "5BD", "2147483648.5"),
]
_QUOTED = [
    *_TEXTS,
    *_DAYS,
    "1994-1-1",
    "1994",
    "1994-01-01 ",
    "1994-13-01",
    "2023-02-29",
    "tr\\'ue",
    "it''s",
    "$x",
    "%a%",
]


def rows(number: int = 120, seed: int = 7) -> pa.Table:
    """Return rows with a NULL in every sixth place."""
    chance = random.Random(seed)

    def value(kind: pa.DataType, values: list[Any]) -> Any:
        if chance.random() < 1 / 6:
            return None
        found = chance.choice(values)
        return Decimal(found) if pa.types.is_decimal(kind) else found

    columns = {name: pa.array([value(*each) for _ in range(number)], each[0]) for name, each in _COLUMNS.items()}
    return pa.table(columns)


class Conditions:
    """Draws conditions; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def draw(self, depth: int = 3) -> str:
        """Return the text of one."""
        chance = self._chance.random()
        if depth and chance < 0.35:
            word = self._chance.choice((" AND ", " OR ", " and\n", "\tOr "))
            return word.join(self._within(depth - 1) for _ in range(self._chance.choice((2, 2, 3))))
        if depth and chance < 0.5:
            return f"NOT {self._within(depth - 1)}"
        return self._test()

    def _within(self, depth: int) -> str:
        found = self.draw(depth)
        return f"({found})" if self._chance.random() < 0.4 else found

    def _test(self) -> str:
        column = self._column()
        opposite = self._chance.choice(("", "", "NOT "))
        form = self._chance.random()
        if form < 0.55:
            sides = [self._name(column), self._operand(column)]
            if self._chance.random() < 0.2:
                sides.reverse()
            return self._chance.choice((" ", "")).join((sides[0], self._sign(), sides[1]))
        if form < 0.7:
            listed = ", ".join(self._operand(column) for _ in range(self._chance.randint(1, 4)))
            return f"{self._name(column)} {opposite}IN ({listed})"
        if form < 0.82:
            return f"{self._name(column)} {opposite}BETWEEN {self._operand(column)} AND {self._operand(column)}"
        if form < 0.92:
            return f"{self._name(column)} IS {opposite}NULL"
        return self._name(self._chance.choice(("yes", "no", "i")))

    def _sign(self) -> str:
        return self._chance.choice(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "="))

    def _column(self) -> str:
        return self._chance.choice(list(_COLUMNS))

    def _name(self, column: str) -> str:
        if not column.isidentifier() or column in ("at",) or self._chance.random() < 0.1:
            return f"`{column}`"
        return column.upper() if self._chance.random() < 0.1 else column

    def _operand(self, column: str) -> str:
        """Mostly of the column's own kind."""
        chance = self._chance.random()
        if chance < 0.12:
            return self._name(self._column())
        if chance < 0.2:
            kind: pa.DataType = self._chance.choice(list(_COLUMNS.values()))[0]
        else:
            kind = _COLUMNS[column][0]
        if pa.types.is_boolean(kind):
            return self._chance.choice(("TRUE", "false", "true", "NULL", "1"))
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            before = self._chance.choice(("DATE ", "", "date", "TIMESTAMP "))
            return f"{before}'{self._chance.choice(_DAYS + _QUOTED if self._chance.random() < 0.3 else _DAYS)}'"
        if pa.types.is_string(kind):
            return f"'{self._chance.choice(_QUOTED)}'"
        return self._chance.choice(_NUMBERS)
