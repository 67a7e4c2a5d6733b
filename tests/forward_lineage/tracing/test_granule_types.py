"""LINEAGE ON over live tables: granules must be the image of rows, whichever way their ids are made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.results import meaning_of
from forward_lineage.tracing import granule_types
from tests.spark_settings import configured
from tests.task_errors import REFUSED
from tests.tiers import every_day
from udafs.build import spark_version
from udafs.versions import check_version

COLLATIONS = pytest.mark.since("4.0", "collations")
COLLATED = check_version(spark_version()) >= (4, 0)

#: column → type and literals, in ascending order
COLUMNS = {
    "flag": ("BOOLEAN", ["true", "false"]),
    "tiny": ("TINYINT", ["-128", "127", "0"]),
    "small": ("SMALLINT", ["-32768", "32767", "5"]),
    "number": ("INT", ["-2147483648", "2147483647", "-1", "0"]),
    "big": ("BIGINT", ["-4611686018427387903", "4611686018427387903", "7"]),
    "huge": ("BIGINT", ["-9223372036854775808", "9223372036854775807", "0"]),
    "day": ("DATE", ["DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1969-12-31'", "DATE '1970-01-01'"]),
    "at": ("TIMESTAMP", ["TIMESTAMP '1900-01-01 00:00:00'", "TIMESTAMP '2024-10-27 01:30:00.000001'"]),
    "local": ("TIMESTAMP_NTZ", ["TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '2024-03-31 02:30:00'"]),
    "price": ("DECIMAL(9,2)", ["-9999999.99", "9999999.99", "0.01"]),
    "exact": ("DECIMAL(30,4)", ["-1.5", "99999999999999999999.0001"]),
    "ratio": ("DOUBLE", ["double('-Infinity')", "-0.0D", "0.0D", "double('NaN')"]),
    "code": ("STRING", ["''", "'a'", "'b '", "'é'", "'𐐷'", "'｡'", "concat('x', char(0))", '"it\'s"', "'a\\\\b'"]),
    **({"anycase": ("STRING COLLATE UTF8_LCASE", ["'a'", "'b'"])} if COLLATED else {}),
    "bytes": ("BINARY", ["X'00'", "X'FF'", "X''"]),
}
OWN = "own"
DICTIONARY = "dictionary"


@pytest.fixture(scope="module")
def file(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty rows; each column goes through its values and NULL, each at a pace of its own."""
    columns = ", ".join(
        f"element_at(CAST(array({', '.join([*values, 'NULL'])}) AS ARRAY<{kind}>), "
        f"CAST((id + id DIV {len(values) + 1} * {i}) % {len(values) + 1} AS INT) + 1) AS {name}"
        for i, (name, (kind, values)) in enumerate(COLUMNS.items())
    )
    folder = tmp_path_factory.mktemp("values") / "v"
    rows = spark.sql(f"SELECT id, CAST(id % 4 AS INT) AS g, {columns} FROM range(40)").coalesce(1)
    with configured(spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}):  # of itself from 4.0 on
        rows.write.parquet(str(folder))
    return folder


@pytest.fixture(scope="module")
def values(spark: SparkSession, file: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("home"))
    lineage.register("v", path=str(file))
    return lineage


def meaning(frame: DataFrame, table: str = "v") -> dict[str, Any]:
    """What the result says of the ids of a table."""
    said = meaning_of(frame)
    assert said is not None
    return dict(said["granules"][table])


def how(frame: DataFrame, table: str = "v") -> str:
    return OWN if "values" in meaning(frame, table) else DICTIONARY


def image_of_rows(lineage: ForwardLineage, clause: list[str]) -> dict[int, list[str]]:
    """The values of the rows in the lineage of each group, in ascending order, as text: Python has no such DATEs."""
    struct = ", ".join(f"{each} AS v{i}" for i, each in enumerate(clause))
    found = lineage.spark.sql(f"""
        SELECT g, CAST(transform(sort_array(collect_list(DISTINCT struct({struct}))), x -> to_json(x)) AS STRING)
            AS found
        FROM v WHERE id % 3 <> 0 GROUP BY g""")
    return {row.g: row.found for row in found.collect()}


def granules(lineage: ForwardLineage, clause: list[str], frame: DataFrame) -> dict[int, list[str]]:
    """What the ids of each group are read as, as `image_of_rows` writes it."""
    names = ["x"] if len(clause) == 1 else [f"x.`{each}`" for each in meaning(frame)["expressions"]]
    struct = ", ".join(f"{name} AS v{i}" for i, name in enumerate(names))
    decoded = lineage.granules(frame)
    found = decoded.selectExpr("g", f"CAST(transform(DL.v, x -> to_json(struct({struct}))) AS STRING) AS found")
    return {row.g: row.found for row in found.collect()}


CLAUSES = [
    *(
        ([name], DICTIONARY if name in ("exact", "ratio", "bytes") else OWN)
        for name in COLUMNS
        if name not in ("huge", "anycase")
    ),
    (["anycase"], DICTIONARY),
    (["CAST(huge AS DECIMAL(20))"], DICTIONARY),
    (["huge", "tiny"], DICTIONARY),
    (["day", "small"], OWN),
    (["flag", "tiny", "small"], OWN),
    (["code", "flag", "code || 'x'"], OWN),
    (["number", "number % 7"], OWN),
    (["number % 7", "id", "code"], OWN),
    (["year(day)", "month(day)", "weekofyear(day)", "dayofyear(day)", "dayofweek(at)"], OWN),
    (["quarter(at)", "hour(at)", "minute(local)", "second(at)", "weekday(day)", "dayofmonth(day)"], OWN),
    (["upper(code)", "number > 0"], OWN),
    (["id", "id + 1", "g"], OWN),
    (["big", "id"], DICTIONARY),
    (["day", "ratio"], DICTIONARY),
    (["CAST(NULL AS STRING) || code", "id"], OWN),
    (["CAST(NULL AS STRING) || code", "coalesce(tiny, small)"], OWN),
]

# Several columns of types that are tried alone, or in another list of several.
SELDOM = [
    ["day", "small"], ["flag", "tiny", "small"], ["number", "number % 7"], ["id", "id + 1", "g"], ["day", "ratio"],
    ["CAST(NULL AS STRING) || code", "id"],
    ["year(day)", "month(day)", "weekofyear(day)", "dayofyear(day)", "dayofweek(at)"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("clause", "ids"),
    [
        pytest.param(
            *case.values,
            id=", ".join(case.values[0]),
            marks=[*case.marks, *([COLLATIONS] if case.values[0] == ["anycase"] else [])],
        )
        for case in every_day(CLAUSES, lambda each: each[0] not in SELDOM)
    ],
)
def test_granules_are_the_image_of_rows(values: ForwardLineage, clause: list[str], ids: str) -> None:
    sql = f"SELECT g, count(*) AS n FROM v WHERE id % 3 <> 0 GROUP BY g LINEAGE ON {', '.join(clause)}"
    frame = values.sql(sql)
    assert how(frame) == ids
    assert granules(values, clause, frame) == image_of_rows(values, clause)


KEPT = [["day"], ["code"], ["id", "code"], ["number > 0", "month(day)"]]


@pytest.mark.parametrize("clause", every_day(KEPT, [["code"], ["number > 0", "month(day)"]]), ids=", ".join)
def test_saved_granules_are_answered_in_order(values: ForwardLineage, clause: list[str]) -> None:
    """Values come back ascending, NULL first, and conditions may be over them or over the table's columns."""
    saved = values.save(f"SELECT g, count(*) AS n FROM v GROUP BY g LINEAGE ON {', '.join(clause)}", "kept")
    assert saved.granularity == "granules"
    struct = ", ".join(f"{each} AS v{i}" for i, each in enumerate(clause))
    wanted = values.spark.sql(f"SELECT to_json(x) AS y FROM (SELECT DISTINCT struct({struct}) AS x FROM v) ORDER BY x")
    found = values.backward("kept").toDF(*(f"v{i}" for i in range(len(clause)))).selectExpr("to_json(struct(*)) AS y")
    assert [row.y for row in found.collect()] == [row.y for row in wanted.collect()]
    touched = values.spark.sql(f"""
        SELECT DISTINCT a.g FROM v AS a JOIN v AS b
        ON to_json(struct({_of("a", clause)})) = to_json(struct({_of("b", clause)})) WHERE b.id = 6""")
    forward = values.forward("v", where="id = 6", result="kept")
    assert {row.g for row in forward.collect()} == {row.g for row in touched.collect()}


def _of(alias: str, clause: list[str]) -> str:
    return ", ".join(re.sub(rf"\b({'|'.join(COLUMNS)}|id)\b", rf"{alias}.\1", each) for each in clause)


def test_a_number_beyond_the_ids_is_refused_with_a_way_out(values: ForwardLineage) -> None:
    assert how(values.sql("SELECT g FROM v LINEAGE ON v.huge")) == OWN
    with pytest.raises(REFUSED, match=r"the BIGINT number -?9223372036854775\d\d\d, is not between") as said:
        values.sql("SELECT g FROM v LINEAGE ON v.huge").collect()
    assert "CAST it to DECIMAL(20) in LINEAGE ON" in str(said.value)
    frame = values.sql("SELECT id FROM v LINEAGE ON CAST(huge AS DECIMAL(20))")
    assert {row.DL.v[0] for row in values.granules(frame).collect()} == {None, -(2**63), 2**63 - 1, 0}


def test_more_strings_than_are_listed_take_a_dictionary(
    lineage: ForwardLineage, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a session of its own: what is known of the strings of a column is kept."""
    lineage.register("v", path=str(file))
    monkeypatch.setattr(granule_types, "MOST_LISTED", 8)
    assert how(lineage.sql("SELECT g FROM v LINEAGE ON v.code")) == DICTIONARY
    monkeypatch.setattr(granule_types, "MOST_LISTED", 9)
    assert how(lineage.sql("SELECT g FROM v LINEAGE ON concat('', v.code)")) == OWN
    monkeypatch.setattr(granule_types, "MOST_BYTES", 3)
    assert how(lineage.sql("SELECT g FROM v LINEAGE ON concat(v.code, '')")) == DICTIONARY


def test_a_new_version_is_looked_at_again(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark, folder = lineage.spark, str(tmp_path / "t")
    sql = "SELECT id FROM t LINEAGE ON t.k"
    spark.sql("SELECT id, string(id) AS k FROM range(3)").write.parquet(folder)
    lineage.register("t", path=folder)
    assert sorted(row.DL.t[0] for row in lineage.granules(lineage.sql(sql)).collect()) == ["0", "1", "2"]
    spark.sql("SELECT id, string(id) AS k FROM range(3, 5)").write.mode("append").parquet(folder)
    with pytest.raises(LineageError, match=r"is new since version 1 was registered"):
        lineage.sql(sql)
    lineage.refresh("t")
    assert sorted(row.DL.t[0] for row in lineage.granules(lineage.sql(sql)).collect()) == ["0", "1", "2", "3", "4"]


def test_what_may_change_unnoticed_is_not_looked_up(values: ForwardLineage) -> None:
    """A table on trust: its strings may be others tomorrow."""
    spark = values.spark
    spark.sql("SELECT id, code, day FROM v").createOrReplaceTempView("loose")
    values.register("loose", key="id", trusted=True)
    assert how(values.sql("SELECT id FROM loose LINEAGE ON loose.code"), "loose") == DICTIONARY
    assert how(values.sql("SELECT id FROM loose LINEAGE ON loose.day"), "loose") == OWN


@pytest.mark.since("4.0", "functions written in SQL")
def test_what_a_function_of_the_users_gives_is_not_looked_up(values: ForwardLineage) -> None:
    """Its strings may be others tomorrow."""
    spark = values.spark
    spark.sql("CREATE TEMPORARY FUNCTION marked(s STRING) RETURNS STRING RETURN s || '!'")
    try:
        assert how(values.sql("SELECT id FROM v LINEAGE ON marked(v.code)")) == DICTIONARY
    finally:
        spark.sql("DROP TEMPORARY FUNCTION marked")


def test_a_sample_and_a_text_for_other_sessions(values: ForwardLineage) -> None:
    whole = {row.DL.v[0] for row in values.granules(values.sql("SELECT g FROM v LINEAGE ON v.small")).collect()}
    sampled = values.sql("SELECT g FROM v TABLESAMPLE (50 PERCENT) REPEATABLE (1) LINEAGE ON v.small")
    assert {row.DL.v[0] for row in values.granules(sampled).collect()} <= whole
    text = values.rewrite("SELECT id, small FROM v LINEAGE ON v.small")
    assert "dl_granule(" in text and " JOIN " not in text
    for row in values.spark.sql(text).selectExpr("small", "dl_ids(DL.v)[0] AS id").collect():
        assert row.id == (0 if row.small is None else row.small + 2**15 + 1)
