"""TPC-H data as Parquet, made by `tpchgen-cli`: generated once, whole or not at all, and reused."""

from __future__ import annotations

import fcntl
import math
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from forward_lineage.demo.tpch_tables import TABLES
from udafs.errors import BadArgumentError, DamagedError, SetupError

_BYTES_PER_SCALE = 362_000_000  # all eight files at scale factor 1; only the progress bar depends on it
_ANNOUNCE_FROM = 0.05  # below this scale factor generating takes less than a second and goes without a word


def default_folder(scale: float) -> Path:
    """Return where data of a scale factor live: `$FORWARD_LINEAGE_DATA/tpch/sf<scale>`, else under `./.data`."""
    root = os.environ.get("FORWARD_LINEAGE_DATA")
    return (Path(root) if root else Path.cwd() / ".data") / "tpch" / f"sf{scale:g}"


def generate(scale: float, folder: Path | None = None) -> Path:
    """Return a folder with the eight TPC-H tables as `<table>.parquet`, generating them when they are not there.

    Complete data are reused; a folder appears only when all of it is written. Two processes that ask for the same
    folder at once generate it once.

    Args:
        scale: the TPC-H scale factor, above 0; 1 is about 360 MB.
        folder: where the files go; `default_folder(scale)` when not given.

    Raises:
        BadArgumentError: the scale factor is not a positive number.
        DamagedError: the folder holds something else than complete data of this scale factor.
        SetupError: `tpchgen-cli` is missing or fails.

    """
    if not (math.isfinite(scale) and scale > 0):
        raise BadArgumentError(
            f"{scale} is not a TPC-H scale factor", instead="Give a number above 0, such as 0.01 or 1."
        )
    folder = folder or default_folder(scale)
    if _holds_complete_data(folder, scale):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f".{folder.name}.lock")):
        if not _holds_complete_data(folder, scale):  # another process may have made them while this one waited
            _generate(scale, folder)
    return folder


def _generate(scale: float, folder: Path) -> None:
    executable = _tpchgen()
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # left by a process that was killed; the lock says nobody writes here
    unfinished.mkdir()
    try:
        _run(executable, scale, unfinished)
        if not _holds_complete_data(unfinished, scale):
            raise SetupError(
                f"{executable} wrote no complete TPC-H data at scale factor {scale:g}",
                instead="Install it again: pip install --force-reinstall 'forward_lineage[tpch]'",
            )
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _run(executable: Path, scale: float, folder: Path) -> None:
    # Fixed notation: tpchgen-cli would read 1e-05, too, but a person reading the process list should not have to.
    command = [str(executable), "parquet", f"--scale-factor={scale:.12f}", f"--output-dir={folder}", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        with _progress(scale) as advance:
            complaint = _wait(process, lambda: advance(_bytes_in(folder)))
    except BaseException:  # Ctrl-C above all: the generator must not go on writing behind our back
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        last_words = complaint.strip() or f"exit code {process.returncode}"
        raise SetupError(
            f"tpchgen-cli failed at scale factor {scale:g}: {last_words}",
            instead=f"See that there is room for the data in {folder.parent}, or take a smaller scale factor.",
        )


def _wait(process: subprocess.Popen[str], meanwhile: Callable[[], None]) -> str:
    """Wait for the end of a process, looking up ten times a second; return what it wrote to its error stream."""
    while True:
        try:
            return process.communicate(timeout=0.1)[1]
        except subprocess.TimeoutExpired:
            meanwhile()


@contextmanager
def _progress(scale: float) -> Iterator[Callable[[int], None]]:
    """Show a bar of bytes written so far; the total is an estimate, so the bar may end a little early or late."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    quiet = scale < _ANNOUNCE_FROM
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        total = int(_BYTES_PER_SCALE * scale)
        task = progress.add_task(f"generating TPC-H data, scale factor {scale:g}", total=total)
        yield lambda written: progress.update(task, completed=min(written, total))


def _bytes_in(folder: Path) -> int:
    written = 0
    for file in folder.iterdir():
        try:
            written += file.stat().st_size
        except FileNotFoundError:  # renamed between the listing and here
            continue
    return written


def _tpchgen() -> Path:
    """Return the executable of this Python environment, else the one on PATH."""
    beside = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    found = shutil.which("tpchgen-cli", path=os.pathsep.join(beside)) or shutil.which("tpchgen-cli")
    if found is None:
        raise SetupError(
            "generating TPC-H data needs tpchgen-cli, and it is not installed",
            instead="Run: pip install 'forward_lineage[tpch]'",
        )
    return Path(found)


def _holds_complete_data(folder: Path, scale: float) -> bool:
    """Say whether the folder has all tables at this scale factor; False when it is not there or empty.

    Raises:
        DamagedError: it holds something, but not that.

    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    for table in TABLES.values():
        file = folder / f"{table.name}.parquet"
        expected = table.rows(scale)
        found = _rows(file)
        # The generator rounds fractions of a row on its own terms, hence the one row.
        if expected is not None and abs(found - expected) > 1:
            raise _not_ours(
                folder, f"{file.name} has {found:,} rows, not {expected:,} as scale factor {scale:g} asks for"
            )
    return True


def _rows(file: Path) -> int:
    try:
        return int(pq.read_metadata(file).num_rows)
    except FileNotFoundError:
        problem = f"{file.name} is missing"
    except (OSError, ValueError) as broken:  # pyarrow.ArrowInvalid is a ValueError
        problem = f"{file.name} cannot be read ({broken})"
    raise _not_ours(file.parent, problem)


def _not_ours(folder: Path, problem: str) -> DamagedError:
    return DamagedError(
        f"{folder} does not hold the TPC-H data wanted: {problem}",
        instead="Delete the folder to have it generated anew, or give another folder.",
    )


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold an exclusive lock; the operating system lets go of it when the process dies."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
