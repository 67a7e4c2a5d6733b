"""As-of joins: a row is made of itself and of the one row that it was matched with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, NotTracedError
from tests.forward_lineage.conftest import rows_with_lineage
from tests.tiers import every_day

pytestmark = pytest.mark.slow

SORTED = "spark.sql.join.sortMergeAsOfJoin.enabled"


NAMES = ("r1", "r2", "r3", "c1", "nearest", "distance", "f0", "all", "select", "a.b", "x`y", "a b", "ü ß", "'", '"')


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture(scope="module")
def market(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """Trades and quotes of two papers; of the quotes some have one time, some have none."""
    chance = random.Random(7)
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("market") / "home")
    trades = [(i, chance.choice("ab"), chance.randrange(40)) for i in range(1, 41)]
    quotes = [(i, chance.choice("ab"), chance.choice([None, *range(20, 60, 3)])) for i in range(1, 31)]
    make = lineage.spark.createDataFrame
    lineage.register("trades", source=make([*trades, (41, "c", 30), (42, "a", None)], "t_id INT, paper STRING, at INT"))
    lineage.register("quotes", source=make(quotes, "q_id INT, paper STRING, at INT"))
    named = [(*quote, *[100 + quote[0]] * len(NAMES)) for quote in quotes]
    columns = ", ".join(f"{quoted(name)} INT" for name in NAMES)
    lineage.register("named", source=make(named, f"q_id INT, paper STRING, at INT, {columns}"))
    return lineage


def joined(lineage: ForwardLineage, **how: Any) -> DataFrame:
    trades, quotes = lineage.spark.table("trades"), lineage.spark.table("quotes")
    both = trades._joinAsOf(quotes, leftAsOfColumn="at", rightAsOfColumn="at", **how)  # type: ignore[operator]
    return both.select("t_id", trades.at.alias("traded"), "q_id", quotes.at.alias("quoted"))


WAYS: dict[str, dict[str, Any]] = {
    "backward": {},
    "forward, of one paper": {"direction": "forward", "on": "paper"},
    "nearest, all trades": {"direction": "nearest", "how": "left", "on": "paper"},
    "not of the same time": {"allowExactMatches": False, "how": "left"},
}


@pytest.mark.parametrize(
    ("way", "semantics"),
    every_day(product(WAYS, ("data", "control")), lambda case: case[1] == "data" or case[0] == "nearest, all trades"),
)
def test_the_row_that_matched_and_no_other(market: ForwardLineage, way: str, semantics: str) -> None:
    frame = joined(market, **WAYS[way])
    found = rows_with_lineage(market.trace(frame, semantics))
    assert [row for row, _ in found] == sorted(map(tuple, frame.collect()), key=repr)
    assert len(found) == 42 if "how" in WAYS[way] else 20 < len(found) < 42
    ids = row_numbers(market)
    for (trade, _, quote, _), lineage in found:
        assert lineage == {"trades": [ids["trades", trade]], "quotes": [] if quote is None else [ids["quotes", quote]]}


def row_numbers(lineage: ForwardLineage) -> dict[tuple[str, int], int]:
    """The id of each row, by its own key."""
    found = {}
    for table, key in (("trades", "t_id"), ("quotes", "q_id")):
        for row, ids in rows_with_lineage(lineage.sql(f"SELECT {key} FROM {table}")):
            (found[table, row[0]],) = ids[table]
    return found


def test_columns_of_any_name(market: ForwardLineage) -> None:
    """`r1.x` would be a field of a column that is called `r1`."""
    trades, named = market.spark.table("trades"), market.spark.table("named")
    frame = trades._joinAsOf(named, leftAsOfColumn="at", rightAsOfColumn="at", on="paper", how="left")  # type: ignore[operator]
    traced = market.trace(frame.drop("paper", "at"))
    assert traced.columns == ["t_id", "q_id", *NAMES, "DL"]
    found = rows_with_lineage(traced.toDF(*(f"v{place}" for place in range(len(NAMES) + 2)), "DL"))
    assert [row for row, _ in found] == sorted(map(tuple, frame.drop("paper", "at").collect()), key=repr)
    quotes = rows_with_lineage(market.trace(joined(market, on="paper", how="left")))
    assert [(row[:2], ids["named"]) for row, ids in found] == [((row[0], row[2]), ids["quotes"]) for row, ids in quotes]


def test_a_tolerance(market: ForwardLineage) -> None:
    near = joined(market, how="left", tolerance=F.lit(1))
    found = rows_with_lineage(market.trace(near))
    assert [row for row, _ in found] == sorted(map(tuple, near.collect()), key=repr)
    assert {len(ids["quotes"]) for _, ids in found} == {0, 1}
    assert all(bool(ids["quotes"]) == (quoted is not None) for (*_, quoted), ids in found)


def test_groups_over_matches(market: ForwardLineage) -> None:
    """A group has the matches of its rows: cut down to them, each trade finds the quote that it found."""
    frame = joined(market, on="paper").groupBy((F.col("traded") % 3).alias("third")).agg(F.sum("quoted").alias("sum"))
    single = rows_with_lineage(market.trace(joined(market, on="paper")))
    for (third, _), ids in rows_with_lineage(market.trace(frame)):
        members = [lineage for row, lineage in single if row[1] % 3 == third]
        assert ids == {
            table: sorted({each for lineage in members for each in lineage[table]}) for table in ("trades", "quotes")
        }


def test_the_text_says_what_is_taken(market: ForwardLineage) -> None:
    text = market.explain(joined(market))
    assert "JOIN LATERAL (SELECT dl_nearest(named_struct('f0'," in text


@pytest.fixture
def by_sorting(market: ForwardLineage) -> Iterator[SparkSession]:
    market.spark.conf.set(SORTED, "true")
    yield market.spark
    market.spark.conf.unset(SORTED)


@pytest.mark.since("4.3", "an operator that sorts")
@pytest.mark.usefixtures("by_sorting")
def test_another_operator_takes_other_rows(market: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match="an as-of join that sorts both sides"):
        market.trace(joined(market))


def test_what_a_user_may_not_write(market: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match="dl_nearest beside something else"):
        market.sql("SELECT dl_nearest(named_struct('a', q_id), at), count(*) FROM quotes")
