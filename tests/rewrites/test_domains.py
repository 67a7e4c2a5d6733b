"""Domains: how many places there are, and what they are written with."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from forward_lineage.frontend.dialect import print_sql
from rewrites.domains import WHOLE, Integers, Listed, integers
from tests.rewrites.plain_tables import read
from udafs.delta import MAX_ID


def test_there_are_as_many_places_as_ids() -> None:
    assert WHOLE == MAX_ID + 1
    whole = integers("BIGINT", read("v"), lambda _: True)
    assert whole is not None and whole.size == WHOLE


@pytest.mark.parametrize(
    ("type_name", "size"),
    [
        ("BOOLEAN", 3),
        ("TINYINT", 257),
        ("SMALLINT", 2**16 + 1),
        ("INT", 2**32 + 1),
        ("DATE", 2**32 + 1),
        ("TIMESTAMP", WHOLE),
        ("TIMESTAMP_NTZ", WHOLE),
        ("DECIMAL(3,1)", 2000),
        ("DECIMAL(18,18)", 2 * 10**18),
    ],
)
def test_types_whose_values_are_integers(type_name: str, size: int) -> None:
    found = integers(type_name, read("v"), lambda _: True)
    assert found is not None and (found.type, found.size, found.of_type) == (type_name, size, True)


@pytest.mark.parametrize(
    "type_name",
    ["STRING", "DOUBLE", "FLOAT", "DECIMAL(19,0)", "BINARY", "VARCHAR(3)", "TIME(6)", "INTERVAL DAY", "VOID"],
)
def test_other_types(type_name: str) -> None:
    assert integers(type_name, read("v"), lambda _: True) is None


def test_what_sparks_own_functions_return() -> None:
    month = integers("INT", read("Month(v)"), lambda name: name == "month")
    assert month == Integers("INT", 1, 12, of_type=False)
    assert integers("INT", read("month(v)"), lambda _: False) == Integers("INT", -(2**31), 2**31 - 1)
    assert integers("BIGINT", read("month(v)"), lambda _: True) == Integers("BIGINT", 1 - 2**62, 2**62 - 1)


DAYS = [date(2000, 1, 1) + timedelta(days=each) for each in range(366 * 28)]
CALENDAR: dict[str, list[int]] = {
    "quarter": [(day.month + 2) // 3 for day in DAYS],
    "month": [day.month for day in DAYS],
    "weekofyear": [day.isocalendar().week for day in DAYS],
    "dayofyear": [day.timetuple().tm_yday for day in DAYS],
    "day": [day.day for day in DAYS],
    "dayofmonth": [day.day for day in DAYS],
    "dayofweek": [day.isoweekday() % 7 + 1 for day in DAYS],
    "weekday": [day.weekday() for day in DAYS],
    "hour": list(range(24)),
    "minute": list(range(60)),
    "second": list(range(60)),
    "year": [int(each.astype("datetime64[Y]").astype(int)) + 1970 for each in np.array([-(2**31), 2**31 - 1], "M8[D]")],
}


@pytest.mark.parametrize("function", CALENDAR)
def test_what_parts_of_a_date_or_a_time_can_be(function: str) -> None:
    values = CALENDAR[function]
    found = integers("INT", read(f"{function}(v)"), lambda name: name == function)
    assert found == Integers("INT", min(values), max(values), of_type=False)


def test_listed_strings_stand_behind_their_lengths() -> None:
    listed = Listed((b"", b"ab"))
    assert (listed.size, Listed((b"a",)).size, Listed(()).size) == (3, 2, 2)
    assert print_sql(listed.place(read("v"))) == "dl_listed(v, X'00000000000000026162')"
    assert print_sql(listed.value(read("p"))) == "dl_listed_value(p, X'00000000000000026162')"
    assert print_sql(Listed(()).place(read("v"))) == "dl_listed(v, X'')"
