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
from referencing.exceptions import NoSuchResource

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


def check_by_schema(events: list[Event], spec: Path) -> tuple[int, set[str]]:
    """Check events, and the facets in them that the specification has, against its schema.

    Args:
        events: as they were sent.
        spec: the folder of the specification.

    Returns:
        how many facets were checked; and the `_schemaURL` of those that it has not, or in another version.

    Raises:
        ValidationError: an event or a facet is not what the schema says.

    """
    files = (spec / "OpenLineage.json", *sorted((spec / "facets").glob("*.json")))
    schemas = {schema["$id"]: schema for schema in (json.loads(file.read_text()) for file in files)}
    main = next(schema for name, schema in schemas.items() if name.endswith("/OpenLineage.json"))

    def other_version(address: str) -> Resource[Any]:
        """A facet names the version of the base that was there when it was written; the folder has one of it."""
        if not address.endswith("/OpenLineage.json"):
            raise NoSuchResource(ref=address)
        return Resource.from_contents(main)

    registry: Registry[Any] = Registry(retrieve=other_version)
    for name, schema in schemas.items():
        registry = registry.with_resource(name, Resource.from_contents(schema))
    checked, others = 0, set()
    for event in events:
        _validator(main, registry).validate(event)
        for _, facet in facets(event):
            address, _, place = facet["_schemaURL"].partition("#")
            if address not in schemas:
                others.add(facet["_schemaURL"])
                continue
            _validator({"$ref": f"{address}#{place}"}, registry).validate(facet)
            checked += 1
    return checked, others


def _validator(schema: dict[str, Any], registry: Registry[Any]) -> Any:
    kind = jsonschema.Draft202012Validator
    return kind(schema, registry=registry, format_checker=kind.FORMAT_CHECKER)


if __name__ == "__main__":
    lines = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    count, not_there = check_by_schema(lines, Path(sys.argv[2]))
    print(f"{len(lines)} events and {count} facets are what the schema says")
    for each in sorted(not_there):
        print(f"not in this specification: {each}")
