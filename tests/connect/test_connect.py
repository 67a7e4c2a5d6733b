"""Through Spark Connect everything is as it is in one process: ids, rows, lineage, manifests, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from tests.cluster import answers
from tests.connect import asking
from tests.connect.client import Client
from tests.connect.server import Server
from tests.markdown_pages import blocks_of
from tests.structure import REPOSITORY
from tests.updates.elsewhere import RESULTS, updated

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.since("4.3", "sessions of a Connect session, which these tests begin"),
]

QUERIES = tpch_queries.names()[:22]
EVERY_DAY = ("q17",)  # Q3 is saved, below


@pytest.mark.long  # every day Q16 is traced and results are saved and asked through both doors, below
def test_tpch(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    found = client.call(answers.traced_tpch, tpch, tmp_path / "there", EVERY_DAY, "control")
    assert answers.differences(found, answers.traced_tpch(spark, tpch, tmp_path / "here", EVERY_DAY, "control")) == []
    assert client.call(answers.saved, tpch, tmp_path / "there", "q3") == answers.saved(
        spark, tpch, tmp_path / "here", "q3"
    )


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("semantics", ["data", "control"])
def test_all_of_tpch(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path, semantics: str) -> None:
    found = client.call(answers.traced_tpch, tpch, tmp_path / "there", QUERIES, semantics)
    assert answers.differences(found, answers.traced_tpch(spark, tpch, tmp_path / "here", QUERIES, semantics)) == []


def test_data_frames(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    found = client.call(asking.traced_frames, tpch, tmp_path / "there", ("q16",), "control")
    wanted = asking.traced_frames(spark, tpch, tmp_path / "here", ("q16",), "control")
    assert answers.differences(found, wanted) == []


def test_numbers_that_come_from_python(client: Client, tpch: Path, tmp_path: Path) -> None:
    found = client.call(asking.traced_decimals, tpch, tmp_path)
    assert found["traced"] == found["plain"] != []


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("semantics", ["data", "control"])
def test_all_data_frames_of_tpch(
    spark: SparkSession, client: Client, tpch: Path, tmp_path: Path, semantics: str
) -> None:
    found = client.call(asking.traced_frames, tpch, tmp_path / "there", QUERIES, semantics)
    assert answers.differences(found, asking.traced_frames(spark, tpch, tmp_path / "here", QUERIES, semantics)) == []


def test_manifests(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    there = client.call(asking.registered, tpch, tmp_path / "there")
    assert there == asking.registered(spark.newSession(), tpch, tmp_path / "here")


def test_one_home_through_both_doors(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    assert client.call(asking.saved, tpch, tmp_path) == 5
    assert client.call(asking.questions, tmp_path) == asking.questions(spark.newSession(), tmp_path)


@pytest.mark.parametrize("names", [("by_town", "at_home"), pytest.param(tuple(RESULTS), marks=pytest.mark.long)])
def test_an_update(spark: SparkSession, client: Client, tmp_path: Path, names: tuple[str, ...]) -> None:
    there, other = client.call(updated, tmp_path / "there", names)
    assert other == []
    assert there == updated(spark, tmp_path / "here", names)[0]
    assert "partly" in {way for way, _ in there.values()}


def test_what_people_look_at(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    there = client.call(asking.shown, tpch, tmp_path / "there")
    assert there == asking.shown(spark.newSession(), tpch, tmp_path / "here")
    assert "nation {0, 5, 14, 15, 16} 5 rows" in str(there["text"])
    assert there["found"]


def test_refusals(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    there = client.call(asking.refused, tpch, tmp_path / "there")
    assert there == asking.refused(spark.newSession(), tpch, tmp_path / "here")
    assert len(there) == 10


def test_the_guard_sees_what_explain_leaves_out(client: Client, tpch: Path, tmp_path: Path) -> None:
    copy = tmp_path / "nation.parquet"
    copy.write_bytes((tpch / "nation.parquet").read_bytes())
    assert client.call(asking.told_apart, tpch / "nation.parquet", copy) == ["the same"]


def test_a_result_means_what_it_meant(client: Client, tpch: Path, tmp_path: Path) -> None:
    assert client.call(asking.kept_in_time, tpch, tmp_path) == [[25], [25]]


def test_a_frame_with_itself(spark: SparkSession, client: Client, tpch: Path, tmp_path: Path) -> None:
    there = client.call(asking.joined_with_itself, tpch, tmp_path / "there")
    assert there == asking.joined_with_itself(spark, tpch, tmp_path / "here")


def test_what_nobody_uses_is_not_kept(client: Client) -> None:
    assert client.call(asking.left_behind) == [3]


def test_the_page(server: Server, client: Client, tpch: Path, tmp_path: Path) -> None:
    from udafs.remote import SETTINGS  # noqa: PLC0415 - 3.5 has not all that it needs

    blocks = {block.info: block.text for block in blocks_of((REPOSITORY / "docs" / "deploying.md").read_text())}
    assert dict(line.split() for line in blocks["conf connect-server.conf"].splitlines()) == SETTINGS
    (tmp_path / "orders.parquet").symlink_to(tpch / "orders.parquet")
    code = blocks["python connect"].replace("sc://server:15002", server.url())
    assert client.call(asking.read_page, code, tmp_path) == "15000\n"


def test_workers_of_another_release(client: Client, tpch: Path, tmp_path: Path) -> None:
    kind, text = client.call(asking.another_release, tpch, tmp_path)
    assert (kind, text) == (
        "SetupError",
        "the Python of the Spark Connect server has another release of forward_lineage than this client. "
        "Install the same one in both.",
    )


def test_a_home_that_the_server_does_not_see(client: Client) -> None:
    kind, text = client.call(asking.begun, Path("/proc/self/fdinfo"))  # of each process its own, and not writable
    assert kind == "SetupError" and "/proc/self/fdinfo" in text
    kind, text = client.call(asking.begun, Path("/proc/self/cwd/.data/connect"))
    assert kind == "SetupError" and text.startswith("the Spark Connect server does not see the home /proc/self/cwd")


def test_a_server_that_dies(server: Server, client: Client, tpch: Path, tmp_path: Path) -> None:
    """It is the server of the others; one that came after this would start it again."""
    *found, results = client.call(asking.without_server, tpch, tmp_path, server.process.pid)
    gone = "the Spark Connect server has gone, or does not know this session any more"
    assert [kind for kind, _ in found] == ["FailedQueryError"] * 4 + ["SetupError"]
    assert all(text.startswith(gone) for _, text in found[:4])
    assert results == ("results", "per_region")
