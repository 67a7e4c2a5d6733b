"""The generated day: the paper's sizes, sound keys, the same rows for the same seed, whole files or none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import walmart_demo
from forward_lineage import BadArgumentError, DamagedError
from walmart_demo.data import default_folder, generate
from walmart_demo.items import BAD_RECORD
from walmart_demo.places import CITIES, TWO_STORES


def read(folder: Path) -> dict[str, dict[str, list[object]]]:
    return {table: pq.read_table(folder / f"{table}.parquet").to_pydict() for table in walmart_demo.TABLES}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(3, folder=tmp_path_factory.mktemp("walmart") / "three")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(130, folder=tmp_path_factory.mktemp("walmart") / "full")


def test_the_papers_sizes(full: Path) -> None:
    """[Zhang 2007, Table 9]: Q1, Q3, Q5 and Q6."""
    scans = pq.read_table(full / "item_scan.parquet")
    stores = pq.read_table(full / "store_information.parquet")
    described = pq.read_table(full / "item_description.parquet")["item_nbr"]
    assert scans.num_rows == 1_462_254
    assert len(pc.unique(scans["store_nbr"])) == stores.num_rows == 130
    assert len(pc.unique(stores["city"])) == 121
    of_126 = scans.filter(pc.field("store_nbr") == 126)
    assert of_126.num_rows == 14_898
    assert of_126.filter(pc.is_in(of_126["item_nbr"], value_set=described.combine_chunks())).num_rows == 12_376


def test_skew(full: Path) -> None:
    """A tenth of the items makes more than half of the scans, and no two stores are alike."""
    scans = pq.read_table(full / "item_scan.parquet", columns=["item_nbr", "store_nbr"])
    per_item = sorted(scans.group_by("item_nbr").aggregate([([], "count_all")])["count_all"].to_pylist(), reverse=True)
    assert sum(per_item[: len(per_item) // 10]) > scans.num_rows / 2
    per_store = scans.group_by("store_nbr").aggregate([([], "count_all")])["count_all"].to_pylist()
    assert max(per_store) > 2 * min(per_store)


def test_places() -> None:
    cities = [city for state in CITIES.values() for city in state]
    assert len(cities) == len(set(cities)) == 121
    assert set(TWO_STORES) <= set(cities)
    assert len(cities) + len(TWO_STORES) == 130


def test_keys_and_references(three: Path) -> None:
    tables = read(three)
    for table, key in (
        ("store_information", "store_nbr"),
        ("item_description", "item_nbr"),
        ("store_visits", "visit_nbr"),
    ):
        assert len(set(tables[table][key])) == len(tables[table][key])
    visits = dict(zip(tables["store_visits"]["visit_nbr"], tables["store_visits"]["store_nbr"], strict=True))
    scans = tables["item_scan"]
    assert all(visits[visit] == store for visit, store in zip(scans["visit_nbr"], scans["store_nbr"], strict=True))
    assert set(visits) == set(scans["visit_nbr"])
    assert set(visits.values()) == set(tables["store_information"]["store_nbr"])
    assert sum(scans["total_scan_amount"]) == sum(tables["store_visits"]["total_visit_amount"])
    assert min(scans["item_quantity"]) == 1


def test_money_is_exact(three: Path) -> None:
    tables = read(three)
    price = dict(
        zip(tables["item_description"]["item_nbr"], tables["item_description"]["unit_retail_amount"], strict=True)
    )
    scans = tables["item_scan"]
    columns = (scans["item_nbr"], scans["item_quantity"], scans["total_scan_amount"])
    known = [(item, number, amount) for item, number, amount in zip(*columns, strict=True) if item in price]
    assert len(known) > 20_000
    assert all(price[item] * number == amount for item, number, amount in known)


def test_rows_are_in_order_of_time(three: Path) -> None:
    tables = read(three)
    times = dict(zip(tables["store_visits"]["visit_nbr"], tables["store_visits"]["transaction_time"], strict=True))
    assert list(times.values()) == sorted(times.values())
    scanned = [times[visit] for visit in tables["item_scan"]["visit_nbr"]]
    assert scanned == sorted(scanned)


def test_the_bad_record_is_rung_up_in_store_126(three: Path) -> None:
    tables = read(three)
    at = tables["item_description"]["item_nbr"].index(BAD_RECORD.item_nbr)
    assert tables["item_description"]["primary_desc"][at] == BAD_RECORD.primary_desc
    scans = tables["item_scan"]
    assert list(zip(scans["store_nbr"], scans["item_nbr"], strict=True)).count((126, BAD_RECORD.item_nbr)) == 2


def test_fewer_stores_are_a_part_of_more(three: Path, full: Path) -> None:
    few, many = read(three), read(full)
    stores = set(few["store_information"]["store_nbr"])
    assert 126 in stores
    for table in ("store_information", "store_visits", "item_scan"):
        rows = zip(*many[table].values(), strict=True)
        at = list(many[table]).index("store_nbr")
        assert [row for row in rows if row[at] in stores] == list(zip(*few[table].values(), strict=True))
    assert few["item_description"] == many["item_description"]


def test_the_seed_decides(three: Path, tmp_path: Path) -> None:
    assert read(generate(3, folder=tmp_path / "again")) == read(three)
    assert read(generate(3, seed=1, folder=tmp_path / "other"))["item_scan"] != read(three)["item_scan"]


def test_complete_data_are_reused(three: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in three.iterdir()}
    assert generate(3, folder=three) == three
    assert {file: file.stat().st_mtime_ns for file in three.iterdir()} == before
    assert [file.name for file in three.parent.iterdir()] == [three.name]


def test_other_data_are_not_reused(three: Path, tmp_path: Path) -> None:
    for stores, seed in ((4, 2007), (3, 1)):
        with pytest.raises(DamagedError, match="holds something else than the demo's data"):
            generate(stores, seed, three)
    broken = Path(shutil.copytree(three, tmp_path / "broken"))
    (broken / "item_scan.parquet").write_bytes(b"PAR1")
    with pytest.raises(DamagedError, match=r"see item_scan\.parquet\. Delete the folder"):
        generate(3, folder=broken)


@pytest.mark.parametrize("stores", [0, 131])
def test_stores_out_of_range(stores: int, tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match="Ask for 1 to 130"):
        generate(stores, folder=tmp_path / "none")


def test_where_data_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_DATA", str(tmp_path))
    assert default_folder(5, 7) == tmp_path / "walmart" / "stores5-seed7"
