"""Events as OpenLineage has them: runs, jobs, datasets with their facets. Nothing is sent here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    column_lineage_dataset,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)
from openlineage.client.uuid import generate_new_uuid

from forward_lineage.openlineage.naming import Name
from forward_lineage.openlineage.scopes import Made, Unknown
from forward_lineage.openlineage.settings import OpenLineage

VERSION = version("forward_lineage")
PRODUCER = f"urn:forward-lineage:{VERSION}"  # a name: there is no address that would be true wherever this runs
_INTEGRATION = "FORWARD_LINEAGE"


@dataclass(frozen=True)
class EventDataset:
    """A dataset as an event has it.

    Attributes:
        name: of the dataset.
        columns: names and types.
        version: of what it is here, "" if it has none.
        facets: others.

    """

    name: Name
    columns: Sequence[tuple[str, str]] = ()
    version: str = ""
    facets: Mapping[str, DatasetFacet] = field(default_factory=dict)

    def said(self, namespace: str) -> dict[str, Any]:
        """Return the arguments of a dataset."""
        facets: dict[str, DatasetFacet] = {}
        if self.columns:
            fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in self.columns]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields)
        if self.version:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=self.version)
        if self.name.table:
            called = symlinks_dataset.Identifier(namespace=namespace, name=self.name.table, type="TABLE")
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers=[called])
        return {"namespace": self.name.namespace, "name": self.name.name, "facets": {**facets, **self.facets}}


@dataclass(frozen=True)
class Written:
    """The output of a run, and its sources.

    Attributes:
        inputs: what was read.
        output: what was written; None: it has no name yet.
        rows: how many rows; None: nobody counted.
        size: bytes.
        files: how many files.

    """

    inputs: Sequence[EventDataset] = ()
    output: EventDataset | None = None
    rows: int | None = None
    size: int | None = None
    files: int | None = None


class RunEvents:
    """Makes the events of one run.

    Args:
        settings: namespace, and whether the query is told.
        job: the job's name: the same for every run that writes the same.
        sql: the query; None: there is no text.
        spark: version of Spark.

    """

    def __init__(self, settings: OpenLineage, job: str, sql: str | None, spark: str) -> None:
        self._settings, self._job, self._sql, self._spark = settings, job, sql, spark
        self._run = str(generate_new_uuid())
        self._began = datetime.now(UTC)

    def start(self, known: Written) -> RunEvent:
        """The run has begun, when this object was made; what it reads and writes, as far as that is known."""
        return self._event(RunState.START, known, at=self._began)

    def complete(self, written: Written) -> RunEvent:
        """It has ended, and all is written."""
        return self._event(RunState.COMPLETE, written)

    def failed(self, error: BaseException, known: Written) -> RunEvent:
        """It has ended, and nothing is written; ABORT if it was interrupted."""
        facet = error_message_run.ErrorMessageRunFacet(message=str(error), programmingLanguage="python")
        state = RunState.FAIL if isinstance(error, Exception) else RunState.ABORT
        return self._event(state, known, {"errorMessage": facet})

    def _event(
        self,
        state: RunState,
        written: Written,
        facets: Mapping[str, RunFacet] | None = None,
        *,
        at: datetime | None = None,
    ) -> RunEvent:
        engine = processing_engine_run.ProcessingEngineRunFacet(
            version=self._spark, name="spark", openlineageAdapterVersion=VERSION
        )
        event = RunEvent(
            eventTime=(at or datetime.now(UTC)).isoformat(),
            eventType=state,
            run=Run(runId=self._run, facets={"processing_engine": engine, **(facets or {})}),
            job=Job(namespace=self._settings.namespace, name=self._job, facets=self._of_job()),
            inputs=[InputDataset(**each.said(self._settings.namespace)) for each in written.inputs],
            outputs=[] if written.output is None else [self._output(written.output, written)],
            producer=PRODUCER,
        )
        return signed(event)

    def _of_job(self) -> dict[str, JobFacet]:
        facets: dict[str, JobFacet] = {
            "jobType": job_type_job.JobTypeJobFacet(processingType="BATCH", integration=_INTEGRATION, jobType="QUERY")
        }
        if self._settings.sql and self._sql is not None:
            facets["sql"] = sql_job.SQLJobFacet(query=self._sql, dialect="spark")
        return facets

    def _output(self, output: EventDataset, written: Written) -> OutputDataset:
        figures: dict[str, OutputDatasetFacet] = {}
        if written.rows is not None:
            figures["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=written.rows, size=written.size, fileCount=written.files
            )
        return OutputDataset(**output.said(self._settings.namespace), outputFacets=figures)


def signed(event: RunEvent) -> RunEvent:
    """Write our name into every facet: the client writes its own where nobody does."""
    datasets = [*(event.inputs or ()), *(event.outputs or ())]
    parts: list[Mapping[str, Any] | None] = [event.run.facets, event.job.facets, *(each.facets for each in datasets)]
    parts += [each.outputFacets for each in event.outputs or ()]
    for facets in parts:
        for facet in (facets or {}).values():
            facet._producer = PRODUCER
    return event


def columns_facet(
    lineage: Mapping[str, Made], names: Mapping[str, Iterable[Name]]
) -> tuple[dict[str, DatasetFacet], dict[str, str]]:
    """Return column lineage as a facet, and the columns that it leaves out, with the reasons.

    Args:
        lineage: column → what it is computed from.
        names: table → its datasets.

    """
    fields: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for column, made in lineage.items():
        if isinstance(made, Unknown):
            unknown[column] = made.why
            continue
        inputs = [
            column_lineage_dataset.InputField(namespace=name.namespace, name=name.name, field=field)
            for table, field in sorted(made)
            for name in names.get(table, ())
        ]
        fields[column] = column_lineage_dataset.Fields(inputFields=inputs)
    if not fields:
        return {}, unknown
    return {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields)}, unknown
