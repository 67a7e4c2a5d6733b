"""Names of folders as values: what Spark reads in another way, or in one of several, is left to it."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.partition_values import partition_values

KINDS = {"n": pa.int32(), "Day": pa.date32(), "word": pa.string(), "x": pa.float64()}


def read(below: str, root: str | None = "/t") -> dict[str, object]:
    found = partition_values(f"/t/{below}/a.parquet", root, KINDS)
    return {name: value.as_py() for name, value in found.items()}


def test_values() -> None:
    assert read("n=-12/day=2024-02-29/word=a%3Db=c") == {"n": -12, "Day": date(2024, 2, 29), "word": "a=b=c"}
    assert read("N=0") == {"n": 0}
    assert read("n=__HIVE_DEFAULT_PARTITION__/word=__HIVE_DEFAULT_PARTITION__") == {"n": None, "word": None}
    assert read("other=1.5") == {}, "a column that is not asked"
    assert read("word=007") == {"word": "007"}
    assert read("plain/folders") == {}


@pytest.mark.parametrize(
    "below",
    [
        "n=007",
        "n=+1",
        "n=1_000",
        "n=99999999999",
        "n=",
        "word=",
        "day=2024-2-9",
        "day=2024-02-30",
        "day=0001-01-01",
        "x=1.5",
        "word=%C3%A9",
        "n=1/N=2",
        "n=1/plain",
        "w%6Frd=1/n=2",
    ],
)
def test_what_is_not_certain(below: str) -> None:
    with pytest.raises(NeedsSpark, match="folders"):
        read(below)


def test_folders_above_the_table() -> None:
    with pytest.raises(NeedsSpark, match="folders"):
        partition_values("/year=2000/t/n=1/a.parquet", "/year=2000/t", KINDS)
    with pytest.raises(NeedsSpark, match="folders"):
        read("n=1", None)
