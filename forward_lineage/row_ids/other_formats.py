"""Files that are named like another format than Parquet, and are none: said before anything tries to read them so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forward_lineage.spark.paths import is_local, local_path
from udafs.errors import BadArgumentError

#: How the format of a file is called by Spark's readers, by the end of its name, that of compression aside.
_FORMATS = {
    ".csv": ("csv", 'options={"header": True}'),
    ".tsv": ("csv", 'options={"header": True, "sep": "\\t"}'),
    ".json": ("json", ""),
    ".jsonl": ("json", ""),
    ".orc": ("orc", ""),
    ".txt": ("text", ""),
    ".xml": ("xml", 'options={"rowTag": "…"}'),
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
_OF_ICEBERG = ".metadata.json"  # which says where a table's Parquet files are
_PARQUET = (b"PAR1", b"PARE")


def refuse_other_formats(name: str, paths: Sequence[str | Path]) -> None:
    """See to it that local files which are to be read as Parquet are not of another format by name and by content.

    Args:
        name: what the table will be called.
        paths: files, folders, patterns or addresses; of the latter two nothing is known.

    Raises:
        BadArgumentError: one is; the message has the call that reads it.

    """
    for path in paths:
        file = _other(path)
        if file is not None:
            form, options = _FORMATS[_ending(file)]
            words = ", ".join(each for each in (f'format="{form}"', options) if each)
            raise BadArgumentError(
                f"{file} is {form.upper()} by its name, and no Parquet file",
                instead=f'Say so: lineage.register("{name}", path="{path}", {words}); in the shell --format {form}.',
            )


def _other(path: str | Path) -> Path | None:
    """The first file that is named like another format and does not begin like Parquet."""
    if not is_local(str(path)):
        return None
    place = local_path(str(path))
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        named = [file for file in files if _ending(file) in _FORMATS and not file.name.startswith((".", "_"))]
        named = [file for file in named if not file.name.endswith(_OF_ICEBERG)]
        return next((file for file in named if file.is_file() and not _begins_like_parquet(file)), None)
    except (OSError, ValueError):  # said by whoever reads it
        return None


def _ending(file: Path) -> str:
    name = file.with_suffix("") if file.suffix.lower() in _COMPRESSED else file
    return name.suffix.lower()


def _begins_like_parquet(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) in _PARQUET
