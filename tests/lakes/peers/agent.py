"""OpenLineage's agent in a session of Spark, its events in a file; and the classes of its client, as a judge of ours.

Its artifacts have no JSON schema, but classes that are generated from it. Reading an event with them checks the type of
each field. Writing it again shows which fields they know.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from tests.lakes.engines import fetched
from tests.lakes.peers.statements import Event
from tests.spark_settings import FEW_WORDS, INTERPRETED

AGENT = "io.openlineage:openlineage-spark_2.13:1.53.0"
_KINDS = ("facets", "inputFacets", "outputFacets")


def agent_session(root: Path, events: Path) -> SparkSession:
    """Start the session of a process, under the agent's listener.

    Args:
        root: the folder of its tables and its log.
        events: the file to which the agent writes.

    Raises:
        NoEngineError: there is no agent.

    """
    settings = {
        **INTERPRETED,
        **FEW_WORDS,
        "spark.jars": str(fetched(AGENT)),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(events),
        "spark.sql.warehouse.dir": str(root / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
    }
    spelled = {key.replace(".", "__"): value for key, value in settings.items()}
    return local_session("peers", master="local[2]", driver_memory="2g", log=root / "spark.log", **spelled)


class ClientClasses:
    """The event classes of the agent's client.

    Args:
        spark: a session under the agent.

    """

    def __init__(self, spark: SparkSession) -> None:
        java: Any = spark._jvm
        self._client = java.io.openlineage.client.OpenLineageClientUtils

    def unknown(self, event: Event) -> set[str]:
        """Return what an event has that the classes do not know: facets, and fields of facets that they know.

        Raises:
            ValueError: the classes refuse it, or lose something of it.

        """
        try:
            read = self._client.runEventFromJson(json.dumps(event))
        except Py4JJavaError as error:
            raise ValueError(str(error.java_exception)) from None
        again = json.loads(self._client.toJson(read))
        if _comparable(again) != _comparable(event):
            raise ValueError(f"read and written, it is {again}")
        parts = [read.getRun(), read.getJob(), *read.getInputs(), *read.getOutputs()]
        said = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
        return {name for part, each in zip(parts, said, strict=True) for name in _of_part(part, each)}


def _of_part(part: Any, said: Event) -> Iterator[str]:
    for kind in (each for each in _KINDS if said.get(each)):
        facets = _get(part, kind)
        others = set(facets.getAdditionalProperties())
        yield from others
        for name in set(said[kind]) - others:
            yield from (f"{name}.{field}" for field in _get(facets, name).getAdditionalProperties())


def _get(bean: Any, name: str) -> Any:
    return getattr(bean, f"get{name[0].upper()}{name[1:]}")()


def _comparable(value: Any, name: str = "") -> Any:
    """A value of JSON without what is null, since the classes do not write that, and times in one spelling."""
    if isinstance(value, dict):
        return {key: _comparable(each, key) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return datetime.fromisoformat(value) if name == "eventTime" else value
