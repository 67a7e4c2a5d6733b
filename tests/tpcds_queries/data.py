"""TPC-DS data as Parquet files, and its queries in Spark's dialect: made by DuckDB's extension, once a scale.

    python -m tests.tpcds_queries.data --scale 1

The extension fits one version of DuckDB, so both are installed into a folder of their own, beside the data.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

_DUCKDB = "1.5.5"
_PACKAGES = (f"duckdb=={_DUCKDB}", f"duckdb-extension-tpcds=={_DUCKDB}")
TEXTS = "queries.json"
"""The file of a folder that has the texts as DuckDB has them, by name."""

# Runs in a process of its own, whose DuckDB is the one that the extension fits.
_WRITER = """
import json, pathlib, sys
import duckdb, duckdb_extension_tpcds
folder, scale = pathlib.Path(sys.argv[1]), float(sys.argv[2])
extension = next(pathlib.Path(duckdb_extension_tpcds.__file__).parent.glob("extensions/*/*"))
base = duckdb.connect(str(folder / "base.duckdb"), config={"allow_unsigned_extensions": "true", "threads": "2"})
base.execute(f"LOAD '{extension}'")
base.execute(f"CALL dsdgen(sf={scale})")
for (table,) in base.execute("SHOW TABLES").fetchall():
    base.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet, COMPRESSION snappy)")
texts = base.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall()
(folder / sys.argv[3]).write_text(json.dumps({f"q{number:02}": text for number, text in texts}, indent=1))
base.close()
(folder / "base.duckdb").unlink()
"""


def default_folder(scale: float) -> Path:
    """Return where the data live: `$FORWARD_LINEAGE_DATA/tpcds/sf<scale>`, else under `./.data`."""
    root = os.environ.get("FORWARD_LINEAGE_DATA")
    return (Path(root) if root else Path.cwd() / ".data") / "tpcds" / f"sf{scale:g}"


def generate(scale: float = 1, folder: Path | None = None) -> Path:
    """Return a folder with the tables as `<table>.parquet`, made if it is not there.

    Args:
        scale: 1 is about a gigabyte of text, 2.9 million rows of store_sales; as little as 0.001 will do.
        folder: `default_folder(scale)` when not given.

    """
    folder = folder or default_folder(scale)
    if (folder / TEXTS).exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    packages = _packages(folder.parent / f"duckdb-{_DUCKDB}")
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        command = [sys.executable, "-c", _WRITER, str(unfinished), str(scale), TEXTS]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(packages)}, check=True)
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def texts_of_duckdb(folder: Path) -> dict[str, str]:
    """Return the queries as DuckDB has them, by name: `q01` … `q99`."""
    return dict(json.loads((folder / TEXTS).read_text(encoding="utf-8")))


def _packages(folder: Path) -> Path:
    if not folder.exists():
        unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(unfinished), *_PACKAGES]
        subprocess.run(pip, check=True)
        unfinished.replace(folder)
    return folder


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--scale", default=1.0, show_default=True)
def main(scale: float) -> None:
    """Make them, and say where."""
    click.echo(generate(scale))


if __name__ == "__main__":
    main()
