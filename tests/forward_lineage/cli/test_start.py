"""How a command starts: what it does not need is not imported, and another PySpark is refused all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forward_lineage
from tests.conftest import REPOSITORY

HEAVY = ("sqlglot", "matplotlib", "bokeh", "z3", "forward_lineage.session", "forward_lineage.frontend", "pandas")
_ASKED = """
import sys
from forward_lineage.cli import main
try:
    main({words}, standalone_mode=False)
except Exception as error:
    print(type(error).__name__)
print(sorted(name for name in {heavy} if name in sys.modules))
"""


def python(code: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), "FORWARD_LINEAGE_HOME": str(home), **environment}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=home.parent, env=variables)


@pytest.mark.parametrize(
    "words",
    [["ls"], ["ls", "--tables"], ["--help"], ["describe", "x"], ["impact", "x"], ["backward", "x"], ["stale"]],
    ids=" ".join,
)
def test_a_command_without_spark_imports_little(tmp_path: Path, words: list[str]) -> None:
    done = python(_ASKED.format(words=words, heavy=HEAVY), tmp_path / "home")
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_the_public_names_are_there() -> None:
    for name in set(forward_lineage.__all__) - {"__version__"}:
        assert getattr(forward_lineage, name).__name__ == name
    assert set(forward_lineage.__all__) <= set(dir(forward_lineage))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = forward_lineage.nothing


def test_the_rooms_are_there(tmp_path: Path) -> None:
    done = python("import forward_lineage; print(forward_lineage.session.ForwardLineage.__name__)", tmp_path / "home")
    assert done.stdout == "ForwardLineage\n", done.stderr


@pytest.mark.parametrize("said", ['__version__: str = "3.4.1"', "__version__ = '9.0.0'"])
def test_another_pyspark_is_refused_before_anything_is_imported(tmp_path: Path, said: str) -> None:
    package = tmp_path / "other" / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "version.py").write_text(said + "\n")
    done = python("import forward_lineage", tmp_path / "home", PYTHONPATH=f"{package.parent}{os.pathsep}{REPOSITORY}")
    assert done.returncode == 1
    assert "and forward_lineage works with Spark" in done.stderr.splitlines()[-1]
