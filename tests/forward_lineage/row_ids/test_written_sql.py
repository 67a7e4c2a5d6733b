"""What a registration's SQL may be: what its names and paths spell, however they are quoted, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forward_lineage.row_ids.registration_store import REGISTRATION, read
from forward_lineage.storage.sealed import seal
from tests.conftest import REPOSITORY
from udafs.errors import DamagedError

TABLES = REPOSITORY / "tests" / "forward_lineage" / "storage" / "format_1" / "tables"
NAMES = ["items", "numbered", "events", "sorted", "people", "counts"]


def fields_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TABLES / name / "1.json").read_text(encoding="utf-8"))
    return found


def judged(fields: dict[str, Any], name: str) -> None:
    REGISTRATION.of_bytes(seal({key: value for key, value in fields.items() if key != "format"}), name, 1, "here")


@pytest.mark.parametrize("name", NAMES)
def test_what_earlier_releases_wrote(name: str) -> None:
    judged(fields_of(name), name)


@pytest.mark.parametrize(
    ("name", "field", "sql"),
    [
        ("items", "relation", "parquet.`/etc`"),
        ("items", "relation", "(SELECT java_method('java.lang.System', 'exit', 0))"),
        ("items", "view", "SELECT * FROM parquet.`/tmp/shop/items.parquet` WHERE item < 3"),
        ("items", "view", "SELECT * FROM parquet.`/tmp/shop/items.parquet` -- "),
        ("items", "view", "SELECT 1"),
        ("items", "row_id", "CAST(category AS BIGINT)"),
        ("items", "row_id", "CAST(item AS BIGINT) + 1"),
        ("items", "identified", "(SELECT 1)"),
        ("items", "identity", "a.b) JOIN (c.d"),
        ("numbered", "relation", "other"),
        ("numbered", "row_id", "CAST(id AS BIGINT), (SELECT 1"),
        ("events", "row_id", "dl_row_id('/tmp/other/1.json', _metadata)"),
        ("sorted", "relation", "csv.`/tmp/shop/lineage_home/tables/sorted/data-497655a6bc01`"),
        ("people", "identified", "(SELECT 1 AS __row_id)"),
        ("people", "identified", None),
        ("people", "row_id", "1"),
        ("counts", "view", "SELECT * FROM parquet.`/tmp/shop/lineage_home/results/counts`"),
    ],
)
def test_what_is_refused(name: str, field: str, sql: str | None) -> None:
    with pytest.raises(DamagedError, match=r"^here is damaged\. Delete that file: the version before it counts then"):
        judged({**fields_of(name), field: sql}, name)


@pytest.mark.parametrize(
    "key", ["id) AS x, (1", "id --", "id /* */", "id; x", 'f("x")', r"f(r'\') --')", "f('x", "(id"]
)
def test_an_expression_ends_where_it_seems_to(key: str) -> None:
    with pytest.raises(DamagedError):
        judged({**fields_of("numbered"), "key": [key], "row_id": f"CAST({key} AS BIGINT)"}, "numbered")


@pytest.mark.parametrize("key", ["_metadata.row_id", "id * 2 + (v)", "f('a ) b', `x``)`)", "m['k']"])
def test_an_expression_of_the_users_own(key: str) -> None:
    judged({**fields_of("numbered"), "key": [key], "row_id": f"CAST({key} AS BIGINT)"}, "numbered")


def test_quotes_that_need_not_be_do_not_matter() -> None:
    fields = fields_of("items")
    judged(
        {**fields, "row_id": "CAST(`item` AS BIGINT)", "view": fields["view"].replace("parquet.", "`parquet` . ")},
        "items",
    )


def test_a_name_that_spark_would_replace() -> None:
    fields = fields_of("items")
    path = "/tmp/${env:HOME}"
    relation = f"parquet.`{path}`"
    source = {**fields["source"], "path": path}
    with pytest.raises(DamagedError):
        judged({**fields, "relation": relation, "view": f"SELECT * FROM {relation}", "source": source}, "items")


def test_of_another_table_or_version() -> None:
    fields = {**fields_of("items"), "format": 2}
    assert read(fields, "items", 1).name == "items"
    for folder, number in (("numbered", 1), ("items", 2), ("..", 1)):
        with pytest.raises(ValueError, match="another version or table"):
            read(fields, folder, number)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("events", {"next_id": 2}),
        ("events", {"retired": [[1, 2]]}),
        ("events", {"retired": [[7, 7]], "next_id": 9}),
        ("sorted", {"source": {"data": "/tmp/elsewhere"}}),
        ("sorted", {"source": {}}),
        ("items", {"key": []}),
        ("items", {"key": [], "source": {"relation": "parquet.`/x`"}}),
        ("items", {"name": "a.b.c.d"}),
        ("items", {"version": -1}),
    ],
)
def test_what_does_not_fit_together(name: str, change: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        judged({**fields_of(name), **change}, name)


def test_files_of_one_id_twice() -> None:
    fields = fields_of("events")
    twice = {**fields["files"][0], "path": "/tmp/shop/z.parquet"}
    with pytest.raises(DamagedError):
        judged({**fields, "files": [*fields["files"], twice], "next_id": 99}, "events")
    relative = {**twice, "path": "../z.parquet", "offset": 50}
    with pytest.raises(DamagedError):
        judged({**fields, "files": [*fields["files"], relative], "next_id": 99}, "events")
    assert Path(fields["files"][0]["path"]).is_absolute()


def test_a_home_that_was_named_by_a_way_up() -> None:
    fields = json.loads(json.dumps(fields_of("sorted")).replace("/tmp/shop/", "/tmp/x/../shop/"))
    judged(fields, "sorted")
    other = {**fields["files"][0], "path": fields["files"][0]["path"].replace("x/../", ""), "offset": 50}
    with pytest.raises(DamagedError):
        judged({**fields, "files": [*fields["files"], other], "next_id": 99}, "sorted")
