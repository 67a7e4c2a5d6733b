"""Sessions that cannot be the suite's: they are programs of their own, which say what they have compared."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.lakes.engines import ASKED, NoEngineError, fetched
from tests.structure import REPOSITORY


def run_module(module: str, artifact: str) -> str:
    """Run a module that needs a jar, and return what it has printed; where there is no jar, skip.

    Args:
        module: what ``python -m`` runs.
        artifact: Maven's name of the jar.

    """
    if os.environ.get(ASKED) != "1":
        pytest.skip(f"make test-lakes runs it, with {artifact}")
    try:
        fetched(artifact)
    except NoEngineError as error:
        pytest.skip(str(error))
    return run_program(module)


def run_program(module: str, *arguments: str) -> str:
    """Run a module with arguments, and return what it has printed."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
