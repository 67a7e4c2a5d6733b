"""Events about a table that was written, read into a form in which those of several senders can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forward_lineage.results import LINEAGE_COLUMN

Event = Mapping[str, Any]
Dataset = tuple[str, str]
"""Namespace and name."""
Field = tuple[str, str]
"""A dataset's name, and one of its columns."""


@dataclass(frozen=True)
class Told:
    """An account of a table.

    Attributes:
        name: the dataset that it is.
        table: what Spark's catalog calls it, without the catalog.
        inputs: the datasets it was made of, and what the catalog calls those that it knows.
        columns: its columns, the lineage that we add left out.
        fields: column → the fields that it is computed from, a condition's among them.
        conditions: those that only a condition in its expression has, if that was said.

    """

    name: Dataset
    table: str
    inputs: Mapping[Dataset, str]
    columns: tuple[str, ...]
    fields: Mapping[str, frozenset[Field]]
    conditions: Mapping[str, frozenset[Field]]


def events_in(file: Path) -> list[Event]:
    """Return the events of a file, one in a line."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def told_of(events: Iterable[Event], place: str) -> Told:
    """Return what events say of the table in a folder.

    Raises:
        LookupError: none of them says which columns it was made of, or two say different things.

    """
    written = [(event, output) for event in events for output in event["outputs"] if output["name"] == place]
    inputs = [each for event, _ in written for each in event["inputs"]]
    said = [_told(each, _named(inputs)) for _, each in written if "columnLineage" in each["facets"]]
    if not said or any(each != said[0] for each in said):
        raise LookupError(f"{len(said)} events have lineage of the columns of {place}, and not the same")
    (table,) = _named([output for _, output in written]).values()
    return replace(said[0], table=table)


def _named(datasets: Iterable[Event]) -> dict[Dataset, str]:
    """Datasets, and what the catalog calls them, which the agent does not say in each of its events."""
    found: dict[Dataset, str] = {}
    for each in datasets:
        found[_name(each)] = found.get(_name(each)) or _called(each)
    return found


def _told(output: Event, inputs: Mapping[Dataset, str]) -> Told:
    facets = output["facets"]
    named = [each["name"] for each in facets["schema"]["fields"] if each["name"] != LINEAGE_COLUMN]
    found = {
        column: list(_fields(made["inputFields"]))
        for column, made in facets["columnLineage"]["fields"].items()
        if column.partition(".")[0] != LINEAGE_COLUMN
    }
    return Told(
        name=_name(output),
        table="",
        inputs=inputs,
        columns=tuple(named),
        fields={column: frozenset(field for field, _ in of) for column, of in found.items()},
        conditions={column: frozenset(field for field, direct in of if not direct) for column, of in found.items()},
    )


def _fields(said: Iterable[Event]) -> Iterator[tuple[Field, bool]]:
    """Yield each field, and whether its value goes on; it does if the event has no `transformations`."""
    for each in said:
        how = each.get("transformations") or [{"type": "DIRECT"}]
        yield (each["name"], each["field"]), any(one["type"] == "DIRECT" for one in how)


def _name(dataset: Event) -> Dataset:
    return dataset["namespace"], dataset["name"]


def _called(dataset: Event) -> str:
    """A table's name in Spark's catalog, which the agent does not name: `default.orders`."""
    symlinks = dataset["facets"].get("symlinks", {"identifiers": []})["identifiers"]
    return symlinks[0]["name"].removeprefix("spark_catalog.") if symlinks else ""
