"""A user's own `udafs` or `rewrites` before ours: one line says which file it is and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forward_lineage
import udafs.errors
from forward_lineage.shadowing import BESIDE
from tests.conftest import REPOSITORY

STRANGERS = ("udafs.py", "udafs/__init__.py", "rewrites.py", "rewrites/__init__.py")
#: What the script that pip writes for a console command does.
COMMAND = "import sys; from forward_lineage.cli import main; sys.argv[1:] = ['--version']; main()"


def make(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("print('a stranger was imported')\n")
    return file


def python(folder: Path, *words: str, path: tuple[Path, ...] = (REPOSITORY,)) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def assert_says(done: subprocess.CompletedProcess[str], file: Path) -> None:
    name = file.relative_to(file.parents[file.name == "__init__.py"]).parts[0].removesuffix(".py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {file} hides the package {name} of forward_lineage. Rename it, or run from another folder."
    )


@pytest.mark.parametrize("stranger", STRANGERS)
def test_in_the_working_folder(tmp_path: Path, stranger: str) -> None:
    file = make(tmp_path / stranger)
    assert_says(python(tmp_path, "-c", "import forward_lineage"), file)


@pytest.mark.parametrize("stranger", STRANGERS)
def test_the_command_line(tmp_path: Path, stranger: str) -> None:
    file = make(tmp_path / stranger)
    assert_says(python(tmp_path, "-m", "forward_lineage", "--help"), file)


@pytest.mark.parametrize("stranger", STRANGERS)
def test_the_console_script(tmp_path: Path, stranger: str) -> None:
    """It looks beside itself, not in the working folder: a stranger there is in nobody's way."""
    work, script = tmp_path / "work", tmp_path / "forward-lineage"
    file = make(work / stranger)
    script.write_text(COMMAND)
    quiet = python(work, str(script))
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert_says(python(work, str(script), path=(work, REPOSITORY)), file)


def test_one_that_was_imported_before(tmp_path: Path) -> None:
    file = make(tmp_path / "elsewhere" / "udafs.py")
    lines = (
        f"import sys; sys.path.insert(0, {str(file.parent)!r}); import udafs; del sys.path[0]; import forward_lineage"
    )
    done = python(tmp_path, "-c", lines)
    assert f"ImportError: {file} hides the package udafs of forward_lineage" in done.stderr


def test_a_folder_of_other_things_hides_nothing(tmp_path: Path) -> None:
    """Python prefers a package with an `__init__.py` further down its path."""
    (tmp_path / "udafs").mkdir()
    assert python(tmp_path, "-c", "import forward_lineage").returncode == 0


def test_by_way_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "checkout").symlink_to(REPOSITORY)
    assert python(tmp_path, "-c", "import forward_lineage", path=(tmp_path / "checkout",)).returncode == 0


def test_ours_are_beside_us() -> None:
    assert {Path(sys.modules[name].__file__ or "").parent.parent for name in BESIDE} == {
        Path(forward_lineage.__file__).parent.parent
    }


def test_every_error_type_is_public() -> None:
    types = {
        name for name, each in vars(udafs.errors).items() if isinstance(each, type) and issubclass(each, Exception)
    }
    assert types <= set(forward_lineage.__all__)
