"""OpenLineage's Spark agent says of TPC-H what we say, but for differences that are explained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.lakes.other_engine import run_module
from tests.lakes.peers.agent import AGENT
from tests.lakes.peers.comparison import column_differences, dataset_differences
from tests.lakes.peers.statements import told_of


@pytest.mark.timeout(1200)
def test_the_agent_says_the_same() -> None:
    said = run_module("tests.lakes.peers", AGENT)
    assert "22 queries, 15 without any difference" in said
    assert "8 differences, 0 not explained; 0 explained and gone" in said


def event(**columns: list[tuple[str, str]]) -> Any:
    """An event of a table /t that is made of /s: column → the fields it is made of, and how."""
    fields = {
        column: {"inputFields": [{"name": "/s", "field": each, "transformations": how(kind)} for each, kind in of]}
        for column, of in columns.items()
    }
    facets = {"schema": {"fields": [{"name": each} for each in (*columns, "DL")]}, "columnLineage": {"fields": fields}}
    source = {"namespace": "file", "name": "/s", "facets": {}}
    return {"inputs": [source], "outputs": [{"namespace": "file", "name": "/t", "facets": facets}]}


def how(kind: str) -> list[dict[str, str]]:
    return [{"type": kind}] if kind else []


AGENTS = {"a": [("x", "DIRECT")], "b": [("x", "INDIRECT"), ("y", "DIRECT")]}


@pytest.mark.parametrize(
    ("ours", "differing"),
    [
        (AGENTS, set()),
        ({**AGENTS, "a": [("x", "")]}, set()),
        ({**AGENTS, "a": [("y", "")]}, {"a"}),
        ({**AGENTS, "a": []}, {"a"}),
        ({**AGENTS, "b": [("x", ""), ("y", "")]}, {"b"}),
    ],
)
def test_what_differs_is_seen(ours: Any, differing: set[str]) -> None:
    agents, mine = told_of([event(**AGENTS)], "/t"), told_of([event(**ours)], "/t")
    assert not list(dataset_differences(agents, mine))
    assert {column for column, _ in column_differences(agents, mine)} == differing


def test_other_names_are_seen() -> None:
    told = told_of([event(**AGENTS)], "/t")
    other = SimpleNamespace(name=told.name, table="db.t", columns=("a",), inputs={})
    assert len(list(dataset_differences(told, other))) == 3  # type: ignore[arg-type]


def test_events_that_contradict_each_other_are_seen() -> None:
    with pytest.raises(LookupError, match="2 events have lineage"):
        told_of([event(**AGENTS), event(a=[])], "/t")
