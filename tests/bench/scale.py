"""Where the design bends: manifests of up to a million files, relations of up to a billion pairs over ids of 62 bits.

    python -m tests.bench.scale [--files 10000,100000,1000000] [--pairs 10000000,100000000]
        [--kinds clustered,scattered] [--folder FOLDER] [--json FILE]

Simulated: the files are named and not there, the pairs are made by chance, without a query. All else is the code that
runs otherwise: a manifest is written, read by Python and by the kernel, and compared with a listing; a relation is
written segment by segment, as large as the store makes them, and asked. *clustered* ids stand in the order of the rows,
as those of an order's lines do; *scattered* ones anywhere in 62 bits, and are asked with an index, too. Seconds, bytes,
and the most memory that the process ever had, each measurement in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from forward_lineage.relations import segment as segments
from forward_lineage.relations.forward_index import CoveredSegment, ForwardIndex, build, worth_an_index
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from forward_lineage.row_ids.checks import check_files
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.row_ids.written_sql import ROW_ID
from forward_lineage.spark.local import local_session
from forward_lineage.store.saving.tasks import MOST_RUNS
from udafs.attach import attach
from udafs.lineage_set import LineageSet

ROWS_OF_A_FILE = 1_000_000  # a million files are 10^12 rows
IDS_OF_A_ROW = 10
BITS = 62
Figures = dict[str, float]


@contextmanager
def timed(figures: Figures, what: str) -> Iterator[None]:
    """Note how many seconds something takes."""
    start = time.perf_counter()
    yield
    figures[what] = time.perf_counter() - start


def peak() -> float:
    """Megabytes, the most that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---------------------------------------------------------------- manifests


def data_files(count: int) -> tuple[DataFile, ...]:
    """Files as those of a table that is partitioned by day, each with a name as Spark gives it."""
    return tuple(
        DataFile(
            path=f"/warehouse/events/day={i % 3650:04}/part-{i:08}-6c2f0e7a-33d5-4d5e-9c4d-c000.snappy.parquet",
            size=128 << 20,
            modified=1_700_000_000_000_000_000 + i,
            inode=i + 1,
            rows=ROWS_OF_A_FILE,
            footer=f"{i:064x}",
            offset=i * ROWS_OF_A_FILE,
        )
        for i in range(count)
    )


def manifest_of(files: tuple[DataFile, ...], _last: Manifest | None) -> Manifest:
    """The manifest of a table of these files, as registering makes it."""
    return Manifest(
        name="events",
        provider=Provider.POSITION,
        columns=(("user", "BIGINT"), ("amount", "DOUBLE")),
        relation="parquet.`/warehouse/events`",
        row_id=ROW_ID,
        view="SELECT * FROM parquet.`/warehouse/events`",
        source={"path": "/warehouse/events"},
        files=files,
        next_id=len(files) * ROWS_OF_A_FILE,
    )


def measure_manifest(folder: Path, count: int) -> Figures:
    """Write a manifest, read it again, compare it with a listing."""
    figures: Figures = {"files": count}
    files = data_files(count)
    figures["MB before"] = peak()
    with timed(figures, "write, s"):
        written = Registrations(folder).write(partial(manifest_of, files), "events")
    fresh = Registrations(folder)
    figures["bytes a file"] = fresh.path(written).stat().st_size / count
    with timed(figures, "read, s"):
        read = fresh.latest("events")
    assert read == written
    with timed(figures, "read again, s"):
        again = fresh.latest("events")
    assert again is not None
    with timed(figures, "compare, s"):
        check_files(again, files)
    figures["MB"] = peak()
    return figures


def measure_kernel(folder: Path, count: int) -> Figures:
    """How long the kernel takes for a manifest that is there, in a JVM of 4 GB that has read a small one."""
    spark = local_session("scale", master="local[2]", driver_memory="4g", log=folder / "spark.log")
    attach(spark)
    read = spark._jvm.org.apache.spark.sql.forwardlineage.ManifestFile.read  # type: ignore[union-attr]
    small = Registrations(folder / "small")
    read(str(small.path(small.write(partial(manifest_of, data_files(100)), "events"))))
    figures: Figures = {}
    there = Registrations(folder)
    manifest = there.latest("events")
    assert manifest is not None and len(manifest.files) == count
    with timed(figures, "kernel, s"):
        read(str(there.path(manifest)))
    spark.stop()
    return figures


# ---------------------------------------------------------------- relations


def ids_of_rows(kind: str, rows: int, first_row: int, chance: np.random.Generator) -> Numbers:
    """`IDS_OF_A_ROW` ids for each row."""
    if kind == "scattered":
        return chance.integers(0, 1 << BITS, rows * IDS_OF_A_ROW)
    gaps = chance.integers(1, 4, rows * IDS_OF_A_ROW)
    return np.asarray((1 << BITS - 1) + 2 * IDS_OF_A_ROW * first_row + np.cumsum(gaps), np.int64)


def write_relation(folder: Path, kind: str, pairs: int) -> list[SegmentFile]:
    """Write a relation of so many pairs, a segment after the other."""
    chance = np.random.default_rng(2007)
    rows = MOST_RUNS // IDS_OF_A_ROW
    files = []
    for number in range(-(-pairs // (rows * IDS_OF_A_ROW))):
        first = number * rows
        own = np.repeat(np.arange(rows), IDS_OF_A_ROW)
        relation = RunsRelation.from_pairs(own, ids_of_rows(kind, rows, first, chance))
        path = folder / f"{number:06}"
        data, _ = segments.write_encoded(path, Segment(first, rows, relation), "runs", to_disk=False)
        known = {"checksum": segments.checksum(data), "pairs": len(relation), "size": len(data)}
        first_id, last_id = relation.id_range or (None, None)
        files.append(SegmentFile(path, first, rows, first_id=first_id, last_id=last_id, **known))
    return files


def measure_relation(folder: Path, kind: str, pairs: int) -> Figures:
    """Write a relation, ask what a row is made of, cold and warm, and of which rows an id is part."""
    figures: Figures = {"pairs": pairs}
    figures["MB before"] = peak()
    with timed(figures, "write, s"):
        files = write_relation(folder, kind, pairs)
    figures["bytes a pair"] = sum(file.size or 0 for file in files) / pairs
    figures["segments"] = len(files)
    figures["MB written"] = peak()
    stored = StoredRelation(files, SegmentCache())
    middle = LineageSet([files[len(files) // 2].first_row + 7])
    with timed(figures, "backward, cold, ms"):
        found = stored.backward(middle)
    assert len(found) == IDS_OF_A_ROW
    with timed(figures, "backward, warm, ms"):
        stored.backward(middle)
    one = LineageSet([int(found.ids()[0])])
    with timed(figures, "forward of an id, s"):
        assert middle <= stored.forward(one)
    for warm in ("backward, cold, ms", "backward, warm, ms"):
        figures[warm] *= 1000
    figures["MB"] = peak()
    if covered := worth_an_index(files):
        figures |= measure_index(folder, files, covered, stored.forward(one), one)
    return figures


def measure_index(
    folder: Path, files: list[SegmentFile], covered: list[SegmentFile], expected: LineageSet, one: LineageSet
) -> Figures:
    """Make an index, and ask of which rows an id is part: the first time, again, and of a hundred other ids."""
    figures: Figures = {}
    own = folder / "index"
    own.mkdir()
    with timed(figures, "index, s"):
        made, heavy = build(covered, SegmentCache(0), own, lambda done: None)
    os.sync()  # what is still being written would be waited for by the first question
    figures["bytes a pair of the index"] = sum(each.size for each in made) / sum(each.pairs for each in made)
    inverse = StoredRelation([each.file_in(own) for each in made], SegmentCache())
    index = ForwardIndex(map(CoveredSegment.of, covered), LineageSet(heavy), inverse)
    indexed = StoredRelation(files, SegmentCache(), lambda: index)
    times = []
    for ids in (one, one, *(LineageSet([each.first_id]) for each in made[:: max(len(made) // 100, 1)])):
        begun = time.perf_counter()
        found = indexed.forward(ids)
        times.append(1000 * (time.perf_counter() - begun))
        assert found == expected if ids is one else found
    figures["forward by index, first, ms"], figures["again, ms"] = times[:2]
    figures["of other ids, median, ms"], figures["most, ms"] = statistics.median(times[2:]), max(times[2:])
    figures["MB, indexed"] = peak()
    return figures


# ---------------------------------------------------------------- all of it


def apart(measure: Callable[[], Figures]) -> Figures:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure).result()


def table_of(title: str, found: list[Figures]) -> Table:
    """A column for each size."""
    table = Table(title=title)
    first, *others = found[0]
    for column in (first, *(f"{figures[first]:,.0f}" for figures in found)):
        table.add_column(column, justify="left" if column == first else "right")
    for each in others:
        values = (figures.get(each) for figures in found)
        table.add_row(each, *("" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in values))
    return table


@click.command()
@click.option("--files", "counts", default="10000,100000,1000000", show_default=True, help="Files of a table.")
@click.option("--pairs", default="10000000,100000000", show_default=True, help="Pairs of a relation.")
@click.option("--kinds", default="clustered,scattered", show_default=True, help="Of relations.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write; 8 bytes a pair.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write every figure there.")
def main(counts: str, pairs: str, kinds: str, folder: Path | None, json_path: Path | None) -> None:
    """Print what manifests and relations cost as they grow."""
    console = Console(width=160)
    everything: dict[str, list[Figures]] = {"manifests": [], **{kind: [] for kind in kinds.split(",")}}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for count in map(int, filter(None, counts.split(","))):
            own = Path(tempfile.mkdtemp(dir=scratch))
            python = apart(partial(measure_manifest, own, count))
            everything["manifests"].append(python | apart(partial(measure_kernel, own, count)))
            console.print(everything["manifests"][-1])
    for kind in kinds.split(","):
        for count in map(int, filter(None, pairs.split(","))):
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                everything[kind].append(apart(partial(measure_relation, Path(scratch), kind, count)))
            console.print(kind, everything[kind][-1])
    for title, found in everything.items():
        if found:
            console.print(table_of(title, found))
    if json_path is not None:
        json_path.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
