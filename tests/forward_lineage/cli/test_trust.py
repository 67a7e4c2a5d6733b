"""Commands say what an answer takes on trust, on standard error: what they print stays what it is."""

from __future__ import annotations

import json

import pytest

from forward_lineage import ForwardLineage
from tests.forward_lineage.cli.in_this_process import invoke

NOTE = "Note: t: on trust. Nobody checks that ids are unique there, or notices a change.\n"


@pytest.fixture
def trusting(lineage: ForwardLineage) -> ForwardLineage:
    """A table on trust, and a result made of it."""
    lineage.spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v FROM range(3)")
    lineage.register("t", key="v", trusted=True)
    lineage.save("SELECT sum(v) AS total FROM t", "made")
    return lineage


@pytest.mark.parametrize(
    "command",
    [
        ["backward", "made"],
        ["backward", "made", "--json"],
        ["forward", "t", "--ids", "1", "--result", "made"],
        ["impact", "t"],
        ["stale"],
    ],
)
def test_answers(trusting: ForwardLineage, command: list[str]) -> None:
    done = invoke(trusting.spark, *command, "--home", trusting.home)
    assert done.exit_code == 0
    assert done.stderr.startswith(NOTE)
    assert "on trust" not in done.stdout


def test_run(trusting: ForwardLineage) -> None:
    done = invoke(trusting.spark, "run", "-", "--home", trusting.home, stdin="SELECT v FROM t")
    assert done.stderr.startswith(NOTE)


def test_ls(trusting: ForwardLineage) -> None:
    assert "t (on trust)" in invoke(trusting.spark, "ls", "--home", trusting.home).stdout
    details = invoke(trusting.spark, "ls", "made", "--home", trusting.home).stdout
    assert details.endswith("On trust: t. Nobody checks that ids are unique there, or notices a change.\n")
    listed = json.loads(invoke(trusting.spark, "ls", "--json", "--home", trusting.home).stdout)
    assert listed["tables"]["t"]["trusted"] is True
