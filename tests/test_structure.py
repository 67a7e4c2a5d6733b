"""The house: no circle between files, rooms that look one way only, no long file, short functions."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

import networkx as nx
import pytest

from tests.structure import PACKAGES, REPOSITORY, functions, import_graph, module_of, sources

LONGEST_FILE = 600
LONG_FUNCTION = 14  # at the 90th percentile

# Rooms of forward_lineage, from the ground up → which other rooms each may import. All may import `udafs` and `extras`,
# and those in KNOW_RULES `rewrites`. docs/architecture.md says what each is for.
ROOMS = {
    "extras": set[str](),
    "relations": set[str](),
    "arrays": {"relations"},
    "models": {"relations", "arrays"},
    "cells": set[str](),
    "steps": {"storage"},
    "storage": set[str](),
    "spark": {"results"},
    "showing": {"spark", "results"},
    "stored_tables": {"spark.names"},
    "parquet_files": set[str](),
    "catalog": {"spark.names", "stored_tables", "parquet_files"},
    "results": set[str](),
    "frontend": {"catalog", "stored_tables"},
    "row_ids": {"showing", "storage", "spark", "catalog", "results", "stored_tables"},
    "columns": {"relations", "storage", "row_ids", "spark"},
    "dataframes": {"relations", "row_ids", "spark", "results", "stored_tables"},
    "tracing": {"storage", "columns", "frontend", "row_ids", "spark", "catalog", "results", "stored_tables"},
    "store": {
        "showing",
        "relations",
        "arrays",
        "storage",
        "row_ids",
        "tracing",
        "frontend",
        "spark",
        "results",
        "catalog",
    },
    "predicates": {"spark.names"},
    "embedded": {"predicates", "store.asking", "store.library", "row_ids", "storage", "catalog", "spark.paths"},
    "views": {"columns", "relations", "storage", "store", "row_ids", "frontend", "spark"},
    "profiling": {"storage", "columns", "relations", "store", "row_ids", "frontend", "spark"},
    "workloads": {
        *("columns", "storage", "relations", "store", "views", "tracing", "row_ids", "frontend", "spark", "results")
    },
    "sketches": {"columns", "relations", "storage", "store", "tracing", "row_ids", "frontend", "spark"},
    "approximate": {"columns", "frontend", "predicates", "relations", "row_ids", "spark", "storage"},
    "approximate.bounds": set[str](),
    "approximate.filters": set[str](),
    "openlineage": {"frontend", "results", "row_ids", "spark", "store", "tracing"},
    "explaining": {"embedded", "relations", "showing", "store", "tracing", "row_ids", "frontend", "spark", "results"},
    "pages": {"views", "frontend"},
    "session": {
        "arrays",
        "models",
        "explaining",
        "steps",
        "dataframes",
        "showing",
        "approximate",
        "openlineage",
        "sketches",
        "pages",
        "views",
        "profiling",
        "workloads",
        "store",
        "tracing",
        "row_ids",
        "frontend",
        "spark",
        "catalog",
        "results",
        "stored_tables",
        "relations",
        "storage",
    },
    "checking": {"session", "frontend", "row_ids", "spark", "results"},
    "drawing": set[str](),
    "demo": {"session", "spark"},
    "door": {"session", "frontend", "row_ids", "results"},
    "notebooks": {"cells", "session", "drawing", "cli.pictures", "frontend", "results", "showing", "store"},
    "cli": {
        "showing",
        "session",
        "profiling",
        "workloads",
        "pages",
        "store",
        "checking",
        "drawing",
        "row_ids",
        "frontend",
        "spark",
        "catalog",
        "parquet_files",
        "results",
        "storage",
        "embedded",
        "demo",
    },
}
KNOW_RULES = {
    *("stored_tables", "catalog", "frontend", "results", "row_ids", "spark", "tracing", "columns", "views"),
    *("profiling", "workloads", "approximate", "session", "sketches", "openlineage", "dataframes", "explaining"),
}


def test_no_circles() -> None:
    graph = nx.DiGraph(import_graph(sources(*PACKAGES)))
    assert [sorted(each) for each in nx.strongly_connected_components(graph) if len(each) > 1] == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_look_one_way(room: str) -> None:
    graph = import_graph(sources(*PACKAGES))
    mine = [module for module in graph if _within(module, f"forward_lineage.{room}")]
    assert mine
    wrong = [f"{module} imports {other}" for module in mine for other in sorted(graph[module]) if not _may(room, other)]
    assert not wrong


def test_every_module_has_a_room() -> None:
    top = {"forward_lineage", "forward_lineage.__main__", "forward_lineage.shadowing"}
    homeless = [
        module
        for module in map(module_of, sources("forward_lineage"))
        if module not in top and not any(_within(module, f"forward_lineage.{room}") for room in ROOMS)
    ]
    assert not homeless


def test_no_file_is_long() -> None:
    lines = {file.relative_to(REPOSITORY).as_posix(): _lines(file.read_text()) for file in sources(*PACKAGES)}
    assert {file: count for file, count in lines.items() if count > LONGEST_FILE} == {}


def test_functions_are_short() -> None:
    lengths = [length for file in sources(*PACKAGES) for _, length in functions(file)]
    assert statistics.quantiles(lengths, n=10)[-1] <= LONG_FUNCTION


def test_the_map_leads_to_what_is_there() -> None:
    """Each path of "Where would I change": from the root, from `forward_lineage/`, or beside the one before it."""
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    rows = page.partition("## Where would I change")[2].partition("\n## ")[0].splitlines()
    cells = [row.split(" | ")[1] for row in rows if row.count(" | ") == 1 and not row.startswith("| what | where")]
    assert len(cells) > 50
    assert [path for cell in cells for path in _leads_nowhere(cell)] == []


def _leads_nowhere(cell: str) -> Iterator[str]:
    before = REPOSITORY / "forward_lineage"
    for path in re.findall(r"`([\w./]+(?:/|\.(?:py|scala|golden|json|md|yml)))`", cell):
        places = (REPOSITORY, REPOSITORY / "forward_lineage", before, before.parent)
        found = next((place / path for place in places if (place / path).exists()), None)
        if found is None:
            yield path
        else:
            before = found if found.is_dir() else found.parent


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def _may(room: str, other: str) -> bool:
    if _within(other, "udafs"):
        return True
    if _within(other, "rewrites"):
        return room in KNOW_RULES
    return any(_within(other, f"forward_lineage.{allowed}") for allowed in (room, "extras", *ROOMS[room]))


def _lines(text: str) -> int:
    return text.count("\n")
