"""What the specification of OpenLineage asks of a run event, in words of ours; no package brings its JSON schema.

    python -m tests.forward_lineage.openlineage.rules EVENTS SPEC    checks events against the schema itself

EVENTS is a file with an event a line, SPEC a folder with `OpenLineage.json` and `facets/*.json` of the specification.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import jsonschema
from referencing import Registry, Resource

from forward_lineage.openlineage import facet_schema

Event = dict[str, Any]
STATES = {"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"}


def check(event: Event) -> None:
    """Check an event; AssertionError where a rule is broken."""
    assert event["eventType"] in STATES
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    UUID(event["run"]["runId"])
    for uri in (event["producer"], event["schemaURL"]):
        assert urlsplit(uri).scheme, uri
    for named in (event["job"], *event["inputs"], *event["outputs"]):
        assert named["namespace"] and named["name"], named
    for name, facet in facets(event):
        assert urlsplit(facet["_producer"]).scheme, name
        assert urlsplit(facet["_schemaURL"]).scheme, name
        assert facet["_producer"] == event["producer"], name
    for output in event["outputs"]:
        _check_output(event, output["facets"])


def facets(event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every facet of an event, and its name."""
    parts = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
    for part in parts:
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from part.get(kind, {}).items()


def _check_output(event: Event, found: dict[str, Any]) -> None:
    read = {(each["namespace"], each["name"]): each for each in event["inputs"]}
    columns = {field["name"] for field in found.get("schema", {"fields": []})["fields"]}
    for column, said in found.get("columnLineage", {"fields": {}})["fields"].items():
        assert column in columns, column
        for field in said["inputFields"]:
            schema = read[field["namespace"], field["name"]]["facets"]["schema"]
            assert field["field"] in {each["name"] for each in schema["fields"]}, field
    if ours := found.get("forwardLineage_rowLineage"):
        jsonschema.validate(ours, facet_schema(), jsonschema.Draft202012Validator)
        known = set(facet_schema()["properties"])
        assert set(ours) <= known, set(ours) - known


def check_by_schema(events: list[Event], spec: Path) -> int:
    """Check events, and the facets in them that the specification has, against its schema; return how many facets."""
    registry: Registry[Any] = Registry()
    schemas = {}
    for file in (spec / "OpenLineage.json", *sorted((spec / "facets").glob("*.json"))):
        schema = json.loads(file.read_text())
        schemas[schema["$id"]] = schema
        registry = registry.with_resource(schema["$id"], Resource.from_contents(schema))
    main = next(schema for name, schema in schemas.items() if name.endswith("/OpenLineage.json"))
    checked = 0
    for event in events:
        jsonschema.Draft202012Validator(main, registry=registry).validate(event)
        for _, facet in facets(event):
            address, _, place = facet["_schemaURL"].partition("#")
            if address in schemas:
                pointed = {"$ref": f"{address}#{place}"}
                jsonschema.Draft202012Validator(pointed, registry=registry).validate(facet)
                checked += 1
    return checked


if __name__ == "__main__":
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    print(f"{len(lines)} events and {check_by_schema(lines, Path(sys.argv[2]))} facets are what the schema says")
