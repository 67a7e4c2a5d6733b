"""Literals as values: numbers exact, dates as days, dates plus intervals worked out."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from decimal import Decimal

from sqlglot import exp

from forward_lineage.frontend.nodes import TypedLiteral
from forward_lineage.sketches.safety.algebra import Call, Const, Param, Scalar

_INTERVAL = re.compile(r"interval\s+'?\s*(\d+)\s*'?\s*(day|month|year)s?\s*'?", re.IGNORECASE)
_DATE = re.compile(r"date\s*'(\d{4})-(\d\d)-(\d\d)'", re.IGNORECASE)
_NUMBER = re.compile(r"([\d.]+(?:e[+-]?\d+)?)(l|s|y|bd|d|f)", re.IGNORECASE)


def literal(node: exp.Literal) -> Scalar:
    """Return a plain literal."""
    if node.is_string:
        return Const(str(node.this), family="string")
    text = str(node.this)
    if text.isdigit():
        return Const(int(text), family="int")
    if "e" in text.lower():
        return Const(float(text), family="float")
    return Const(Decimal(text), family="decimal")


def typed_literal(node: TypedLiteral) -> Scalar:
    """Return a literal with a type in its text; what is not worked out stands for itself."""
    text = str(node.this)
    if date := _DATE.fullmatch(text):
        try:
            return Const(dt.date(*map(int, date.groups())).toordinal(), family="date")
        except ValueError:
            return Param(text)
    if number := _NUMBER.fullmatch(text):
        suffix = number[2].lower()
        if suffix in ("l", "s", "y"):
            return Const(int(number[1]), family="int")
        return (
            Const(Decimal(number[1]), family="decimal") if suffix == "bd" else Const(float(number[1]), family="float")
        )
    if text.lower().startswith("timestamp"):
        return Param(text, family="timestamp")
    return Param(text)


def shifted_date(call: Call) -> Scalar | None:
    """Work out a date plus or minus an interval of days, months or years; None if it is something else."""
    if call.op not in ("+", "-"):
        return None
    date, interval = call.args
    if isinstance(date, Param) and call.op == "+":
        date, interval = interval, date
    if not (isinstance(date, Const) and date.family == "date" and isinstance(interval, Param)):
        return None
    found = _INTERVAL.fullmatch(interval.name)
    if not found or not isinstance(date.value, int):
        return None
    count = int(found[1]) * (1 if call.op == "+" else -1)
    try:
        return Const(_shifted(dt.date.fromordinal(date.value), count, found[2].lower()).toordinal(), family="date")
    except (ValueError, OverflowError):
        return None


def _shifted(date: dt.date, count: int, unit: str) -> dt.date:
    if unit == "day":
        return date + dt.timedelta(days=count)
    months = date.year * 12 + date.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    return dt.date(year, month + 1, min(date.day, calendar.monthrange(year, month + 1)[1]))
