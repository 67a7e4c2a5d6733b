"""Measure the paper's experiments and keep everything: one JSON file a scale, written after every query."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from forward_lineage import LineageError
from forward_lineage.spark.local import local_session
from tests.bench import report
from tests.bench.experiments import EXPERIMENTS, VARIANTS, Experiment, chosen
from tests.bench.harness import Turns, as_json, compare
from tests.bench.sessions import Sessions
from tests.bench.sizes import lineage_size

Record = dict[str, Any]
Work = Sequence[tuple[Experiment, str]]


def run(
    *,
    scales: Sequence[float],
    turns: Turns,
    queries: str,
    variants: Sequence[str],
    semantics: str,
    output: Path,
    sizes: bool,
    memory: str,
    session: SparkSession | None = None,
) -> Path:
    """Measure, write `sf<scale>.json` files, the report and its plots into a folder.

    What the folder has from an earlier run stays, except for queries that are measured again.

    Args:
        scales: scale factors; 1 is the paper's.
        turns: how often each variant runs.
        queries: see `experiments.chosen`.
        variants: some of `experiments.VARIANTS`.
        semantics: ``"data"`` or ``"control"``.
        output: the folder.
        sizes: whether lineage is counted and stored, too: one more run of each query.
        memory: heap of the Spark driver, e.g. ``4g``.
        session: a running session to use; when not given, one is started, and stopped in the end.

    Returns:
        the report, a Markdown file.

    Raises:
        LineageError: a name that is not known, or data that cannot be generated.

    """
    unknown = sorted(set(variants) - set(VARIANTS))
    if unknown:
        raise LineageError(f"there is no variant {', '.join(unknown)}", instead=f"There are {', '.join(VARIANTS)}.")
    work = chosen(queries)
    folders = {(scale, each.key): each.workload.generate(scale) for scale in scales for each, _ in work}
    output.mkdir(parents=True, exist_ok=True)
    spark = session or local_session("forward-lineage bench", driver_memory=memory)
    bench = _Bench(spark, turns, tuple(variants), semantics, sizes)
    try:
        with _progress() as progress:
            task = progress.add_task("", total=len(scales) * len(work))
            for scale in scales:
                record = Recorder(output / f"sf{scale:g}.json", scale, spark)
                with bench.at_home():
                    for experiment, query in work:
                        progress.update(task, description=f"scale {scale:g}, {experiment.key} {query}")
                        record.add(experiment, bench.measure(experiment, query, folders[scale, experiment.key]))
                        progress.advance(task)
    finally:
        if session is None:
            spark.stop()
    return report.write(output)


class Recorder:
    """The record of one scale, in a file that is whole after every query."""

    def __init__(self, file: Path, scale: float, spark: SparkSession) -> None:
        self.file = file
        self.record: Record = json.loads(file.read_text("utf-8")) if file.exists() else {"experiments": {}}
        self.record |= {
            "scale": scale,
            "spark": spark.version,
            "java": _java(spark),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        }

    def add(self, experiment: Experiment, found: Record) -> None:
        """Put in what was found for one query, in place of what an earlier run found, and write the file."""
        known = self.record["experiments"].setdefault(experiment.key, [])
        known[:] = [each for each in known if each["query"] != found["query"]] + [found]
        known.sort(key=lambda each: experiment.queries.index(each["query"]))
        unfinished = self.file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.record, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(self.file)


class _Bench:
    """Measures queries of one scale, the sessions over their tables made once."""

    def __init__(
        self, spark: SparkSession, turns: Turns, variants: tuple[str, ...], semantics: str, sizes: bool
    ) -> None:
        self.spark, self.turns = spark, turns
        self.wanted, self.semantics, self.sizes = variants, semantics, sizes
        self.home = Path()
        self._sessions: dict[str, Sessions] = {}

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Keep registrations and results in a folder of its own, for the tables of one scale."""
        self._sessions = {}
        with tempfile.TemporaryDirectory() as home:
            self.home = Path(home)
            yield

    def measure(self, experiment: Experiment, query: str, folder: Path) -> Record:
        """Compare the variants of one query and count its lineage."""
        sessions = self._over(experiment, folder)
        made = experiment.variants(sessions, query, self.wanted, self.semantics, self.home)
        busy = os.getloadavg()[0]
        found: Record = as_json([compare(self.spark, query, made, self.turns)])[0]
        timed = len(found["variants"][0]["run_seconds"])
        found |= {"runs": timed, "semantics": self.semantics, "load": [busy, os.getloadavg()[0]]}
        if self.sizes:
            found["size"] = self._size(sessions, experiment, query)
        return found

    def _over(self, experiment: Experiment, folder: Path) -> Sessions:
        workload = experiment.workload
        if workload.name not in self._sessions:
            home = self.home / f"lineage_home_{workload.folder}"
            self._sessions[workload.name] = Sessions.over(workload, self.spark.newSession(), folder, home)
        return self._sessions[workload.name]

    def _size(self, sessions: Sessions, experiment: Experiment, query: str) -> Record:
        semantics = "control" if query in experiment.control else self.semantics
        try:
            data = sessions.traced(experiment.traced_text(query), semantics, "auto")()
        except LineageError as refusal:
            return {"semantics": semantics, "refused": str(refusal)}
        size = lineage_size(data.select("DL.*").toArrow())
        return {"semantics": semantics, "average": size.average, **asdict(size)}


def smoke_queries() -> str:
    """One small query of each experiment: enough to see the whole command work."""
    return ",".join(f"{key}:{each.queries[-1 if key == 'granularity' else 0]}" for key, each in EXPERIMENTS.items())


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _java(spark: SparkSession) -> str:
    jvm = spark._jvm
    assert jvm is not None
    return str(jvm.System.getProperty("java.version"))
