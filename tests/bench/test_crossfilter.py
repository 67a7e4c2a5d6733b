"""The rivals of linked views give the answers that we give: they are slower or faster, but not wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage.relations.groups import narrowest
from forward_lineage.views.cubes import Limits
from forward_lineage.views.engine import engine_of
from forward_lineage.views.engine_files import cubes_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import ROWS
from forward_lineage.views.membership import Dense
from forward_lineage.views.view import View
from tests.bench import ontime
from tests.bench.crossfilter import (
    Bar,
    Codes,
    Counts,
    Duck,
    FullCube,
    answered,
    every_bar,
    lazy_scan,
    sampled,
    with_polars,
)

COLUMNS = {"places": ["lat", "lon"], "days": ["day"], "delays": ["delay"], "carriers": ["carrier"]}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    return pq.read_table(ontime.generate(tmp_path_factory.mktemp("ontime") / "flights", 5000))


@pytest.fixture(scope="module")
def linked(flights: pa.Table) -> LinkedViews:
    views, memberships = [], []
    for name, columns in COLUMNS.items():
        keys = [flights.column(column).to_pylist() for column in columns]
        bars = {key: place for place, key in enumerate(sorted(set(zip(*keys, strict=True))))}
        codes = np.array([bars[key] for key in zip(*keys, strict=True)], narrowest(len(bars)))
        memberships.append(Dense.of(codes, len(bars)))
        views.append(View(name, pa.table({"key": list(map(str, bars))}), (None,)))
    parts = [(ROWS,)] * len(views)
    return LinkedViews(
        views, engine_of(memberships, parts, (), cubes_of(memberships, parts, (), Limits())), ("ontime", 1)
    )


def rivals(codes: Codes) -> dict[str, Callable[[Bar], Counts]]:
    duck = Duck(codes)
    for view in range(len(codes.bars)):
        duck.cube(view)
    assert duck.cells() > 0
    polars, scan = with_polars(codes), lazy_scan(codes)
    return {"scan": scan, "polars": polars, "duck": duck.answer, "mosaic": duck.update, "full": FullCube(codes).answer}


def test_rivals_answer_alike(linked: LinkedViews) -> None:
    memberships = [each for each in linked.engine.memberships if isinstance(each, Dense)]
    found = rivals(Codes(tuple(each.codes for each in memberships), tuple(each.bars for each in memberships)))
    bars = sampled(linked, 12)
    assert {view for view, _ in bars} == {0, 1, 2, 3}
    assert set(bars) <= set(every_bar(linked))
    for bar in bars:
        expected = answered(linked, bar)
        for name, answer in found.items():
            counts = answer(bar)
            assert {view: each.tolist() for view, each in counts.items()} == {
                view: each.tolist() for view, each in expected.items()
            }, name


def test_flights_are_the_same_again(flights: pa.Table, tmp_path: Path) -> None:
    assert pq.read_table(ontime.generate(tmp_path / "again", 5000)) == flights
    assert flights.column("day").to_pylist() == sorted(flights.column("day").to_pylist())
    delays = np.bincount(flights.column("delay").to_numpy(), minlength=ontime.DELAYS)
    assert (np.argsort(-delays[:3]) == [0, 1, 2]).all()
