"""A catalog without Spark: names, JSON, folders of Parquet files."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from forward_lineage import Catalog, LineageError, rewrite_sql
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError, NameTakenError

SALES = BaseTable("sales", ("t_id", "price"), "sales", "CAST(t_id AS BIGINT)")


def write(path: Path, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def test_names_are_found_without_regard_to_case() -> None:
    catalog = Catalog([SALES])
    assert catalog.find(["SALES"]) is SALES
    assert catalog.find(["default", "sales"]) is None
    assert "Sales" in catalog
    assert catalog.names() == ["sales"]


def test_three_ways_to_write_the_same_table_down() -> None:
    registered = Catalog()
    registered.register("sales", ["t_id", "price"], key="T_ID")
    written = Catalog({"sales": {"columns": ["t_id", "price"], "key": "t_id"}})
    assert list(registered) == list(written) == list(Catalog([SALES]))


def test_names_of_several_parts_and_odd_ones() -> None:
    catalog = Catalog({"lake.`my db`.`a.b`": {"columns": ["order", "x y"], "key": "order"}})
    table = catalog.find(["LAKE", "my DB", "A.b"])
    assert table is not None
    assert table.relation == "lake.`my db`.`a.b`"
    assert table.row_id == "CAST(`order` AS BIGINT)"


def test_the_same_name_twice() -> None:
    catalog = Catalog([SALES])
    with pytest.raises(NameTakenError, match=r"^table Sales is in the catalog already\. "):
        catalog.add(BaseTable("Sales", ("a",), "x", "a"))


def test_nearest_names() -> None:
    catalog = Catalog({name: {"columns": ["id"], "key": "id"} for name in ("Orders", "lineitem", "customer")})
    assert catalog.nearest(["order"]) == ["Orders"]
    assert catalog.nearest(["zzz"]) == []


def test_json_there_and_back(tmp_path: Path) -> None:
    joined = BaseTable("b", ("x",), "b", "__row_id", "(SELECT 1)")
    Catalog([SALES, joined]).to_json(tmp_path / "catalog.json")
    assert list(Catalog.from_json(tmp_path / "catalog.json")) == [SALES, joined]


def test_json_written_by_hand(tmp_path: Path) -> None:
    file = write(tmp_path / "data" / "lines.parquet", a=[1], b=["x"])
    (tmp_path / "catalog.json").write_text(
        json.dumps({"sales": {"columns": ["t_id", "price"], "key": "t_id"}, "lines": {"path": "data/lines.parquet"}})
    )
    sales, lines = Catalog.from_json(tmp_path / "catalog.json")
    assert sales == SALES
    assert lines == BaseTable("lines", ("a", "b"), f"parquet.`{file}`", "_metadata.row_index")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "is not a JSON object of tables by name"),
        ("{", "cannot be read as a JSON catalog: Expecting property name"),
        ('{"t": 3}', "the entry of table t is not an object"),
        ('{"t": {"columns": "a", "key": "a"}}', "the columns of table t are not a list of names"),
        ('{"t": {"columns": ["a"]}}', "the entry of table t says {columns}"),
        ('{"t": {"columns": ["a"], "key": "b"}}', "table t has no column b. It has a."),
        ('{"t": {"path": "nowhere.parquet"}}', "table t: there is no .*nowhere.parquet"),
    ],
)
def test_json_that_says_too_little(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "catalog.json").write_text(text)
    with pytest.raises(LineageError, match=message):
        Catalog.from_json(tmp_path / "catalog.json")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match=r"^there is no catalog file .*nope.json\. Give a JSON file"):
        Catalog.from_json(tmp_path / "nope.json")


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    one = write(tmp_path / "one.parquet", a=[1])
    two = write(tmp_path / "two" / "part-0.parquet", b=[1])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("x")
    catalog = Catalog.from_parquet(tmp_path)
    assert [(table.name, table.columns, table.relation) for table in catalog] == [
        ("one", ("a",), f"parquet.`{one}`"),
        ("two", ("b",), f"parquet.`{two}`"),
    ]


def test_several_files_need_a_manifest(tmp_path: Path) -> None:
    write(tmp_path / "t" / "part-0.parquet", b=[1])
    write(tmp_path / "t" / "part-1.parquet", b=[1])
    with pytest.raises(LineageError, match=r"^table t has 2 Parquet files, and positions across files need a manifest"):
        Catalog.from_parquet(tmp_path)


def test_folders_that_hold_no_table(tmp_path: Path) -> None:
    with pytest.raises(LineageError, match=r"^no Parquet file in "):
        Catalog.from_parquet(tmp_path)
    with pytest.raises(LineageError, match=r"^there is no folder "):
        Catalog.from_parquet(tmp_path / "nowhere")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(LineageError, match=r"broken.parquet cannot be read as Parquet"):
        Catalog.from_parquet(tmp_path)


def test_rewriting_needs_nothing_else() -> None:
    catalog = Catalog({"sales": {"columns": ["t_id", "price"], "key": "t_id"}})
    assert rewrite_sql("SELECT price FROM sales", catalog).endswith(
        "AS DL FROM (SELECT *, CAST(t_id AS BIGINT) AS __dl_sales FROM sales) AS sales"
    )
