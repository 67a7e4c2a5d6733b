"""dbt in an environment of its own, made once: what it asks for does not go with what our tests ask for."""

from __future__ import annotations

import ast
import os
import subprocess
import venv
from pathlib import Path

from tests.structure import REPOSITORY

ENVIRONMENT = REPOSITORY / ".venvs" / "dbt"


class NoDbtError(Exception):
    """It cannot be installed here."""


def dbt() -> Path:
    """Return the program: $FORWARD_LINEAGE_DBT, else the one in an environment that is made if need be.

    Raises:
        NoDbtError: it cannot be installed; with what pip said last.

    """
    chosen = os.environ.get("FORWARD_LINEAGE_DBT")
    if chosen:
        return Path(chosen)
    program = ENVIRONMENT / "bin" / "dbt"
    if not program.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        command = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", *_wanted()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoDbtError(f"dbt cannot be installed: {done.stderr.strip()[-300:]}")
    return program


def _wanted() -> list[str]:
    """What the extra `dbt` asks for."""
    tree = ast.parse((REPOSITORY / "setup.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "DBT":
            return list(ast.literal_eval(node.value))
    raise AssertionError("setup.py has no DBT")
