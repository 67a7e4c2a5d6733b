"""Events of runs, to a file and over HTTP to a real server; and that nothing of it costs or breaks a save."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import BadArgumentError, ForwardLineage, LineageError, SetupError
from forward_lineage.openlineage import OpenLineage
from forward_lineage.openlineage.sender import PATIENCE
from forward_lineage.openlineage.settings import VARIABLE
from tests.conftest import REPOSITORY
from tests.forward_lineage.conftest import make_store_tables
from tests.forward_lineage.openlineage.endpoint import Endpoint
from tests.forward_lineage.openlineage.rules import Event, check
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views

BY_ITEM = "SELECT i_id, category, sum(num) AS num FROM sales JOIN item USING (i_id) GROUP BY i_id, category"
OURS = "forwardLineage_rowLineage"
Session = Callable[..., ForwardLineage]


@pytest.fixture
def session(spark: SparkSession, store_home: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes sessions with the store example, in one home; the environment says nothing of OpenLineage."""
    for name in (VARIABLE, "OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE_DISABLED"):
        monkeypatch.delenv(name, raising=False)

    home = store_home.copy(tmp_path / "home")

    def made(openlineage: Any = None) -> ForwardLineage:
        make_store_tables(spark)
        return ForwardLineage(spark, home, openlineage=openlineage)

    yield made
    drop_views(spark)
    for name in [each for each in os.environ if each.startswith("OPENLINEAGE__")]:
        del os.environ[name]  # the client puts its variables into others


def events_in(file: Path, lineage: ForwardLineage) -> list[Event]:
    assert lineage.flush_events(60)
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for event in found:
        check(event)
    return found


def fields(event: Event) -> dict[str, set[tuple[str, str]]]:
    lineage = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {name: {(each["name"], each["field"]) for each in said["inputFields"]} for name, said in lineage.items()}


def test_a_save_begins_and_ends(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    saved = lineage.save(BY_ITEM, "by_item", semantics="control")
    start, complete = events_in(tmp_path / "events.jsonl", lineage)
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert (complete["job"]["namespace"], complete["job"]["name"]) == ("forward_lineage", "save.by_item")
    assert complete["job"]["facets"]["sql"]["query"] == BY_ITEM
    assert {each["name"] for each in complete["inputs"]} == {"sales", "item"}
    (output,) = complete["outputs"]
    assert (output["namespace"], output["name"]) == ("file", f"{tmp_path}/home/results/by_item")
    assert start["outputs"][0]["name"] == output["name"]
    assert [each["name"] for each in output["facets"]["schema"]["fields"]] == ["i_id", "category", "num"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 5
    assert fields(complete) == {
        "i_id": {("sales", "i_id")},
        "category": {("item", "category")},
        "num": {("sales", "num")},
    }
    ours = output["facets"][OURS]
    assert (ours["result"], ours["version"], ours["semantics"], ours["rows"]) == ("by_item", 1, "control", 5)
    assert (ours["pairs"], ours["lineageBytes"]) == (saved.pairs, saved.lineage_size)
    assert {table["name"]: table["pairs"] for table in ours["tables"]} == {t.name: t.pairs for t in saved.tables}
    assert ours["home"] == str(tmp_path / "home")


def test_what_our_facet_says_to_ask_can_be_asked(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    lineage.save("SELECT num FROM sales WHERE t_id = 7", "one")
    ask = events_in(tmp_path / "events.jsonl", lineage)[-1]["outputs"][0]["facets"][OURS]["ask"]
    rows = eval(ask["python"], {"ForwardLineage": ForwardLineage, "spark": lineage.spark})
    assert [row.t_id for row in rows.collect()] == [7]


def test_a_pipeline_is_one_graph(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    lineage.save(BY_ITEM, "by_item")
    lineage.save("SELECT max(num) AS best FROM by_item", "report")
    events = events_in(tmp_path / "events.jsonl", lineage)
    assert events[1]["outputs"][0]["name"] == events[3]["inputs"][0]["name"]
    assert fields(events[3]) == {"best": {(f"{tmp_path}/home/results/by_item", "num")}}
    lineage.save("SELECT max(num) AS best FROM by_item", "report")
    again = events_in(tmp_path / "events.jsonl", lineage)[-1]
    assert again["job"]["name"] == events[3]["job"]["name"]
    assert again["run"]["runId"] != events[3]["run"]["runId"]
    assert again["outputs"][0]["facets"]["version"]["datasetVersion"] == "2"


def test_a_table_that_only_decides_is_read(session: Session, tmp_path: Path) -> None:
    """No row is traced to it, and without it the result would be another."""
    lineage = session(tmp_path / "events.jsonl")
    query = "SELECT t_id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM item i WHERE i.i_id = s.i_id)"
    lineage.save(query, "sold_otherwise")
    try:
        lineage.sql(f"CREATE TABLE decided_by_item USING parquet AS {query}")
    finally:
        lineage.spark.sql("DROP TABLE IF EXISTS decided_by_item")
    events = events_in(tmp_path / "events.jsonl", lineage)
    assert [{each["name"] for each in event["inputs"]} for event in events] == [{"sales", "item"}] * 4


def test_files_are_named_by_where_they_lie(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / f"{name}.parquet")
    lineage.register("one", path=tmp_path / "a.parquet")
    lineage.register("two", path=[tmp_path / "a.parquet", tmp_path / "b.parquet"])
    lineage.save("SELECT one.x, two.x AS y FROM one JOIN two ON one.x = two.x", "joined")
    complete = events_in(tmp_path / "events.jsonl", lineage)[-1]
    a, b = (str(tmp_path / f"{name}.parquet") for name in "ab")
    assert sorted((each["namespace"], each["name"]) for each in complete["inputs"]) == [
        ("file", a),
        ("file", a),
        ("file", b),
    ]
    assert fields(complete) == {"x": {(a, "x")}, "y": {(a, "x"), (b, "x")}}


def test_columns_that_are_not_known_are_said(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    lineage.save("SELECT price, i_id IN (SELECT i_id FROM item) AS known FROM sales", "some")
    facets = events_in(tmp_path / "events.jsonl", lineage)[-1]["outputs"][0]["facets"]
    assert set(facets["columnLineage"]["fields"]) == {"price"}
    assert "subquery" in facets[OURS]["columnsUnknown"]["known"]
    lineage.save(lineage.sql("SELECT price, num FROM sales").select("num", "DL"), "frame")
    facets = events_in(tmp_path / "events.jsonl", lineage)[-1]["outputs"][0]["facets"]
    assert "columnLineage" not in facets
    assert "DataFrame" in facets[OURS]["columnsUnknown"]["num"]
    lineage.save("SELECT num FROM BACKWARD(some WHERE price > 40, sales)", "drilled")
    facets = events_in(tmp_path / "events.jsonl", lineage)[-1]["outputs"][0]["facets"]
    assert "columnLineage" not in facets


def test_a_save_that_fails(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    with pytest.raises(LineageError):
        lineage.save("SELECT CAST(raise_error(concat('no luck ', max(num))) AS INT) AS x FROM sales", "never")
    with pytest.raises(LineageError):
        lineage.save("SELECT nothing FROM sales", "never")
    start, fail, begun, wrong = events_in(tmp_path / "events.jsonl", lineage)
    assert [each["eventType"] for each in (start, fail, begun, wrong)] == ["START", "FAIL", "START", "FAIL"]
    assert "no luck" in fail["run"]["facets"]["errorMessage"]["message"]
    assert fail["outputs"][0]["name"].endswith("/results/never")
    assert [each["name"] for each in start["inputs"]] == [each["name"] for each in fail["inputs"]] == ["sales"]
    assert fail["inputs"][0]["facets"]["version"]["datasetVersion"] == "1"
    assert begun["inputs"] == wrong["inputs"] == [], "what was not understood reads nothing that we know of"
    assert start["run"]["runId"] == fail["run"]["runId"] != begun["run"]["runId"] == wrong["run"]["runId"]
    assert start["eventTime"] < fail["eventTime"]


def test_what_is_read_is_said_from_the_beginning(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    lineage.save(BY_ITEM, "by_item")
    lineage.save(lineage.sql("SELECT max(num) AS best FROM by_item JOIN item USING (i_id)"), "best")
    events = events_in(tmp_path / "events.jsonl", lineage)
    for start, complete in (events[:2], events[2:]):
        assert start["inputs"] == complete["inputs"] != []
    assert {each["name"] for each in events[2]["inputs"]} == {f"{tmp_path}/home/results/by_item", "item"}


def test_tables_that_queries_write(session: Session, tmp_path: Path) -> None:
    lineage = session(tmp_path / "events.jsonl")
    spark = lineage.spark
    try:
        lineage.sql("CREATE TABLE written USING parquet AS SELECT i_id, price * num AS value FROM sales")
        lineage.sql("INSERT INTO written SELECT s_id, t_id * 10 FROM sales WHERE t_id < 4")
        lineage.sql("SELECT * FROM sales").collect()
        spark.sql("CREATE TABLE plain (a INT) USING parquet")
        lineage.sql("INSERT INTO plain SELECT i_id FROM item")
        with pytest.raises(LineageError):
            lineage.sql("CREATE TABLE written USING parquet AS SELECT i_id FROM item")
        events = events_in(tmp_path / "events.jsonl", lineage)
    finally:
        spark.sql("DROP TABLE IF EXISTS written")
        spark.sql("DROP TABLE IF EXISTS plain")
    assert [each["eventType"] for each in events] == ["START", "COMPLETE", "START", "COMPLETE", "START", "FAIL"]
    assert [each["job"]["name"] for each in events[1::2]] == ["create.written", "insert.written", "create.written"]
    assert [each["inputs"][0]["name"] for each in events] == ["sales"] * 4 + ["item"] * 2
    created, inserted = events[1], events[3]
    (output,) = created["outputs"]
    assert output["namespace"] == "file"
    assert output["name"].endswith("/written")
    assert output["facets"]["symlinks"]["identifiers"][0]["name"] == "spark_catalog.default.written"
    assert fields(created) == {"i_id": {("sales", "i_id")}, "value": {("sales", "price"), ("sales", "num")}}
    assert [each["name"] for each in output["facets"]["schema"]["fields"]] == ["i_id", "value", "DL"]
    assert output["facets"][OURS]["tables"][0]["name"] == "sales"
    assert fields(inserted) == {"i_id": {("sales", "s_id")}, "value": {("sales", "t_id")}}


# ------------------------------------------------------------ where they go


def test_an_endpoint(session: Session) -> None:
    with Endpoint() as endpoint:
        lineage = session(OpenLineage(endpoint.url, namespace="prod", sql=False))
        lineage.save("SELECT num FROM sales", "numbers")
        assert lineage.flush_events(60)
        assert endpoint.paths == ["/api/v1/lineage"] * 2
        for event in endpoint.events:
            check(event)
            assert event["job"]["namespace"] == "prod"
            assert "sql" not in event["job"]["facets"]
        assert endpoint.events[-1]["inputs"][0]["namespace"] == "prod"


def test_a_transport_of_the_clients(session: Session, tmp_path: Path) -> None:
    lineage = session({"type": "file", "log_file_path": str(tmp_path / "own"), "append": True})
    lineage.save("SELECT num FROM sales", "numbers")
    assert len(events_in(tmp_path / "own", lineage)) == 2


def test_our_variable_and_the_clients_own(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Endpoint() as endpoint:
        monkeypatch.setenv("OPENLINEAGE_URL", endpoint.url)
        session().save("SELECT num FROM sales", "quiet")
        assert session().flush_events(0)
        monkeypatch.setenv(VARIABLE, str(tmp_path / "ours.jsonl"))
        lineage = session()
        lineage.save("SELECT num FROM sales", "told")
        assert [each["job"]["name"] for each in events_in(tmp_path / "ours.jsonl", lineage)] == ["save.told"] * 2
        assert not endpoint.events, "OPENLINEAGE_URL alone sends nothing"
        monkeypatch.setenv(VARIABLE, "environment")
        lineage = session()
        lineage.save("SELECT num FROM sales", "asked")
        assert lineage.flush_events(60)
        assert [each["job"]["name"] for each in endpoint.events] == ["save.asked"] * 2


# ------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize("status", [500, 403])
def test_an_endpoint_that_refuses_costs_no_save(
    session: Session, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    with Endpoint(status) as endpoint, caplog.at_level(logging.WARNING):
        lineage = session(endpoint.url)
        assert [lineage.save("SELECT num FROM sales", "numbers").version for _ in range(2)] == [1, 2]
        assert lineage.flush_events(120)
    (said,) = [each for each in caplog.records if each.name.startswith(("forward_lineage", "urllib3"))]
    assert endpoint.url in said.getMessage()
    assert "not touched" in said.getMessage()


def test_an_endpoint_that_is_not_there_or_slow_delays_no_save(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        gone = session(f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert gone.save("SELECT num FROM sales", "numbers").rows == 11
        assert gone.flush_events(120)
    assert len([each for each in caplog.records if each.name.startswith("forward_lineage")]) == 1
    with Endpoint(delay=20) as endpoint:
        slow = session(endpoint.url)
        before = time.monotonic()
        slow.save("SELECT num FROM sales", "numbers")
        waiting = not slow.flush_events(0)
        assert waiting or time.monotonic() - before > 20
        assert not endpoint.events or not waiting


SENDING = """
import sys
from forward_lineage.openlineage import OpenLineage
from forward_lineage.openlineage.events import RunEvents, Written
from forward_lineage.openlineage.sender import sender_of
settings = OpenLineage(sys.argv[1])
sender = sender_of(settings)
for _ in range(1100):
    sender.send(RunEvents(settings, "job", None, "4.1").start(Written()))
print("sent")
"""


@pytest.mark.slow
def test_a_server_that_never_answers_keeps_no_program_from_its_end() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(8)  # connections come about; nobody reads or writes
        command = [sys.executable, "-c", SENDING, f"http://127.0.0.1:{mute.getsockname()[1]}"]
        before = time.monotonic()
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True)
        took = time.monotonic() - before
    assert done.stdout == "sent\n"
    assert took > PATIENCE, "the end of the program waits for events that are on their way"
    assert done.stderr.count("OpenLineage: ") == 1, done.stderr


def test_what_cannot_be_told_is_left_out(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lineage = session(tmp_path / "events.jsonl")
    teller = lineage._parts.runs._teller
    monkeypatch.setattr(teller._names, "anywhere", lambda: 1 / 0)
    assert lineage.save("SELECT num FROM sales", "numbers").rows == 11
    events = events_in(tmp_path / "events.jsonl", lineage)
    assert [each["eventType"] for each in events] == ["START", "COMPLETE"]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("destination", "error", "says"),
    [
        ("", BadArgumentError, "no destination"),
        ("ftp://somewhere", BadArgumentError, "cannot be sent to ftp://somewhere"),
        ({"url": "http://x"}, BadArgumentError, "has no type"),
        ({"type": "file"}, SetupError, "refuses the transport"),
        ({"type": "none.such"}, SetupError, "refuses the transport"),
        (7, BadArgumentError, "names no destination"),
        ("environment", SetupError, "names no transport"),
        (OpenLineage("x", namespace=" "), BadArgumentError, "namespace"),
    ],
)
def test_destinations_that_are_none(session: Session, destination: Any, error: type[LineageError], says: str) -> None:
    with pytest.raises(error, match=says):
        session(destination)
