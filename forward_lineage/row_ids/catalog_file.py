"""A catalog file: tables and how each is registered, in TOML. An entry has the arguments of `ForwardLineage.register`.

[sales]
path = "sales.csv"                      # relative to the file's folder
format = "csv"
options = {header = true, inferSchema = true}

[part]
path = "part.parquet"
key = "p_partkey"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forward_lineage.row_ids.registration_request import Request
from forward_lineage.spark.paths import is_address
from udafs.errors import BadArgumentError, LineageError

ENTRY = (
    "An entry is a table of TOML with the arguments of register: path, key, order_by, row_id, source, format, options, "
    "trusted, hashes."
)
#: Arguments that a request has under another name.
_FIELDS = {"format": "file_format"}


@dataclass(frozen=True)
class Entry:
    """A table in a catalog file.

    Attributes:
        name: what queries will call it.
        arguments: of `ForwardLineage.register`; paths are absolute, or addresses.

    """

    name: str
    arguments: dict[str, Any]

    @property
    def request(self) -> Request:
        """The same as a request."""
        return Request(self.name, **{_FIELDS.get(word, word): value for word, value in self.arguments.items()})


def read_catalog_file(file: Path) -> list[Entry]:
    """Return the entries of a catalog file, in its order, each checked as far as that goes without reading anything.

    Raises:
        BadArgumentError: the file is missing or is not TOML, or an entry says what none can say.

    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadArgumentError(f"there is no catalog file {file}", instead=f"Write one. {ENTRY}") from None
    except (OSError, ValueError) as error:
        raise BadArgumentError(f"{file} cannot be read as TOML: {error}", instead=ENTRY) from None
    return [_entry(file, name, said) for name, said in data.items()]


def arguments_of(request: Request) -> dict[str, Any]:
    """Return the arguments of `ForwardLineage.register` that a request has, but for the name."""
    said = {key: value for key, value in vars(request).items() if key not in ("name", "file_format")}
    return {**said, "format": request.file_format}


def _entry(file: Path, name: str, said: object) -> Entry:
    where = f"the entry {name} of {file}"
    if not isinstance(said, Mapping):
        raise BadArgumentError(f"{where} is not a table of TOML", instead=ENTRY)
    strange = [key for key in said if key not in _KINDS]
    if strange and isinstance(said[strange[0]], Mapping):
        name_in_quotes = f'["{name}.{strange[0]}"]'
        raise BadArgumentError(
            f"{where} has a table {strange[0]} in it", instead=f"A name with a dot: {name_in_quotes}."
        )
    if strange:
        raise BadArgumentError(f"{where} says {strange[0]}, which register does not know", instead=ENTRY)
    for key, value in said.items():
        fits, kind = _KINDS[key]
        if not fits(value):
            raise BadArgumentError(f"{where} says {key} = {value!r}, which is not {kind}", instead=ENTRY)
    arguments = dict(said)
    if "path" in arguments:
        arguments["path"] = _placed(file.parent, arguments["path"])
    entry = Entry(name, arguments)
    try:
        entry.request.check()
    except LineageError as error:
        raise BadArgumentError(f"{where}: {error.what}", instead=error.instead) from None
    return entry


def _placed(folder: Path, path: str | list[str]) -> str | list[str]:
    if isinstance(path, list):
        return [str(_placed(folder, each)) for each in path]
    return path if is_address(path) else str(folder.absolute() / path)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_text_or_list(value: object) -> bool:
    return _is_text(value) or (isinstance(value, list) and bool(value) and all(map(_is_text, value)))


def _is_options(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str | bool | int | float) for each in value.values())


_KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "path": (_is_text_or_list, "text or a list of texts"),
    "key": (_is_text_or_list, "text or a list of texts"),
    "order_by": (_is_text_or_list, "text or a list of texts"),
    "row_id": (_is_text, "text"),
    "source": (_is_text, "text"),
    "format": (_is_text, "text"),
    "options": (_is_options, "a table of texts, numbers and truth values"),
    "trusted": (lambda value: isinstance(value, bool), "true or false"),
    "hashes": (lambda value: isinstance(value, bool), "true or false"),
}
