"""What is answered here is what the session answers, to the last row; what is not certain is left to it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.cli.question_executors import asked_of
from forward_lineage.embedded import settings
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.questions import Questions
from tests.forward_lineage.prepared import Prepared
from tests.tiers import every_day
from udafs.errors import BadArgumentError, ChangedError, NotRegisteredError, NotSavedError


def write_tables(folder: Path) -> None:
    """A file, a folder of files with NULLs, one for a copy, one with a key, partitions, a timestamp."""
    folder.mkdir(parents=True)
    days = [date(2024, 1, 1 + place % 28) for place in range(40)]
    sales = {
        "item": pa.array([None if place % 7 == 0 else place % 5 for place in range(40)], pa.int32()),
        "day": pa.array(days),
        "price": pa.array([Decimal(place * 25) for place in range(40)], pa.decimal128(9, 2)),
        "note": pa.array([("x" * (place % 3)) + "é\n" for place in range(40)]),
    }
    table = pa.table(sales)
    (folder / "sales").mkdir()
    for place, (start, end) in enumerate([(0, 13), (13, 13), (13, 31), (31, 40)]):
        pq.write_table(table.slice(start, end - start), folder / "sales" / f"{place}.parquet", row_group_size=6)
    items = pa.table({"i_id": pa.array([4, 0, 2, 1, 3], pa.int64()), "name": ["pen", "ink", "cap", "pad", "box"]})
    pq.write_table(items, folder / "items.parquet")
    pq.write_table(items, folder / "ordered.parquet")
    for part in (1, 2):
        (folder / "parted" / f"k={part}").mkdir(parents=True)
        pq.write_table(pa.table({"v": [part, part + 1]}), folder / "parted" / f"k={part}" / "a.parquet")
    for word, day, price in (("a%20b%2Fc", "2024-01-02", "1.5"), ("__HIVE_DEFAULT_PARTITION__", "2024-01-03", "2.5")):
        for table, below in (("named", f"word={word}/Day={day}"), ("priced", f"price={price}")):
            (folder / table / below).mkdir(parents=True)
            pq.write_table(pa.table({"v": [len(word)] * 3}), folder / table / below / "a.parquet")
    pq.write_table(pa.table({"v": [1, 2], "at": [datetime(2024, 1, 1)] * 2}), folder / "times.parquet")


def save_all(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("sales", path=folder / "sales")
    lineage.register("items", path=folder / "items.parquet", key="i_id")
    lineage.register("ordered", path=folder / "ordered.parquet", order_by="name")
    lineage.register("parted", path=folder / "parted")
    lineage.register("named", path=folder / "named")
    lineage.register("priced", path=folder / "priced")
    lineage.register("times", path=folder / "times.parquet")
    by_day = "SELECT day, count(*) AS n, sum(price) AS price FROM sales WHERE item > 0 GROUP BY day"
    lineage.save(by_day, "by_day")
    lineage.save("SELECT n, max(price) AS most FROM by_day GROUP BY n", "by_n")
    lineage.save("SELECT name, count(*) AS n FROM items JOIN sales ON i_id = item GROUP BY name", "by_name")
    lineage.save("SELECT o.name, b.n FROM ordered o JOIN by_name b ON o.name = b.name", "names")
    lineage.save("SELECT k, sum(v) AS v FROM parted GROUP BY k", "by_part")
    lineage.save("SELECT Day, sum(v) AS v FROM named GROUP BY Day", "by_named_day")
    lineage.save("SELECT price, sum(v) AS v FROM priced GROUP BY price", "by_price")
    lineage.save("SELECT count(*) AS n FROM times", "counted")
    lineage.save("SELECT item, count(*) AS n FROM sales GROUP BY item", "by_item")
    lineage.save("SELECT item, count(*) AS n FROM sales WHERE item = 1 GROUP BY item", "by_item", mode="append")
    lineage.save("SELECT count(*) AS n FROM sales LINEAGE ON day", "values")
    lineage.save("SELECT count(*) AS n FROM sales", "later", capture="later")


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    folder = tmp_path_factory.mktemp("home")
    write_tables(folder / "data")
    found = ForwardLineage(spark.newSession(), folder / "home")
    save_all(found, folder / "data")
    yield found


@pytest.fixture
def here(lineage: ForwardLineage) -> Questions:
    return Questions(lineage.home)


Ask = Callable[[Any], Any]


def rows(answer: Any) -> tuple[object, ...]:
    lines = [json.loads(line) for line in answer.json_lines(None)]
    first, more = answer.first(3)
    return list(answer.columns), lines, [list(row) for row in first], more, list(answer.trusted)


QUESTIONS: list[Ask] = [
    lambda ask: rows(ask.backward("by_day", rows=[0], table="sales")),
    lambda ask: rows(ask.backward("by_day", "n > 1 AND price < 1500")),
    lambda ask: rows(ask.backward("by_day", "n > 99")),
    lambda ask: rows(ask.backward("by_n", table="sales")),
    lambda ask: rows(ask.backward("by_n", "most >= 500.00", table="by_day")),
    lambda ask: rows(ask.backward("by_name", "name IN ('pen', 'ink')", table="items")),
    lambda ask: rows(ask.backward("names", "n > 3", table="ordered")),
    lambda ask: rows(ask.backward("names", table="sales")),
    lambda ask: rows(ask.backward("by_item", rows=[5, 0])),
    lambda ask: rows(ask.forward("sales", "day = '2024-01-03' OR item IS NULL", result="by_day")),
    lambda ask: rows(ask.forward("sales", "note < 'xé'", result="by_item")),
    lambda ask: rows(ask.forward("sales", ids=[0, 13, 39, 400], result="by_n")),
    lambda ask: rows(ask.forward("sales", result="names")),
    lambda ask: rows(ask.forward("by_day", "n BETWEEN 1 AND 2", result="by_n")),
    lambda ask: rows(ask.forward("by_name", ids=[1], result="names")),
    lambda ask: rows(ask.forward("items", "NOT name = 'pen' AND i_id >= 2", result="names")),
    lambda ask: rows(ask.forward("ordered", "name > 'ink'", result="names")),
    lambda ask: ask.impact("sales", "day >= DATE '2024-01-20' AND NOT item = 2").objects(),
    lambda ask: ask.impact("items", "name = 'box'").objects(),
    lambda ask: ask.impact("ordered").objects(),
    lambda ask: ask.impact("times", "v = 1").objects(),
    lambda ask: rows(ask.backward("by_part")),
    lambda ask: ask.impact("parted", "v = 2").objects(),
    lambda ask: rows(ask.forward("parted", "k = 2", result="by_part")),
    lambda ask: rows(ask.backward("by_named_day")),
    lambda ask: rows(ask.forward("named", "word = 'a b/c' AND day < '2024-01-03'", result="by_named_day")),
    lambda ask: rows(ask.forward("named", "word IS NULL", result="by_named_day")),
    lambda ask: ask.impact("by_day", "price IS NOT NULL").objects(),
    lambda ask: ask.impact("by_name", ids=[0]).objects(),
    lambda ask: rows(ask.stale()),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """Without the results whose lineage is of values or was left for later: nearly all questions would meet them."""
    for name in ("values", "later"):
        lineage.drop(name)
    yield lineage


@pytest.mark.parametrize("name", ["values", "later"])
def test_lineage_of_values_or_in_part_is_left_to_spark(here: Questions, name: str) -> None:
    with pytest.raises(NeedsSpark):
        here.backward(name)
    with pytest.raises(NeedsSpark):
        here.impact("sales", ids=[1])


# Kin of others: the same call of another result of the same kind.
SELDOM = (4, 7, 8, 12, 14, 16, 19, 22, 23, 26, 27, 28)


@pytest.mark.parametrize("place", every_day(range(len(QUESTIONS)), lambda place: place not in SELDOM))
def test_answers_are_the_sessions(whole: ForwardLineage, place: int) -> None:
    assert QUESTIONS[place](Questions(whole.home)) == QUESTIONS[place](asked_of(whole))


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda ask: ask.impact("sales", "item + 1 = 2"), r"a condition with '\+ 1 = 2'"),
        (lambda ask: ask.impact("sales", "day = '2024-1-3'"), "the day"),
        (lambda ask: ask.impact("priced", "price = 1.5"), "whose folders say 1.5 of a double"),
        (lambda ask: ask.backward("by_price", rows=[0]), "whose folders say"),
        (lambda ask: ask.backward("counted", rows=[0]), "at, a timestamp"),
        (lambda ask: ask.impact("times", "`at` > '2024-01-01'"), "at, a timestamp"),
    ],
)
def test_what_is_not_certain_is_left_to_spark(whole: ForwardLineage, question: Ask, why: str) -> None:
    with pytest.raises(NeedsSpark, match=why):
        question(Questions(whole.home))


@pytest.mark.parametrize(
    ("question", "error", "says"),
    [
        (lambda ask: ask.backward("nothing"), NotSavedError, "no saved result nothing"),
        (lambda ask: ask.backward("by_day", rows=[99]), NotSavedError, "has no row 99"),
        (lambda ask: ask.backward("by_day", "n = 1", rows=[1]), BadArgumentError, "both say which rows"),
        (lambda ask: ask.backward("by_name", rows=[0]), BadArgumentError, "Say which"),
        (lambda ask: ask.backward("by_day", table="items"), NotSavedError, "was not made of items"),
        (lambda ask: ask.impact("sale", "x = 1"), NotRegisteredError, "sale is not registered.*sales"),
        (lambda ask: ask.impact("sales", "itm = 1"), BadArgumentError, "has no column itm. It has item"),
        (lambda ask: ask.forward("sales", "n = 1", ids=[1], result="by_day"), BadArgumentError, "both say which rows"),
    ],
)
def test_errors_are_said_without_spark(whole: ForwardLineage, question: Ask, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        question(Questions(whole.home))


def test_settings_of_all_sessions_are_sparks(
    whole: ForwardLineage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conf = tmp_path / "spark-defaults.conf"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    conf.write_text("# spark.sql.ansi.enabled false\nspark.driver.memory 2g\n")
    settings.refuse_settings()
    conf.write_text("spark.sql.caseSensitive  true\n")
    with pytest.raises(NeedsSpark, match=r"spark\.sql\.caseSensitive"):
        Questions(whole.home).impact("sales", "item = 1")
    assert Questions(whole.home).impact("sales", ids=[1]).objects(), "no condition, no matter"


# ------------------------------------------------------------ what has changed


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Prepared, Path]:
    """A home with three tables and three results, and the files of the tables."""
    data = tmp_path_factory.mktemp("changing") / "data"
    write_tables(data)

    def make(lineage: ForwardLineage) -> None:
        lineage.register("sales", path=data / "sales")
        lineage.register("items", path=data / "items.parquet", key="i_id")
        lineage.register("ordered", path=data / "ordered.parquet", order_by="name")
        lineage.save("SELECT item, count(*) AS n FROM sales GROUP BY item", "by_item")
        lineage.save("SELECT name FROM items", "item_names")
        lineage.save("SELECT name FROM ordered", "ordered_names")

    return Prepared(tmp_path_factory.mktemp("prepared"), spark, make), data


@pytest.fixture
def mine(spark: SparkSession, prepared: tuple[Prepared, Path], tmp_path: Path) -> Iterator[tuple[ForwardLineage, Path]]:
    """A home of the test's own, and files that it may change: they are put back, with their times."""
    home, data = prepared
    shutil.copytree(data, tmp_path / "kept")
    yield ForwardLineage(spark.newSession(), home.copy(tmp_path / "home")), data
    shutil.rmtree(data)
    shutil.copytree(tmp_path / "kept", data)


def touch(file: Path) -> None:
    os.utime(file, ns=(1, 1))


SALES, ORDERED = ("sales", "item = 1", "by_item"), ("ordered", "name = 'pen'", "ordered_names")


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (lambda data: touch(data / "sales" / "0.parquet"), SALES),
        (lambda data: (data / "sales" / "2.parquet").unlink(), SALES),
        (lambda data: shutil.copy(data / "sales" / "0.parquet", data / "sales" / "9.parquet"), SALES),
        (lambda data: shutil.rmtree(data / "sales"), SALES),
        (lambda data: touch(data / "ordered.parquet"), ORDERED),
    ],
)
def test_a_table_that_has_changed_is_refused_in_the_same_words(
    mine: tuple[ForwardLineage, Path], change: Callable[[Path], object], about: tuple[str, str, str]
) -> None:
    lineage, data = mine
    change(data)
    table, condition, result = about
    said = []
    for ask in (Questions(lineage.home), asked_of(lineage)):
        for question in (partial(ask.impact, table, condition), partial(ask.backward, result)):
            with pytest.raises(ChangedError) as error:
                question()
            said.append(str(error.value))
    assert said[:2] == said[2:]
    assert rows(Questions(lineage.home).stale()) == rows(asked_of(lineage).stale())


def test_a_keyed_table_that_has_changed_is_sparks(mine: tuple[ForwardLineage, Path]) -> None:
    lineage, data = mine
    touch(data / "items.parquet")
    with pytest.raises(NeedsSpark, match="files are others now"):
        Questions(lineage.home).impact("items", "name = 'pen'")


def test_another_version_is_sparks(mine: tuple[ForwardLineage, Path]) -> None:
    lineage, data = mine
    shutil.copy(data / "sales" / "0.parquet", data / "sales" / "9.parquet")
    lineage.refresh("sales")
    with pytest.raises(NeedsSpark, match="another version"):
        Questions(lineage.home).impact("sales", "item = 1")
    assert rows(Questions(lineage.home).stale()) == rows(asked_of(lineage).stale())
    asked = [ask.impact("sales", ids=[3, 39]).objects() for ask in (Questions(lineage.home), asked_of(lineage))]
    assert asked[0] == asked[1]


def test_on_trust_is_sparks(mine: tuple[ForwardLineage, Path]) -> None:
    lineage, data = mine
    lineage.register("trusted", path=data / "items.parquet", key="i_id", trusted=True)
    lineage.save("SELECT name FROM trusted", "trusted_names")
    with pytest.raises(NeedsSpark, match="on trust"):
        Questions(lineage.home).impact("trusted", "name = 'pen'")
    found = Questions(lineage.home).impact("trusted", ids=[1])
    assert (found.trusted, len(found.objects())) == (("trusted",), 1)


def test_damaged_rows_of_a_result(mine: tuple[ForwardLineage, Path]) -> None:
    lineage, _ = mine
    saved = lineage.describe("by_item")
    file = saved.folder / saved.row_files[0].path
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(LineageError, match="is damaged: it has"):
        Questions(lineage.home).backward("by_item", "n = 1")
