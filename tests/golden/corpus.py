"""The fixtures as a folder of SQL files, for `forward-lineage check`: ``python -m tests.golden.corpus FOLDER``.

Each fixture file becomes one that makes its tables and then has its cases, one after another. Cases with parameters are
left out: a script has nowhere to give their values; and so are tables that carry lineage, and what this Spark lacks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.cases import Case, read_all
from tests.golden.tables import statements
from udafs.build import spark_version
from udafs.versions import check_version


def write(folder: Path) -> dict[str, Case]:
    """Write the fixtures' SQL.

    Args:
        folder: where to; it is made.

    Returns:
        the cases by their place, ``<file>:<line>``.

    """
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {}
    places: dict[str, Case] = {}
    for case in read_all():
        if case.args is not None or case.file.stem == "stored_tables":  # they are made by other means than SQL alone
            continue
        if case.since is not None and check_version(spark_version()) < check_version(case.since[0]):
            continue
        name = f"{case.file.stem}.sql"
        text = texts.get(name) or "".join(f"{each};\n" for each in ("USE default", *statements()))
        places[f"{name}:{text.count(chr(10)) + 1}"] = case
        texts[name] = f"{text}{_without_blanks(case.sql)}\n;\n"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return places


def _without_blanks(sql: str) -> str:
    return sql.strip().rstrip(";")


if __name__ == "__main__":
    print(len(write(Path(sys.argv[1]))), "statements")
