"""Settings of Spark that a new session would have and that may change what a condition means."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

from forward_lineage.embedded.needs_spark import NeedsSpark

#: Of SQL: what names, literals, types and files are read as.
_OF_SQL = re.compile(r"spark\.(?:sql|hadoop\.parquet)\.[\w.]+")
_WORDS = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "SPARK_REMOTE")


def refuse_settings() -> None:
    """See to it that nobody has set anything of SQL for all sessions.

    Raises:
        NeedsSpark: somebody has; it is Spark that knows what it does.

    """
    for where, said in _said():
        if found := _OF_SQL.search(said):
            raise NeedsSpark(f"{found[0]}, which {where} sets")
    if os.environ.get("SPARK_REMOTE"):
        raise NeedsSpark("the server that SPARK_REMOTE names")


def _said() -> list[tuple[str, str]]:
    said = [(word, os.environ[word]) for word in _WORDS if word in os.environ]
    for file in {folder / "spark-defaults.conf" for folder in _folders()}:
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            said.append((str(file), "\n".join(line for line in lines if not line.lstrip().startswith("#"))))
    return said


def _folders() -> list[Path]:
    """Where Spark looks for its settings: where it is told to, and beside itself."""
    given = [Path(os.environ[word]) for word in ("SPARK_CONF_DIR",) if os.environ.get(word)]
    homes = [os.environ["SPARK_HOME"]] if os.environ.get("SPARK_HOME") else []
    spec = find_spec("pyspark")
    homes += (spec.submodule_search_locations if spec is not None else None) or []
    return [*given, *(Path(home) / "conf" for home in homes)]
