"""`ForwardLineage.dependencies`: verdicts, violations and rows are those of the query that says what they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.profiling.verdict import Verdict
from forward_lineage.spark.settings import configured
from forward_lineage.spark.versions import arrow_table
from tests.tiers import every_day

KINDS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "i": (pa.int32(), [1, 2, 3]),
    "n": (pa.int64(), [2**40, -1]),
    "s": (pa.string(), ["a", "A", "", "ä"]),
    "f": (pa.float64(), [0.0, -0.0, float("nan"), 1.5]),
    "g": (pa.float32(), [0.5, -0.0, 0.0]),
    "d": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("0.00")]),
    "day": (pa.date32(), [date(2024, 1, 1), date(1970, 1, 1)]),
    "old": (pa.date32(), [date(1500, 1, 1), date(2024, 1, 1)]),
    "at": (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    "clock": (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(1066, 10, 14)]),
    "yes": (pa.bool_(), [True, False]),
    "raw": (pa.binary(), [b"", b"\0a", b"\xff"]),
}


def relation(rows: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    columns = {}
    for name, (kind, values) in KINDS.items():
        drawn = [chance.choice([None, *values]) for _ in range(rows)]
        columns[name] = pa.array(drawn, kind)
    return pa.table({"row": pa.array(chance.sample(range(rows * 3), rows)), **columns})


def registered(lineage: ForwardLineage, folder: Path, how: str, seed: int, rows: int = 60) -> None:
    """A table of several files, with small row groups; by position, as a copy, or by a key with gaps."""
    table = relation(rows, seed)
    folder.mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * rows // 3, rows // 3), folder / f"{part}.parquet", row_group_size=7)
    if how == "position":
        lineage.register("t", path=folder)
        return
    lineage.spark.read.parquet(str(folder)).createOrReplaceTempView("t")
    if how == "key":
        lineage.register("t", key="row")
    else:
        lineage.register("t", source="t", order_by="row")


def assert_as_said(lineage: ForwardLineage, verdict: Verdict, *, traced: bool = True) -> None:
    """Compare with what Spark makes of the query of a verdict, and the rules of its lineage."""
    frame = lineage.sql(verdict.sql) if traced else lineage.spark.sql(verdict.sql)
    users = verdict.violations.column_names
    assert frame.columns == [*users, "DL"][: len(users) + traced]
    ids = ["dl_ids(DL.t) AS ids"] if traced else []
    expected = arrow_table(frame.selectExpr(*[f"`{name}`" for name in users], *ids))
    found = verdict.violations.to_pylist()
    if traced:
        found = [{**row, "ids": list(verdict.rows(place))} for place, row in enumerate(found)]
    assert sorted(map(repr, found)) == sorted(map(repr, expected.to_pylist()))  # NaN is NaN
    assert (verdict.count, verdict.holds) == (len(found), not found)
    assert verdict.violations.schema.types == expected.schema.types[: len(users)]


def assert_rows_agree(verdict: Verdict, records: dict[int, dict[str, Any]]) -> None:
    """The rows of a violation have what it says that they have in common, and are as many."""
    for place, violation in enumerate(verdict.violations.to_pylist()):
        ids = list(verdict.rows(place))
        assert len(ids) == violation["rows"]
        for name in violation.keys() & KINDS.keys():
            assert {repr(0.0 if records[each][name] == 0 else records[each][name]) for each in ids} == {
                repr(0.0 if violation[name] == 0 else violation[name])
            }


CONSTRAINTS = [
    "i -> s",
    "i, s -> n, yes",
    "f -> g, d",
    "g, yes -> f",
    "day -> old",
    "old -> at",
    "at -> clock, raw",
    "clock -> day",
    "raw, d -> i",
    "upper(s) AS big, i % 2 -> year(day) AS y, n",
    "key(i, s, f, day)",
    "key(at)",
    "f, i in other(f, i)",
    "s, at, raw in other(s, at, raw)",
    "old, d in t(day, d)",
    "upper(s) in other(s)",
    "not (f + 0 > 1 and s >= 'a' or i is null)",  # f > 1 alone Spark leaves to files, whose statistics know no NaN
    "not (t.i = u.i and t.s <> u.s and t.n <> u.n)",
    "not (t.f < u.f and t.at > u.at and u.yes)",
    "not (r.day <=> q.old and q.raw < r.raw)",
    "not (t.i + 1 = u.i and t.d <= u.d and t.g <> u.g and t.row <> u.row)",
]


TRACED = {"i, s -> n, yes", "key(i, s, f, day)", "f, i in other(f, i)", "not (t.i = u.i and t.s <> u.s and t.n <> u.n)"}
WAYS = [
    ("position", "unknown", CONSTRAINTS[::2]),
    ("position", "equal", CONSTRAINTS[1::2]),
    ("key", "unknown", CONSTRAINTS[1::5]),
    ("copy", "equal", CONSTRAINTS[::6]),
]


# Every day each kind of NULLs, and the ids that cost most to find.
@pytest.mark.parametrize(
    ("how", "nulls", "constraints"), every_day(WAYS, [WAYS[0], WAYS[3]]), ids=["files", "files, equal", "key", "copy"]
)
def test_random_relations(
    lineage: ForwardLineage, tmp_path: Path, how: str, nulls: Any, constraints: list[str]
) -> None:
    """What the query of a verdict gives, rows and lineage, is what was found; both are the rules' and Spark's."""
    registered(lineage, tmp_path / "t", how, seed=len(how + nulls))
    pq.write_table(relation(12, seed=5), tmp_path / "other.parquet")
    lineage.register("other", path=tmp_path / "other.parquet")
    records = {row.pop("row_id"): row for row in arrow_table(lineage.rows("t")).to_pylist()}
    verdicts = lineage.dependencies("t", [*constraints, "row -> i, s"], nulls=nulls)
    assert len({verdict.holds for verdict in verdicts}) == 2, "the data shall not make all alike"
    for verdict in verdicts:
        assert_as_said(lineage, verdict, traced=how == "position" and verdict.constraint in TRACED)
        assert_rows_agree(verdict, records)


ROWS = {
    "zip": ["10001", "10001", "94107", None, "94107", None],
    "city": ["New York", "New York", "San Francisco", "Boston", "S. Francisco", "Salem"],
    "state": ["NY", None, "CA", "MA", "CA", "MA"],
}


def places(lineage: ForwardLineage, folder: Path, rows: dict[str, list[Any]] = ROWS, **how: Any) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.table(rows), file)
    lineage.register("places", path=folder, **how)
    return file


def test_a_verdict(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    (verdict,) = lineage.dependencies("places", "zip -> city, state")
    assert (verdict.constraint, verdict.kind, verdict.holds) == ("zip -> city, state", "dependency", False)
    assert (verdict.table, verdict.version, verdict.trusted, verdict.count) == ("places", 1, False, 1)
    assert verdict.violations.to_pylist() == [{"zip": "94107", "rows": 2, "city_values": 2, "state_values": 1}]
    assert list(verdict.rows(0)) == list(verdict.rows([0])) == list(verdict.rows()) == [2, 4]
    assert list(verdict.rows([])) == []
    assert {name: table.to_pylist() for name, table in verdict.values(0).items()} == {
        "city": [{"value": "San Francisco", "rows": 1}, {"value": "S. Francisco", "rows": 1}],
        "state": [{"value": "CA", "rows": 2}],
    }
    for wrong in (1, -1):
        with pytest.raises(LineageError, match=r"has no violation -?1. It has 1, counted from 0."):
            verdict.rows(wrong)
    with pytest.raises(LineageError, match="have no partners"):
        verdict.partners(0)


def test_null_is_unknown_or_a_value(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    constraints = ["zip -> city", "zip -> state", "key(zip, state)", "state in places(zip)", "zip in places(zip)"]

    def violations(**how: Any) -> list[list[Any]]:
        found = lineage.dependencies("places", constraints, **how)
        return [[next(iter(row.values())) for row in verdict.violations.to_pylist()] for verdict in found]

    states = ["CA", "MA", "NY"]
    unknown, equal = violations(), violations(nulls="equal")
    assert [sorted(each, key=repr) for each in unknown] == [["94107"], [], ["94107"], states, []]
    assert [sorted(each, key=repr) for each in equal] == [["94107", None], ["10001"], ["94107", None], states, []]
    (values,) = lineage.dependencies("places", "zip -> state", nulls="equal")[0].values(0).values()
    assert values.to_pylist() == [{"value": "NY", "rows": 1}, {"value": None, "rows": 1}]


def test_violations_are_saved_and_asked(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    verdicts = lineage.dependencies("places", ["zip -> city, state", "key(city)"], save="checks")
    assert [verdict.saved_as for verdict in verdicts] == ["checks_zip_city_state", "checks_key_city"]
    saved = lineage.describe("checks_zip_city_state")
    assert (saved.sql, saved.rows, saved.pairs, saved.semantics) == (verdicts[0].sql, 1, 2, "data")
    assert arrow_table(lineage.result("checks_zip_city_state")).to_pylist() == verdicts[0].violations.to_pylist()
    assert list(lineage.backward_ids("checks_zip_city_state", "zip = '94107'")) == [2, 4]
    assert list(lineage.forward_ids("places", ids=[4], result="checks_zip_city_state")) == [0]
    cities = lineage.sql("SELECT city FROM BACKWARD(checks_zip_city_state, places) ORDER BY city").drop("DL")
    assert [row.city for row in cities.collect()] == ["S. Francisco", "San Francisco"]
    impact = {row.result: row.rows_touched for row in lineage.impact("places", ids=[2]).collect()}
    assert impact == {"checks_zip_city_state": 1}
    assert lineage.describe("checks_key_city").rows == 1
    lineage.save("SELECT count(*) AS bad FROM checks_zip_city_state", "report")
    assert list(lineage.backward_ids("report", table="places")) == [2, 4]
    assert lineage.stale().count() == 0
    again = verdicts[0].save("checks_zip_city_state")
    assert again.version == 2
    assert [(row.result, row.saved_with, row.now) for row in lineage.stale().collect()] == [("report", 1, 2)]


def test_a_saved_result_is_checked_too(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    lineage.save("SELECT state, count(*) AS n, max(city) AS city FROM places GROUP BY state ORDER BY n", "states")
    (verdict,) = lineage.dependencies("states", "n -> city", save="dq")
    assert verdict.count == 1
    assert_as_said_of = lineage.sql(verdict.sql).selectExpr("n", "dl_ids(DL.states) AS ids").collect()
    assert {row.n: row.ids for row in assert_as_said_of} == {
        row["n"]: list(verdict.rows(place)) for place, row in enumerate(verdict.violations.to_pylist())
    }
    assert list(lineage.backward_ids("dq_n_city", table="places")) == [2, 3, 4, 5]


def test_attributes_are_captured_once(lineage: ForwardLineage, tmp_path: Path) -> None:
    file = places(lineage, tmp_path / "places")
    lineage.dependencies("places", ["zip -> city", "ZIP -> upper(state)"])
    kept = {path: path.stat().st_mtime_ns for path in (lineage.home / "columns").rglob("*")}
    assert len([path for path in kept if path.name == "columns.json"]) == 3
    said: list[str] = []
    other = ForwardLineage(lineage.spark, lineage.home)
    other.dependencies("places", ["city, upper(state) -> places.zip"], progress=said.append)
    assert {path: path.stat().st_mtime_ns for path in (lineage.home / "columns").rglob("*")} == kept
    assert said == ["checking city, upper(state) -> places.zip"]
    spoilt = next(path for path in kept if path.name == "codes")
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"\xff")
    (verdict,) = other.dependencies("places", "zip -> city")  # what is damaged is made anew
    assert verdict.count == 1
    assert file.exists()


def test_when_the_table_changes(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    (before,) = lineage.dependencies("places", "zip -> city")
    more = {"zip": ["10001"], "city": ["NYC"], "state": ["NY"]}
    pq.write_table(pa.table(more), tmp_path / "places" / "1.parquet")
    for ask in (lambda: lineage.dependencies("places", "zip -> city"), lambda: before.save("dq")):
        with pytest.raises(LineageError, match=r"1\.parquet is new.*lineage\.refresh"):
            ask()
    lineage.refresh("places")
    (after,) = lineage.dependencies("places", "zip -> city")
    assert (before.version, before.count, after.version, after.count) == (1, 1, 2, 2)
    assert list(after.rows(0)) == [0, 1, 6]
    with pytest.raises(LineageError):
        before.save("dq")
    assert list((lineage.home / "results").glob("*/*.json")) == []
    after.save("dq")
    assert lineage.describe("dq").tables[0].version == 2


def test_ids_stay_when_files_go(lineage: ForwardLineage, tmp_path: Path) -> None:
    first = places(lineage, tmp_path / "places")
    places(lineage, tmp_path / "places", {"zip": ["1", "1"], "city": ["a", "b"], "state": [None, "x"]})
    first.unlink()
    lineage.refresh("places")
    (verdict,) = lineage.dependencies("places", "zip -> city")
    assert list(verdict.rows()) == [6, 7]
    verdict.save("dq")
    assert sorted(row.city for row in lineage.backward("dq").collect()) == ["a", "b"]


def test_on_trust_nothing_is_remembered(lineage: ForwardLineage) -> None:
    def now(city: str) -> None:
        sql = f"SELECT * FROM VALUES (1, 'x', 'a'), (2, 'x', '{city}') AS v(id, zip, city)"
        lineage.spark.sql(f"CREATE OR REPLACE TEMP VIEW places AS {sql}")

    now("b")
    lineage.register("places", key="id", trusted=True)
    (verdict,) = lineage.dependencies("places", "zip -> city")
    assert (verdict.trusted, verdict.holds, list(verdict.rows())) == (True, False, [1, 2])
    assert lineage.dependencies("places", "zip -> city")[0].count == 1
    verdict.save("dq")
    assert lineage.describe("dq").trusted == ("places",)


def test_tables_without_rows(lineage: ForwardLineage, tmp_path: Path) -> None:
    empty = {name: pa.array([], pa.string()) for name in ROWS}
    places(lineage, tmp_path / "places", empty)  # type: ignore[arg-type]
    constraints = [
        "zip -> city",
        "key(zip)",
        "zip in places(city)",
        "not (zip = 'a')",
        "not (t.zip < u.zip)",
        "upper(zip) -> city",
    ]
    for verdict in lineage.dependencies("places", constraints, save="dq"):
        assert verdict.holds and verdict.violations.num_rows == 0
        assert lineage.result(verdict.saved_as or "").count() == 0


def test_names_that_are_taken(lineage: ForwardLineage, tmp_path: Path) -> None:
    odd = {"rows": [1, 1], "a b": ["x", "y"], "city_values": [1, 2], "select": [None, 1], "a.b": [1, 2]}
    places(lineage, tmp_path / "places", odd)  # type: ignore[arg-type]
    constraints = ["rows, rows AS ROWS -> city_values AS city, `a b` AS city, `select`, `a.b`"]
    (verdict,) = lineage.dependencies("places", constraints)
    counts = ["city_values", "city_values_", "select_values", "a.b_values"]
    assert verdict.violations.column_names == ["rows", "ROWS_", "rows__", *counts]
    assert list(verdict.values(0)) == ["city", "city_", "select", "a.b"]
    verdict.save("dq")
    assert arrow_table(lineage.result("dq")).to_pylist() == verdict.violations.to_pylist()
    with pytest.raises(LineageError, match="2 constraints would be saved as dq_rows_a_b"):
        lineage.dependencies("places", ["rows -> `a b`", "rows -> `a.b`"], save="dq")
    with pytest.raises(LineageError, match="cannot be the name of a saved result"):
        lineage.dependencies("places", "rows -> `a b`", save="d q")
    with pytest.raises(LineageError, match="is a registered table"):
        verdict.save("places")


def test_folders_that_say_what_is_in_a_column(lineage: ForwardLineage, tmp_path: Path) -> None:
    """Spark believes the folder, whatever the file says."""
    for state in ("NY", "CA"):
        (tmp_path / "t" / f"state={state}").mkdir(parents=True)
        rows = pa.table({"zip": ["1", "2"], "state": ["wrong", "wrong"]})
        pq.write_table(rows, tmp_path / "t" / f"state={state}" / "0.parquet")
    lineage.register("t", path=tmp_path / "t")
    (verdict,) = lineage.dependencies("t", "zip -> state")
    assert_as_said(lineage, verdict)
    assert verdict.count == 2


REFUSED = {
    "a -> b": "places has no column a, in `a -> b` (line 1, column 1). Known here: city, state, zip.",
    "zip -> ctiy": "places has no column ctiy, in `zip -> ctiy` (line 1, column 8). Did you mean city?",
    "p.zip -> city": "p is not places, in `p.zip -> city` (line 1, column 1). Write places.zip, or the name alone.",
    "zip -> city + nope(state)": "in `zip -> city + nope(state)` (line 1, column 8)",
    "zip -> city < current_timestamp()": "it has current_timestamp",
    "array(zip) -> city": "a key of type array<string> in a constraint, in `array(zip) -> city` (line 1, column 1)",
    "zip in missing(zip)": "table missing is not registered",
    "zip in places(length(zip))": "zip is string and length(zip) is int, in `zip in places(length(zip))` (line 1, ",
    "not (length(zip))": "is not a boolean, in `not (length(zip))` (line 1, column 6)",
    "not (t.zip = u.zip)": "a row may stand so to itself, in `not (t.zip = u.zip)` (line 1, column 6)",
    "not (t.zip <> u.zip or t.city = u.city)": "compared otherwise than by =, <=>, <>, <, <=, > or >=",
    "not (zip.x <> u.zip)": "zip is a column, and would be a row, in",
    "not (t.zip <> u.zip and t.nope = u.zip)": "places has no column nope, in `not (t.zip <> u.zip and t.nope = u.z",
}


def test_what_is_refused_says_where(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    for constraint, said in REFUSED.items():
        with pytest.raises(LineageError) as caught:
            lineage.dependencies("places", ["zip -> city", constraint])
        assert said in str(caught.value), constraint
    for wrong, said in (([], "no constraint is given"), ([3], "3 is no constraint")):
        with pytest.raises(LineageError, match=said):
            lineage.dependencies("places", wrong)  # type: ignore[arg-type]
    with pytest.raises(LineageError, match=r"nulls='no' is not known\. Use one of unknown, equal"):
        lineage.dependencies("places", "zip -> city", nulls="no")  # type: ignore[arg-type]
    with pytest.raises(LineageError, match="table nowhere is not registered"):
        lineage.dependencies("nowhere", "zip -> city")


def test_values_depend_on_settings(lineage: ForwardLineage, tmp_path: Path) -> None:
    """An hour is another one elsewhere: what was captured under other settings is not taken for it."""
    rows = pa.table(
        {"at": pa.array([datetime(2024, 1, 1, 23), datetime(2024, 1, 2, 1)], pa.timestamp("us", "UTC")), "b": [1, 2]}
    )
    pq.write_table(rows, tmp_path / "t.parquet")
    lineage.register("t", path=tmp_path / "t.parquet")
    found = []
    for zone in ("UTC", "Asia/Tokyo", "UTC"):
        with configured(lineage.spark, {"spark.sql.session.timeZone": zone}):
            found.append(lineage.dependencies("t", "date(at) -> b")[0].holds)
    assert found == [True, False, True]


@pytest.mark.since("4.0", "functions written in SQL")
def test_functions_of_the_user_may_change(lineage: ForwardLineage, tmp_path: Path) -> None:
    places(lineage, tmp_path / "places")
    found = []
    for begins in (1, 5):
        body = f"RETURN substring(zip, {begins}, 3)"
        lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION area(zip STRING) RETURNS STRING {body}")
        (verdict,) = lineage.dependencies("places", "area(zip) AS area -> city")
        found.append([row["area"] for row in verdict.violations.to_pylist()])
    lineage.spark.sql("DROP TEMPORARY FUNCTION area")
    assert found == [["941"], ["7"]]


def test_char_columns_are_padded_as_spark_pads_them(lineage: ForwardLineage, tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": ["a", "a  "], "b": pa.array([1, 2], pa.int32())}), tmp_path / "0.parquet")
    lineage.spark.sql(f"CREATE TABLE chars (c CHAR(3), b INT) USING parquet LOCATION '{tmp_path}'")
    try:
        lineage.register("chars")
        (verdict,) = lineage.dependencies("chars", "c -> b")
        assert verdict.violations.to_pylist() == [{"c": "a  ", "rows": 2, "b_values": 2}]
        assert verdict.violations.to_pylist() == arrow_table(lineage.spark.sql(verdict.sql)).to_pylist()
    finally:
        lineage.spark.sql("DROP TABLE chars")
