"""Somebody who is new: ``python -m tests.newcomer [start/python.md …]``, as `make test-newcomer` does.

The wheel is built from the checkout, and each page is typed in as it stands, far from the checkout: in an empty folder
and a virtual environment of its own, with a home folder in which nothing was ever cached. So `pip` really installs, as
it is set up to, and PySpark is really downloaded. Hidden setups, which `page_reader` runs, are not: a page has to
do with what a reader sees. What each command says and how long it takes is printed.

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

PAGES = (
    "start/command-line.md",
    "start/python.md",
    "start/notebook.md",
    "start/spark-sql.md",
    "command-line.md",
    "notebooks.md",
    "openlineage.md",
    "spark-sql-shell.md",
)
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

        """
        self.type(f"{sys.executable} -m venv env")
        if page in _EXTRAS:
            (wheel,) = (self.folder / "dist").glob("*.whl")
            extras = f"[{_EXTRAS[page]}]" if _EXTRAS[page] else ""
            self.type(f"pip install 'dist/{wheel.name}{extras}'")
        python: list[str] = []
        for block in blocks_of((REPOSITORY / "docs" / page).read_text(encoding="utf-8")):
            name = block.info.partition(" ")[2]
            if block.kind == "code" and block.language and Path(name).suffix == f".{block.language}":
                (self.folder / name).write_text(block.text, encoding="utf-8")
            elif block.kind == "code" and block.language == "bash":
                for command in block.commands():
                    self.type(command)
            elif block.kind == "code" and block.language == "python":
                python.append(_cell(block))
        if python:  # one session, as a reader would have it
            program = self.folder / "page.ipy"
            program.write_text("".join(python), encoding="utf-8")
            notebook = any("%load_ext" in cell for cell in python)
            self.type("ipython --no-banner --colors=NoColor page.ipy" if notebook else "python page.ipy")

    def type(self, command: str) -> None:
        """Type a command."""
        print(f"$ {command}", flush=True)
        began = time.monotonic()
        shell = ["bash", "-ec", command]
        done = subprocess.run(
            shell, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=1800
        )
        seconds = time.monotonic() - began
        self.took.append((command, seconds))
        quiet = command.startswith("pip ")
        said = (done.stdout if not quiet else "\n".join(done.stdout.splitlines()[-1:])) + done.stderr
        print(said.rstrip(), f"({seconds:.1f} s)", sep="\n", flush=True)
        if not (done.returncode == FOUND and "--exit-code" in command):
            done.check_returncode()


def _cell(block: Block) -> str:
    """A block as a shell of Python shows it: the value of its last line is printed."""
    is_cell = block.info == "python notebook"
    return f"get_ipython().run_cell({block.text!r}).raise_error()\n" if is_cell else f"{block.text}\n"


def build_wheel(into: Path) -> Path:
    """Build the wheel as README says, into `into`; return it."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(into), "."]
    with tempfile.TemporaryDirectory() as copy:  # setuptools leaves a folder `build` behind, which a later wheel finds
        ignored = shutil.ignore_patterns(".git", ".venv*", ".data", "site", "build", "*.egg-info", ".hypothesis")
        source = shutil.copytree(REPOSITORY, Path(copy) / "checkout", ignore=ignored, symlinks=True)
        subprocess.run(pip, cwd=source, check=True)
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
            newcomer = Newcomer(place / str(number), wanted.wheels and wanted.wheels.absolute())
            (newcomer.folder / "dist").symlink_to(place / "dist")
            try:
                newcomer.read(page)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
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
