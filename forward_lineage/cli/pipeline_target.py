"""`forward-lineage run pipeline.py:TARGET`: a step of a file of Python, and what was done to have it."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from forward_lineage.cli.plain_text import in_one_line
from udafs.errors import BadArgumentError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from forward_lineage.session import ForwardLineage

_TARGET = re.compile(r"(?P<file>.+\.py):(?P<step>\w+)")


def is_target(file: str) -> bool:
    """Return whether an argument names a step of a file of Python, as ``pipeline.py:report`` does."""
    return _TARGET.fullmatch(file) is not None


def run_target(file: str, lineage: ForwardLineage) -> DataFrame | None:
    """Run a pipeline for one step, and say on standard error what was done.

    Args:
        file: ``pipeline.py:TARGET``.
        lineage: the session.

    Returns:
        the rows of the step; None if it has a value, which was shown.

    Raises:
        BadArgumentError: there is no such file, or no such step in it.
        LineageError: as for `Pipeline.run`.

    """
    from forward_lineage.session.step_rows import StepRows  # noqa: PLC0415 - Spark is there by now

    found = _TARGET.fullmatch(file)
    assert found is not None
    outcome = lineage.pipeline(_module(Path(found["file"]))).run(found["step"])
    value = outcome[found["step"]]
    said = [f"rows are in {value.name}"] if isinstance(value, StepRows) else []
    for line in [*str(outcome).splitlines(), *said]:
        click.echo(in_one_line(line), err=True)
    if isinstance(value, StepRows):
        return lineage.result(value.name)
    click.echo(in_one_line(_text(value)))
    return None


def _module(file: Path) -> ModuleType:
    """Import a file as `python file` would find its neighbours."""
    if not file.is_file():
        raise BadArgumentError(f"there is no file {file}", instead="Name a file of Python, and a step of it.")
    name = file.stem
    sys.path.insert(0, str(file.resolve().parent))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)
