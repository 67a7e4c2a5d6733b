"""How much longer a notebook takes that is watched: ``python -m tests.bench.notebooks [--runs N] [--ipyflow N]``.

The cells of a small analysis, some of them edited and run again, in shells of IPython of their own: plain and watched.
Runs are interleaved; CPU seconds of all cells, medians.
Where others use the machine, shells differ by more than what is measured. So watching is also switched on and off in
one shell (``--pairs N``), from one run of all cells to the next, and each cell is compared with itself: the medians of
the differences, added up. There memory is kept by the process, since getting it anew takes up to a fifth of a cell.
The seconds within the watcher's own two calls stand beside the others; they leave out what it costs later.
With ipyflow, which has to be installed, N sessions of `notebook_sessions` are run plain, with ipyflow alone, and with
both, as in a kernel. The thesis' figure is the median of the sessions that take more than 5 seconds. Beside it stands
that of all sessions, and the small analysis, which is as hard for ipyflow as all sessions of the thesis together.
It ends with 1 if watching takes more than 1.02 in one shell, or the median with ipyflow is more than 1.44 of plain.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.notebook_sessions import Cells, session_of, write_table

MOST = {"watched": 1.02, "ipyflow alone": 1.44, "ipyflow": 1.44}
PLAIN = ("plain", "ipyflow alone")  # not watched by us
LONG = 5.0  # seconds that a session takes at least that counts for the median
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_KEEPS_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
FRAME = "d = pd.DataFrame({'k': rng.integers(0, 1000, {n}), 'v': rng.random({n}), 'w': rng.random({n})})"
CELLS = (
    ("1", "import numpy as np\nimport pandas as pd\nrng = np.random.default_rng(7)"),
    ("2", FRAME.replace("{n}", "2_000_000")),
    ("3", "d['z'] = np.sqrt(d.v) * d.w\nd.describe()"),
    ("4", "by_k = d.groupby('k').agg({'v': 'mean', 'w': 'sum', 'z': 'max'})"),
    ("5", "def score(row_v, row_w, least=0.5):\n    return row_v * 2 if row_w > least else row_w"),
    ("6", "scores = [score(v, w) for v, w in zip(d.v[:300_000], d.w[:300_000])]\nlen(scores)"),
    ("7", "m = rng.random((600, 600))\neig = np.linalg.eigvalsh(m @ m.T)"),
    ("8", "words = ['w' + str(i % 5000) for i in range(400_000)]\ncounts = {}"),
    (
        "9",
        "for word in words:\n    counts[word] = counts.get(word, 0) + 1\ntop = sorted(counts.values())[-10:]",
    ),
    ("10", "joined = d.merge(by_k, on='k', suffixes=('', '_k'))\nfar = joined[(joined.v - joined.v_k).abs() > 0.45]"),
    ("11", "summary = far.groupby('k').size().sort_values()"),
    ("5", "def score(row_v, row_w, least=0.6):\n    return row_v * 3 if row_w > least else row_w"),
    ("6", "scores = [score(v, w) for v, w in zip(d.v[:300_000], d.w[:300_000])]\nlen(scores)"),
    ("4", "by_k = d.groupby('k').agg({'v': 'median', 'w': 'sum', 'z': 'max'})"),
    ("10", "joined = d.merge(by_k, on='k', suffixes=('', '_k'))\nfar = joined[(joined.v - joined.v_k).abs() > 0.4]"),
    ("11", "summary = far.groupby('k').size().sort_values()"),
)


def seconds(mode: str, cells: Cells = CELLS, **names: object) -> tuple[float, float]:
    """Run cells in a shell; return the CPU seconds that they took, and how many of these are the watcher's.

    Args:
        mode: plain, or what watches.
        cells: their keys and texts.
        names: variables that they find.

    """
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415 - only where cells run

    from forward_lineage.notebooks.watching import Watching  # noqa: PLC0415 - in all modes, for the collector's sake

    shell = InteractiveShell.instance()
    shell.run_cell("import numpy, pandas", silent=True)
    shell.user_ns.update(names)
    if mode.startswith("ipyflow"):
        shell.run_cell("%load_ext ipyflow", silent=True).raise_error()
        settings = sys.modules["ipyflow"].flow().mut_settings
        settings.interface = type(settings.interface).JUPYTER  # where ids of cells are texts
    if mode not in PLAIN:
        watching = Watching(shell)
        within: list[float] = []
        for name in ("before", "after"):
            setattr(watching, name, _timed(getattr(watching, name), within))
        watching.start()
    begun = time.process_time()
    for key, text in cells:
        shell.run_cell(text, store_history=True, cell_id=key).raise_error()
    taken = time.process_time() - begun
    if mode not in PLAIN:
        assert not watching.missed, watching.missed
        assert mode == "ipyflow" or cells is not CELLS or watching.status().highlights.rerun == ()
        return taken, sum(within)
    return taken, 0.0


def in_one_shell(runs: int) -> tuple[float, float]:
    """Return the seconds that all cells take, and those that watching adds, switched on and off in one shell."""
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415 - only where cells run

    from forward_lineage.notebooks.watching import Watching  # noqa: PLC0415

    shell = InteractiveShell.instance()
    watching = Watching(shell)
    taken: dict[bool, list[list[float]]] = {True: [], False: []}
    for run in range(2 * runs + 2):
        watched = run % 4 in (1, 2)  # the two of a pair begin in turn
        if watched:
            watching.start()
        cells = []
        for key, text in CELLS:
            begun = time.process_time()
            shell.run_cell(text, store_history=True, cell_id=key).raise_error()
            cells.append(time.process_time() - begun)
        if watched:
            watching.stop()
        if run > 1:  # by then all is imported and warm
            taken[watched].append(cells)
    pairs = zip(zip(*taken[True], strict=True), zip(*taken[False], strict=True), strict=True)  # cell by cell
    more = sum(statistics.median(a - b for a, b in zip(*cell, strict=True)) for cell in pairs)
    return sum(map(statistics.median, zip(*taken[False], strict=True))), more


def _timed(call: Callable[[Any], None], taken: list[float]) -> Callable[[Any], None]:
    def timed(event: Any) -> None:
        begun = time.process_time()
        call(event)
        taken.append(time.process_time() - begun)

    return timed


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--ipyflow", type=int, default=0, help="sessions with ipyflow, which has to be installed")
    parser.add_argument("--session", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--mode", choices=("plain", *MOST), help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=0, help="runs in one shell, without and with watching; or none")
    told = parser.parse_args()
    if told.pairs and not _KEEPS_MEMORY.items() <= os.environ.items():
        command = [sys.executable, "-m", "tests.bench.notebooks", "--pairs", str(told.pairs)]
        return subprocess.run(command, check=False, env={**os.environ, **_KEEPS_MEMORY, **_ONE_THREAD}).returncode
    if told.pairs:
        plain, more = in_one_shell(told.pairs)
        print(f"\nwatched, in one shell: {1e3 * more:.1f} ms on {1e3 * plain:.0f} ms of {len(CELLS)} cells run again,")
        print(f"{1 + more / plain:.4f} of plain, {told.pairs} runs of each, at most {MOST['watched']}")
        return int(1 + more / plain > MOST["watched"])
    if told.mode:
        print("\n" + json.dumps(seconds(told.mode) if told.session is None else of_session(told.mode, told.session)))
        return 0
    if told.ipyflow:
        return with_ipyflow(told.ipyflow, told.runs)
    modes = ("plain", "watched")
    taken: dict[str, list[float]] = {mode: [] for mode in modes}
    own: dict[str, list[float]] = {mode: [] for mode in modes}
    for _ in range(told.runs):
        for mode in modes:
            whole, within = _in_process(mode)
            taken[mode].append(whole)
            own[mode].append(whole / (whole - within))
    plain = statistics.median(taken["plain"])
    ratios = {mode: statistics.median(taken[mode]) / plain for mode in modes[1:]}
    print(f"plain: {plain:.2f} s of CPU, {min(taken['plain']):.2f} to {max(taken['plain']):.2f}, {told.runs} runs")
    for mode, ratio in ratios.items():
        best = min(taken[mode]) / min(taken["plain"])
        print(f"{mode}: {ratio:.3f} of plain in the median, {best:.3f} of the best runs, at most {MOST[mode]}")
    mine = statistics.median(own["watched"])
    print(
        f"watched, by its own calls: {mine:.4f} in the median, {min(own['watched']):.4f} to {max(own['watched']):.4f}"
    )
    return int(any(ratio > MOST[mode] for mode, ratio in {**ratios, "watched": mine}.items()))


def of_session(mode: str, seed: int) -> tuple[float, float]:
    """Do the same with a session of `notebook_sessions`."""
    rows, cells = session_of(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.csv"
        write_table(path, rows)
        return seconds(mode, cells, PATH=path)


def with_ipyflow(sessions: int, runs: int) -> int:
    """Compare with ipyflow, on many sessions and on the small analysis."""
    modes = ("plain", "ipyflow alone", "ipyflow")
    found = []
    for seed in range(sessions):
        each = {mode: _in_process(mode, seed)[0] for mode in modes}
        found.append(each)
        rows, cells = session_of(seed)
        said = ", ".join(f"{mode} {taken:.2f} s" for mode, taken in each.items())
        print(f"session {seed}, {rows:,} rows, {len(cells)} cells run: {said}", flush=True)
    small = [{mode: _in_process(mode)[0] for mode in modes} for _ in range(runs)]
    long = [each for each in found if each["plain"] > LONG]
    ratio = 0.0
    for what, those in (("the small analysis", small), ("all sessions", found), (f"those above {LONG} s", long)):
        if those:
            ratio, alone = (statistics.median(each[mode] / each["plain"] for each in those) for mode in modes[:0:-1])
            print(f"{what}, {len(those)}: {ratio:.3f} of plain in the median, ipyflow alone {alone:.3f}")
    print(f"at most {MOST['ipyflow']}")
    return int(not long or ratio > MOST["ipyflow"])


def _in_process(mode: str, session: int | None = None) -> tuple[float, float]:
    command = [sys.executable, "-m", "tests.bench.notebooks", "--mode", mode]
    command += [] if session is None else ["--session", str(session)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **_ONE_THREAD})
    whole, within = json.loads(done.stdout.splitlines()[-1])
    return float(whole), float(within)


if __name__ == "__main__":
    sys.exit(main())
