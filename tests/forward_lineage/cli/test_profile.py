"""`forward-lineage profile`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from forward_lineage import ForwardLineage
from forward_lineage.cli.answers import FOUND
from tests.forward_lineage.cli.in_this_process import invoke

ROWS = {
    "zip": ["10001", "10001", "94107", "94107", "60601"],
    "city": ["New York", "New York", "San Francisco", "S. Francisco", "\x1b[31mChicago"],
    "score": [1.5, float("nan"), None, 2.0, 0.0],
}


@pytest.fixture
def places(lineage: ForwardLineage, tmp_path: Path) -> ForwardLineage:
    pq.write_table(pa.table(ROWS), tmp_path / "places.parquet")
    lineage.register("places", path=tmp_path / "places.parquet")
    return lineage


def run(lineage: ForwardLineage, *arguments: object) -> Result:
    return invoke(lineage.spark, "profile", "places", *arguments, "--home", lineage.home)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_what_holds_and_what_does_not(places: ForwardLineage) -> None:
    done = run(places, "zip -> city", "key(city)", "key(score)", "--save", "dq")
    assert done.exit_code == FOUND
    assert lines(done.stdout) == [
        "constraint holds violations rows",
        "zip -> city no 1 2",
        "key(city) no 1 2",
        "key(score) yes 0 0",
        "",
        "zip -> city",
        "zip rows city",
        "94107 2 San Francisco (1), S. Francisco (1)",
        "saved dq_zip_city: 1 row",
        "",
        "key(city)",
        "city rows",
        "New York 2",
        "saved dq_key_city: 1 row",
        "saved dq_key_score: 0 rows",
    ]
    assert list(places.backward_ids("dq_zip_city")) == [2, 3]


def test_all_hold(places: ForwardLineage) -> None:
    done = run(places, "city -> zip")
    assert (done.exit_code, lines(done.stdout)[1:]) == (0, ["city -> zip yes 0 0"])


def test_only_some_violations_are_shown(places: ForwardLineage) -> None:
    done = run(places, "not (length(city) > 1)", "--limit", 1)
    assert lines(done.stdout)[-1] == "the first 1 of 4; --limit shows more"
    assert lines(run(places, "zip -> city", "--limit", 0).stdout)[-1] == "zip -> city no 1 2"
    everything = run(places, "not (length(city) > 1)").stdout
    assert "\x1b" not in everything and "\\x1b[31mChicago" in everything


def test_json(places: ForwardLineage) -> None:
    done = run(places, "zip -> city, score", "key(city)", "city -> zip", "--nulls", "equal", "--json")
    assert done.exit_code == FOUND
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert {name: value for name, value in first.items() if name != "first"} == {
        "constraint": "zip -> city, score",
        "kind": "dependency",
        "holds": False,
        "table": "places",
        "version": 1,
        "violations": 2,
        "rows": 4,
        "saved": None,
    }
    shown = {each["violation"]["zip"]: each for each in first["first"]}
    assert shown["10001"]["violation"] == {"zip": "10001", "rows": 2, "city_values": 1, "score_values": 2}
    assert shown["10001"]["values"]["score"] == [{"value": 1.5, "rows": 1}, {"value": "NaN", "rows": 1}]
    assert {"value": None, "rows": 1} in shown["94107"]["values"]["score"]
    assert second["first"] == [{"violation": {"city": "New York", "rows": 2}}]
    assert (third["holds"], third["first"]) == (True, [])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["zip -> town"], 1, "Error: places has no column town, in `zip -> town` (line 1, column 8)."),
        ([], 2, "Missing argument 'CONSTRAINTS...'"),
        (["zip -> city", "--nulls", "some"], 2, "Invalid value for '--nulls'"),
    ],
)
def test_errors_are_one_line(places: ForwardLineage, arguments: list[str], code: int, said: str) -> None:
    done = run(places, *arguments)
    assert done.exit_code == code
    assert said in done.stderr


def test_trust_is_said(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW places AS SELECT * FROM VALUES (1, 'x') AS v(id, zip)")
    lineage.register("places", key="id", trusted=True)
    assert "places: on trust" in run(lineage, "key(zip)").stderr
