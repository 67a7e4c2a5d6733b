"""Somebody who is new: ``python -m tests.newcomer [start/python.md …]``, as `make test-newcomer` does.

The wheel is built from the checkout, and each page is typed in as it stands, far from the checkout: in an empty folder
and a virtual environment of its own, with a home folder in which nothing was ever cached. So `pip` really installs, as
it is set up to, and PySpark is really downloaded. README is typed in in a copy of the checkout. Hidden setups, which
`page_reader` runs, are not: a page has to do with what a reader sees. What each command says and how long it takes is
printed.

A page fails where a reader would stumble: something ends in an error, prints a traceback or another thing than the page
shows; a command of ours says more on stderr than notes, or leaves a folder of Spark's behind.

`--wheels FOLDER` keeps downloaded packages there, to tell the download of Spark apart; `--keep` leaves the folders.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from forward_lineage.cli.answers import FOUND
from tests.markdown_pages import Block, blocks_of
from tests.structure import REPOSITORY

README = "README.md"
PAGES = (
    README,
    "start/command-line.md",
    "start/python.md",
    "start/notebook.md",
    "start/spark-sql.md",
    "command-line.md",
    "notebooks.md",
    "openlineage.md",
    "spark-sql-shell.md",
    "delta.md",
    "iceberg.md",
)
#: Folders that Spark makes where it is started: nobody asked a command for them.
_LEFT_BEHIND = ("spark-warehouse", "metastore_db", "derby.log", "artifacts")
#: What pages take for granted that no package index has.
_NEEDED = {"delta.md": "mvn", "iceberg.md": "mvn"}
_NEXT = "---- the next block ----"
#: What pages of docs/ that are not the first one take for granted.
_EXTRAS = {
    "command-line.md": "tpch,drawing",
    "notebooks.md": "notebook",
    "openlineage.md": "",
    "spark-sql-shell.md": "tpch",
}
_NO_SETTINGS = ("FORWARD_LINEAGE_HOME", "FORWARD_LINEAGE_DATA", "FORWARD_LINEAGE_CACHE", "PYTHONPATH", "VIRTUAL_ENV")
_PYSPARK = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")


@dataclass
class Newcomer:
    """Somebody with an empty folder.

    Attributes:
        folder: where commands are typed; `dist` in it has the wheel.
        wheels: a folder of packages that `pip` looks into first; None: there is none.
        took: what was typed → seconds.

    """

    folder: Path
    wheels: Path | None = None
    took: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "home").mkdir(parents=True)
        self.environment = {k: v for k, v in os.environ.items() if k not in (*_NO_SETTINGS, *_PYSPARK)}
        self.environment |= {"HOME": str(self.folder / "home"), "XDG_CACHE_HOME": str(self.folder / "home" / ".cache")}
        self.environment["PATH"] = f"{self.folder / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        if self.wheels is not None:
            known = self.environment.get("PIP_FIND_LINKS", "")
            self.environment["PIP_FIND_LINKS"] = f"{self.wheels} {known}".strip()

    def read(self, page: str) -> None:
        """Type a page in, from its first block to its last.

        Raises:
            CalledProcessError: something that was typed fails.
            StumbledError: it does other things than the page says.

        """
        self.type(f"{sys.executable} -m venv {self.folder / 'env'}")
        if page in _EXTRAS:
            (wheel,) = (self.folder / "dist").glob("*.whl")
            extras = f"[{_EXTRAS[page]}]" if _EXTRAS[page] else ""
            self.type(f"pip install 'dist/{wheel.name}{extras}'")
        file = REPOSITORY / page if page == README else REPOSITORY / "docs" / page
        self.type_all(blocks_of(file.read_text(encoding="utf-8")))

    def type_all(self, blocks: list[Block]) -> None:
        """Type the blocks of a page, those of Python behind all others, in one session, as a reader would have it.

        Raises:
            CalledProcessError: something that was typed fails.
            StumbledError: it does other things than the page says.

        """
        python: list[Block] = []
        shown: dict[int, Block] = {}  # number of a block of Python → what the page says that it prints
        printed: str | int | None = None  # by the block before; its number, if it will be known later
        for block in blocks:
            name = block.info.partition(" ")[2]
            before, printed = printed, None
            if block.kind == "code" and block.language and Path(name).suffix == f".{block.language}":
                (self.place / name).write_text(block.text, encoding="utf-8")
            elif block.kind == "code" and block.language == "bash":
                printed = "".join(self.type(command) for command in block.commands())
            elif block.kind == "code" and block.language == "python":
                printed = len(python)
                python.append(block)
            elif (block.kind == "table" or block.language == "text") and isinstance(before, str):
                _compare(block, before)
            elif (block.kind == "table" or block.language == "text") and before is not None:
                shown[before] = block
        if python:
            self._type_python(python, shown)

    def _type_python(self, blocks: list[Block], shown: dict[int, Block]) -> None:
        program = self.place / "page.ipy"
        program.write_text("".join(f"{_cell(each)}print({_NEXT!r})\n" for each in blocks), encoding="utf-8")
        notebook = any("%load_ext" in each.text for each in blocks)
        printed = self.type("ipython --no-banner --colors=NoColor page.ipy" if notebook else "python page.ipy")
        for number, block in shown.items():
            _compare(block, printed.split(_NEXT)[number])

    @property
    def place(self) -> Path:
        """The folder in which things are typed: README's reader has a copy of the checkout."""
        checkout = self.folder / "checkout"
        return checkout if checkout.exists() else self.folder

    def type(self, command: str) -> str:
        """Type a command; returns what it prints."""
        print(f"$ {command}", flush=True)
        began = time.monotonic()
        shell = ["bash", "-ec", command]
        there = {name for name in _LEFT_BEHIND if (self.place / name).exists()}
        done = subprocess.run(
            shell, cwd=self.place, env=self.environment, capture_output=True, text=True, check=False, timeout=1800
        )
        seconds = time.monotonic() - began
        self.took.append((command, seconds))
        quiet = command.startswith("pip ")
        said = (done.stdout if not quiet else "\n".join(done.stdout.splitlines()[-1:])) + done.stderr
        print(said.rstrip(), f"({seconds:.1f} s)", sep="\n", flush=True)
        if not (done.returncode == FOUND and "--exit-code" in command):
            done.check_returncode()
        left = {name for name in _LEFT_BEHIND if (self.place / name).exists()} - there
        _check_quiet(command, done, left)
        return done.stdout


class StumbledError(Exception):
    """A page says one thing, and what it says to type does another."""


def _check_quiet(command: str, done: subprocess.CompletedProcess[str], left: set[str]) -> None:
    """Check that a command frightens nobody: no traceback, and if it is ours, notes alone and nothing left behind."""
    if "Traceback (most recent call last)" in done.stdout + done.stderr:
        raise StumbledError(f"{command} prints a traceback")
    if not command.startswith("forward-lineage "):
        return
    noise = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    if noise or left:
        raise StumbledError(f"{command} says {noise[0]!r} on stderr" if noise else f"{command} leaves {sorted(left)}")


def _compare(block: Block, printed: str) -> None:
    if not block.shows(printed):
        raise StumbledError(f"line {block.line} of the page shows another thing than\n{printed}")


def copy_checkout(to: Path) -> Path:
    """Copy the checkout without what was made in it: setuptools leaves a folder `build`, which a later wheel finds."""
    ignored = shutil.ignore_patterns(".git", ".venv*", ".data", "site", "build", "*.egg-info", ".hypothesis", "dist")
    return Path(shutil.copytree(REPOSITORY, to, ignore=ignored, symlinks=True))


def _cell(block: Block) -> str:
    """A block as a shell of Python shows it: the value of its last line is printed."""
    is_cell = block.info == "python notebook"
    return f"get_ipython().run_cell({block.text!r}).raise_error()\n" if is_cell else f"{block.text}\n"


def build_wheel(into: Path) -> Path:
    """Build the wheel as README says, into `into`; return it."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(into), "."]
    with tempfile.TemporaryDirectory() as copy:
        subprocess.run(pip, cwd=copy_checkout(Path(copy) / "checkout"), check=True)
    (wheel,) = into.glob("forward_lineage-*.whl")
    return wheel


def main(arguments: Sequence[str]) -> int:
    """Read the pages, one newcomer each; return how many could not be read to the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.newcomer")
    parser.add_argument("pages", nargs="*", default=list(PAGES))
    parser.add_argument("--wheels", type=Path, help="a folder of packages that pip looks into first")
    parser.add_argument("--keep", action="store_true", help="leave the folders, and say where they are")
    wanted = parser.parse_args(arguments)
    place = Path(tempfile.mkdtemp(prefix="newcomer-"))
    failed: list[str] = []
    try:
        build_wheel(place / "dist")
        for number, page in enumerate(wanted.pages):
            print(f"\n## {page}\n", flush=True)
            if (needed := _NEEDED.get(page)) is not None and shutil.which(needed) is None:
                print(f"left out: there is no {needed} on PATH")
                continue
            newcomer = Newcomer(place / str(number), wanted.wheels and wanted.wheels.absolute())
            if page == README:
                copy_checkout(newcomer.folder / "checkout")
            else:
                (newcomer.folder / "dist").symlink_to(place / "dist")
            try:
                newcomer.read(page)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired, StumbledError) as error:
                failed.append(f"{page}: {error}")
            if not wanted.keep:
                shutil.rmtree(newcomer.folder / "env")
    finally:
        print(f"\nkept: {place}" if wanted.keep else "")
        if not wanted.keep:
            shutil.rmtree(place)
    print(*(failed or ["All pages can be typed in."]), sep="\n")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
