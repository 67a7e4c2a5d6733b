"""Events against the published JSON schema, where there is a copy of it; and that the comparison sees what is wrong."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError
from openlineage.client.serde import Serde

from forward_lineage.openlineage import OpenLineage
from forward_lineage.openlineage.events import EventDataset, RunEvents, Written
from forward_lineage.openlineage.naming import Name
from tests.forward_lineage.openlineage.rules import Event, check_by_schema

#: A folder with `OpenLineage.json` and `facets/*.json` of the specification; no package brings them.
VARIABLE = "OPENLINEAGE_SPEC"
_BASE = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
_TEXT = {"type": "string"}


def as_sent(*tables: str) -> list[Event]:
    """Return the events of a run that begins and fails, as a file has them."""
    made = RunEvents(OpenLineage("unused"), "save.x", "SELECT 1 AS a", "4.1.0")
    named = [EventDataset(Name("file", f"/data/{name}"), (("a", "int"),), "1") for name in tables]
    known = Written(named, named[0], rows=3)
    return [json.loads(Serde.to_json(each)) for each in (made.start(known), made.failed(ValueError("no"), known))]


def test_events_are_what_the_published_schema_says() -> None:
    if not (place := os.environ.get(VARIABLE)):
        pytest.skip(f"no package brings the specification: let ${VARIABLE} name a folder with a copy of it")
    checked, others = check_by_schema(as_sent("t", "u"), Path(place))
    assert checked
    assert not others, "the client names other versions than the copy of the specification has"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A specification of two facets, in the form of the published one, the second of another version."""
    event = {
        "type": "object",
        "properties": {"eventTime": {**_TEXT, "format": "date-time"}, "run": {"$ref": "#/$defs/Run"}},
        "required": ["eventTime", "run", "job"],
    }
    run = {"type": "object", "properties": {"runId": _TEXT}, "required": ["runId"]}
    facet = {"type": "object", "required": ["_producer", "_schemaURL"]}
    write(tmp_path / "OpenLineage.json", _BASE, {"RunEvent": event, "Run": run, "JobFacet": facet}, "RunEvent")
    sql = facet_of("2-0-1", "JobFacet", {"query": _TEXT}, "query")  # the base in a version that is not there
    write(tmp_path / "facets" / "Sql.json", "https://openlineage.io/spec/facets/1-1-0/SQLJobFacet.json", sql)
    error = facet_of("2-0-2", "JobFacet", {"message": _TEXT}, "message")
    write(
        tmp_path / "facets" / "Error.json", "https://openlineage.io/spec/facets/9-9-9/ErrorMessageRunFacet.json", error
    )
    return tmp_path


def facet_of(version: str, kind: str, properties: dict[str, Any], required: str) -> dict[str, Any]:
    base = {"$ref": f"https://openlineage.io/spec/{version}/OpenLineage.json#/$defs/{kind}"}
    return {"SQLJobFacet": {"allOf": [base, {"properties": properties, "required": [required]}]}}


def write(file: Path, name: str, definitions: dict[str, Any], whole: str | None = None) -> None:
    file.parent.mkdir(exist_ok=True)
    draft = "https://json-schema.org/draft/2020-12/schema"
    schema = {"$schema": draft, "$id": name, "$defs": definitions} | ({"$ref": f"#/$defs/{whole}"} if whole else {})
    file.write_text(json.dumps(schema))


def test_what_is_checked_and_what_the_specification_does_not_have(spec: Path) -> None:
    checked, others = check_by_schema(as_sent("t"), spec)
    assert checked == 2, "the query, in both events"
    assert any(each.endswith("/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet") for each in others)
    assert not any("SQLJobFacet" in each for each in others)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("run", "runId"), 7),
        (("job", "facets", "sql", "query"), None),
        (("job", "facets", "sql", "_producer"), ...),
        (("run",), ...),
    ],
)
def test_what_is_wrong_is_seen(spec: Path, place: tuple[str, ...], wrong: object) -> None:
    event: Any = deepcopy(as_sent("t")[0])
    check_by_schema([event], spec)
    part = event
    for name in place[:-1]:
        part = part[name]
    if wrong is ...:
        del part[place[-1]]
    else:
        part[place[-1]] = wrong
    with pytest.raises(ValidationError):
        check_by_schema([event], spec)
