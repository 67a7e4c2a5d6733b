"""Copies whose rows have a key: after a correction a row has the id that it had, and old values still find it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.row_ids.conftest import ids
from tests.shared_state import drop_views
from tests.tiers import every_day

CSV = {"format": "csv", "options": {"header": "true", "inferSchema": "true"}}
PEOPLE = "customer_id,city\n77,Rome\n12,Oslo\n5,Oslo\n"


@pytest.fixture
def people(lineage: ForwardLineage, tmp_path: Path) -> Iterator[Path]:
    """A file of people, registered by `customer_id`, and a saved result of them."""
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    lineage.register("people", path=file, key="customer_id", **CSV)
    lineage.save("SELECT city, count(*) AS n FROM people GROUP BY city", "by_city")
    yield file


def test_the_ids_are_the_keys(lineage: ForwardLineage, people: Path) -> None:
    assert ids(lineage, "people", "customer_id") == {77: 77, 12: 12, 5: 5}
    assert lineage.tables()["people"].ids_by == "key (customer_id)"


def test_impact_of_one_corrected_cell(lineage: ForwardLineage, people: Path) -> None:
    people.write_text(PEOPLE.replace("77,Rome", "77,Bonn"))
    with pytest.raises(LineageError, match=r'Call lineage.refresh\("people"\); its rows then keep their ids'):
        lineage.sql("SELECT city FROM people")
    assert lineage.refresh("people").version == 2
    for condition in ("customer_id = 77", "city = 'Rome'", "city = 'Bonn'"):  # what it has, had, and is called
        found = lineage.impact("people", where=condition).collect()
        assert [(row.result, row.rows_touched) for row in found] == [("by_city", 1)], condition
    assert lineage.backward_ids("by_city", where="city = 'Rome'").ids().tolist() == [77]


def test_refresh_of_what_did_not_change(lineage: ForwardLineage, people: Path) -> None:
    assert lineage.refresh("people").version == 1
    assert lineage.register("people", path=people, key="customer_id", **CSV).version == 1
    assert lineage.register("people", path=people, key=["customer_id"], **CSV).version == 2


def test_tomorrow(lineage: ForwardLineage, spark: SparkSession, people: Path) -> None:
    people.write_text(PEOPLE.replace("Rome", "Bonn"))
    tomorrow = ForwardLineage(spark.newSession(), lineage.home)
    assert tomorrow.refresh("people").version == 2, "no option is asked for again"
    assert {row.city for row in tomorrow.spark.table("people").collect()} == {"Bonn", "Oslo"}
    drop_views(tomorrow.spark)


def test_several_columns(lineage: ForwardLineage, tmp_path: Path) -> None:
    """A dictionary gives ids, which a key keeps for ever, also one that went and came back."""
    file = tmp_path / "stock.json"
    rows = ['{"shop": "a", "item": 1, "n": 3}', '{"shop": "a", "item": 2, "n": 4}', '{"shop": "b", "item": 1, "n": 5}']
    file.write_text("\n".join(rows))
    lineage.register("stock", path=file, key=["shop", "item"], format="json")
    name = "concat(shop, item)"
    before = ids(lineage, "stock", name)
    saved = lineage.save("SELECT n FROM stock WHERE n > 3", "many")
    file.write_text("\n".join([rows[0].replace("3", "7"), '{"shop": "c", "item": 1, "n": 1}', rows[2]]))
    lineage.refresh("stock")
    after = ids(lineage, "stock", name)
    assert after == {"a1": before["a1"], "b1": before["b1"], "c1": max(before.values()) + 1}
    assert saved.rows == 2
    file.write_text("\n".join(rows))
    lineage.refresh("stock")
    assert ids(lineage, "stock", name) == before
    assert [row.rows_touched for row in lineage.impact("stock", where="shop = 'b'").collect()] == [1]


@pytest.mark.parametrize(
    ("text", "key", "message"),
    every_day(
        [
            ("a,b\n1,x\n1,y\n", "a", "key a of t is not unique: 1 row repeat a value, e.g. 1"),
            ("a,b\n1,x\n2,y\n", "b", "key b of t is STRING, not an integer"),
            ("a,b\n1,x\n2,y\n", "c", "no column c"),
        ],
        lambda case: case[1] == "a",
    ),
)
def test_what_is_no_key(lineage: ForwardLineage, tmp_path: Path, text: str, key: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(LineageError, match=message):
        lineage.register("t", path=tmp_path / "t.csv", key=key, **CSV)
    assert not list((tmp_path / "home" / "tables").glob("t/data-*")), "nothing is left behind"


def test_a_frame_of_a_program(lineage: ForwardLineage, spark: SparkSession) -> None:
    rows = spark.createDataFrame([(3, "x"), (1, "y")], "k INT, w STRING")
    lineage.register("t", source=rows, key="k")
    assert ids(lineage, "t", "k") == {3: 3, 1: 1}
    with pytest.raises(LineageError, match=r'a copy of a DataFrame.* Register "t" again, with the same key='):
        lineage.refresh("t")
