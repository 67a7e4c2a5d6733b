"""Races to publish: processes that each want to be the one, in a folder and over a server that speaks S3.

    python -m tests.races --races 1000

In each race all processes save a result of one name with `mode="error"`'s rule: whoever finds it there is told so. Told
is, at the end: how many races had exactly one winner, whose lineage then was read back whole; and how long it took.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.storage.homes import Home, ObjectHome
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.saving.tasks import write_segment
from tests.object_server import BUCKET, object_server
from udafs.errors import NameTakenError
from udafs.lineage_set import LineageSet

ROWS = 2000
_STRIDE = 1 << 20  # between the ids of one process and those of the next


@dataclass(frozen=True)
class Score:
    """How races ended.

    Attributes:
        races: how many.
        right: with one winner, whose rows all have the lineage that it gave them.
        winners: how often each process won.
        seconds: from the first to the last.

    """

    races: int
    right: int
    winners: tuple[int, ...]
    seconds: float


def run(home: Home, races: int, processes: int) -> Score:
    """Let processes race, and look at what is there afterwards."""
    spawn = multiprocessing.get_context("spawn")
    barrier, told = spawn.Barrier(processes), spawn.Queue()
    racers = [spawn.Process(target=_race, args=(home, races, number, barrier, told)) for number in range(processes)]
    begun = time.monotonic()
    for each in racers:
        each.start()
    won: dict[int, list[int]] = {race: [] for race in range(races)}
    heard = 0
    while heard < processes:
        try:
            number, mine = told.get(timeout=5)
        except queue.Empty:
            assert not any(each.exitcode for each in racers), "a racer died"
            continue
        heard += 1
        for race in mine:
            won[race].append(number)
    for each in racers:
        each.join()
    seconds = time.monotonic() - begun
    library = Library(home)
    right = sum(len(by) == 1 and _is_whole(library, race, by[0]) for race, by in won.items())
    counts = Counter(number for by in won.values() for number in by)
    return Score(races, right, tuple(counts[number] for number in range(processes)), seconds)


def _race(home: Home, races: int, number: int, barrier: Barrier, told: multiprocessing.Queue[object]) -> None:
    library = Library(home)
    won = []
    for race in range(races):
        barrier.wait(600)
        try:
            _save(library, f"race_{race}", number, race)
        except NameTakenError:
            continue
        won.append(race)
    told.put((number, won))


def _save(library: Library, name: str, number: int, race: int) -> None:
    with library.writing(name) as folder:
        pairs = RunsRelation.from_pairs(range(ROWS), [_id(number, race, row) for row in range(ROWS)])
        segment = write_segment(folder, "lineage/0/0.lineage", pairs, first_row=0, rows=ROWS, form="runs")
        manifest = Manifest("sales", Provider.KEY, (("k", "int"),), "sales", "k", version=1, key=("k",))
        table = TracedTable("sales", 1, Provider.KEY, (segment,), manifest=manifest.to_data())
        saved = SavedResult(
            name=name, version=0, sql="…", semantics="data", saved_at="", columns=(("a", "int"),), schema={}, rows=ROWS,
            row_files=(), tables=(table,), data=folder.name, keeps_numbers_of=0,
        )  # fmt: skip

        def draft(newest: int) -> SavedResult:
            if newest:
                raise NameTakenError(f"there is a saved result {name} already", instead="Choose another name.")
            return replace(saved)

        library.publish(draft)


def _is_whole(library: Library, race: int, number: int) -> bool:
    saved = library.get(f"race_{race}")
    relation = library.relation(saved, saved.tables[0])
    rows, ids = relation.pairs()
    asked = relation.backward(LineageSet([race % ROWS]))
    wanted = [_id(number, race, row) for row in range(ROWS)]
    whole = rows.tolist() == list(range(ROWS)) and ids.tolist() == wanted
    return saved.version == 1 and whole and list(asked) == [wanted[race % ROWS]]


def _id(number: int, race: int, row: int) -> int:
    return number * _STRIDE + race + 3 * row


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--place", choices=["folder", "store", "both"], default="both")
    asked = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as scratch, object_server(Path(scratch)):
        os.environ["FORWARD_LINEAGE_CACHE"] = f"{scratch}/cache"
        homes: dict[str, Home] = {"folder": Path(scratch) / "home", "store": ObjectHome(f"s3://{BUCKET}/home")}
        for place, home in homes.items():
            if asked.place not in (place, "both"):
                continue
            found = run(home, asked.races, asked.processes)
            failed |= found.right != found.races
            print(
                f"{place}: {found.right} of {found.races} races have one winner whose lineage is whole; "
                f"won by each process: {', '.join(map(str, found.winners))}; {found.seconds:.1f} s",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
