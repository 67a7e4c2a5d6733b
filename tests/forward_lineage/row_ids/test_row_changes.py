"""Which rows came, went or differ between two versions of a table, by files and by a key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.tiers import every_day


def changed(lineage: ForwardLineage, table: str, since: int = 1) -> dict[int, str]:
    found = lineage.changed(table, since, kinds=True).collect()
    assert len({row.row_id for row in found}) == len(found)
    return {row.row_id: row.change for row in found}


def test_files(lineage: ForwardLineage, folder: Path) -> None:
    """One is new, one is gone, one was written again with the same rows, and one was moved."""
    lineage.register("t", path=folder)
    write(folder / "d.parquet", [40])
    (folder / "a.parquet").unlink()
    write(folder / "b.parquet", [20, 21], more=["x", "y"])
    (folder / "c.parquet").rename(folder / "moved.parquet")
    lineage.refresh("t")
    now = ids(lineage, "t")
    assert changed(lineage, "t") == {
        **dict.fromkeys((0, 1, 2, 3, 4), "gone"),
        **dict.fromkeys((now[20], now[21], now[40]), "came"),
    }
    assert changed(lineage, "t", since=2) == {}
    assert {row.change for row in lineage.changed("t", 1).collect()} == {"gone", "written"}


# What Spark calls equal, and a query can tell apart; then what it cannot.
ALIKE = [
    ("DOUBLE", "0.0D", "-0.0D", True),
    ("STRING", "'ab'", "'ab '", True),
    ("STRING", "''", "NULL", True),
    ("TIMESTAMP", "TIMESTAMP '2024-10-27 02:30:00 Europe/Berlin'", "TIMESTAMP '2024-10-27 01:30:00 UTC'", True),
    ("TIMESTAMP", "TIMESTAMP '2024-01-01 00:00:00.000001'", "TIMESTAMP '2024-01-01 00:00:00.000002'", True),
    ("DECIMAL(5,2)", "1.10BD", "1.1BD", False),
    ("FLOAT", "FLOAT('NaN')", "FLOAT('NaN')", False),
    ("BINARY", "X'00'", "X'0000'", True),
]


@pytest.mark.parametrize(("kind", "before", "after", "differs"), every_day(ALIKE, ALIKE[:2]))
def test_values(
    lineage: ForwardLineage, spark: SparkSession, kind: str, before: str, after: str, differs: bool
) -> None:
    def rows(value: str) -> None:
        sql = f"SELECT * FROM VALUES (1, CAST({value} AS {kind}), 'z'), (2, NULL, 'z') AS t(k, v, w)"
        lineage.register("t", source=spark.sql(sql), key="k")

    rows(before)
    rows(after)
    assert changed(lineage, "t") == ({1: "differs"} if differs else {})


def test_a_value_that_moves_to_the_next_column(lineage: ForwardLineage, spark: SparkSession) -> None:
    for values in ("'a', 'bc'", "'ab', 'c'"):
        lineage.register("t", source=spark.sql(f"SELECT * FROM VALUES (1, {values}) AS t(k, v, w)"), key="k")
    assert changed(lineage, "t") == {1: "differs"}


def test_a_key(lineage: ForwardLineage, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    options = {"format": "csv", "options": {"header": "true", "inferSchema": "true"}}
    file.write_text("k,v\n1,a\n2,b\n3,c\n")
    lineage.register("t", path=file, key="k", **options)
    file.write_text("k,v\n4,d\n3,c\n2,B\n")
    lineage.refresh("t")
    assert changed(lineage, "t") == {1: "gone", 2: "differs", 4: "came"}
    file.write_text("k,v,w\n4,d,1\n")
    lineage.refresh("t")
    with pytest.raises(LineageError, match="t has other columns than in version 2"):
        lineage.changed("t", since=2)


def test_kept_hashes(lineage: ForwardLineage, tmp_path: Path) -> None:
    """Of a table with a key that stays where it is; registering it again as it is makes no new version."""

    def register(values: list[int], more: list[object]) -> int:
        write(tmp_path / "t.parquet", values, w=more)
        return lineage.register("t", path=tmp_path / "t.parquet", key="v", hashes=True).version

    assert register([1, 2, 3], ["a", "b", None]) == 1
    assert lineage.register("t", path=tmp_path / "t.parquet", key="v", hashes=True).version == 1
    assert register([2, 3, 4], ["b", "", "d"]) == 2
    assert changed(lineage, "t") == {1: "gone", 3: "differs", 4: "came"}
    write(tmp_path / "t.parquet", [2], w=["b"])
    assert lineage.refresh("t").version == 3, "it remembers to keep them"
    assert changed(lineage, "t", since=2) == {3: "gone", 4: "gone"}
    for file in lineage.registrations.version("t", 1).hash_files():
        Path(file.path).unlink()
    with pytest.raises(LineageError, match=r"do not say it.* Keep hashes of them"):
        lineage.changed("t", since=1)
    with pytest.raises(LineageError, match="hashes= is for tables that are watched"):
        lineage.register("t", key="v", hashes=True, trusted=True)


def test_what_is_not_known(lineage: ForwardLineage, spark: SparkSession) -> None:
    for value in (1, 2):
        lineage.register("t", source=spark.sql(f"SELECT 1 AS k, array({value}) AS v"), key="k")
    with pytest.raises(LineageError, match="values of column v of t are not compared: it is array<int>"):
        lineage.changed("t", since=1)
    lineage.register("t", source=spark.sql("SELECT 1 AS k, array(1) AS v"), key=["k"])
    with pytest.raises(LineageError, match=r"by key \(k\)\) do not mean the same rows now \(by dictionary \(k\)\)"):
        lineage.changed("t", since=2)
    before = lineage.tables()["t"]
    lineage.register("t", source=spark.sql("SELECT 2 AS k, array(1) AS v"), key=["k"])
    for file in Path(before.source["copied"]["data"]).iterdir():
        file.unlink()
    with pytest.raises(LineageError, match="since version 3 cannot be told: the copy of then is gone"):
        lineage.changed("t", since=3)
