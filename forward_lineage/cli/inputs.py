"""What commands read: SQL from a file or standard input, a catalog from JSON or a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from forward_lineage.catalog import Catalog
from udafs.errors import BadArgumentError


def read_sql(file: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        BadArgumentError: the file cannot be read.

    """
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadArgumentError(
            f"{file} cannot be read: {reason}", instead="Give a text file with one statement, or - for standard input."
        ) from None


def read_catalog(path: Path) -> Catalog:
    """Return the catalog in a JSON file or a folder of Parquet files.

    Raises:
        LineageError: it is neither.

    """
    return Catalog.from_parquet(path) if path.is_dir() else Catalog.from_json(path)
