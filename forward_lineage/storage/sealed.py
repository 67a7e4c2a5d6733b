r"""The text that manifests are kept in: a JSON object that ends with a checksum of all that stands before it.

    {
     "format": 2,
     "name": "sales",
     "files": [
      {"path": "/data/a.parquet", "rows": 3},
      {"path": "/data/b.parquet", "rows": 2}
     ],
     "checksum": 3735928559
    }

The checksum is the CRC-32, in decimal, of the bytes of the file before ``,\n "checksum"``; the file ends with
``,\n "checksum": <decimal>\n}\n``. So a reader checks the bytes themselves, in any language, and no flipped or missing
byte goes unnoticed. The content of the object is the business of those who write it.

Formats are append-only. Format 1 has no seal of its own (registrations had no checksum, saved results one of their own
making) and is still read. Formats 3 and 4 are format 2 with fields that earlier readers must not pass over, such as
files of a table that are not local. Their writers say so. A later format either keeps this seal or ends in another way.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from udafs.errors import SetupError

FORMAT = 2  # of what is written, unless its fields say a later one
_UNSEALED = 1
_SEAL = re.compile(rb',\n "checksum": ([0-9]{1,10})\n}\n\Z')
_LONGEST_SEAL = 32
_json = json.JSONEncoder(ensure_ascii=False).encode


def seal(fields: Mapping[str, Any]) -> bytes:
    """Write JSON-able fields, none called `checksum`, one perhaps `format`; a list of objects has one a line."""
    lines = (f" {_json(name)}: {_laid_out(value)}" for name, value in {"format": FORMAT, **fields}.items())
    body = ("{\n" + ",\n".join(lines)).encode()
    return body + b',\n "checksum": %d\n}\n' % zlib.crc32(body)


def unseal(data: bytes, where: str, latest: int = FORMAT) -> dict[str, Any]:
    """Return the fields of an object, its format among them; of format 1 also a checksum that nobody looked at.

    Args:
        data: what `seal` wrote, or an earlier release.
        where: its file, for messages.
        latest: the last format that there is of its kind of object; a later one is refused.

    Raises:
        ValueError: it is damaged or cut short, or names something twice; so may be a KeyError or TypeError.
        SetupError: a later release wrote it.

    """
    fields = _json_object(data)
    version = fields["format"]
    if type(version) is not int or version < _UNSEALED:
        raise ValueError("no format")
    if version == _UNSEALED:
        return fields
    found = _SEAL.search(data, max(0, len(data) - _LONGEST_SEAL))
    # Looked at before the format is believed: the format may be what is damaged.
    if found and zlib.crc32(memoryview(data)[: found.start()]) != int(found[1]):
        raise ValueError("checksum")
    if version > latest:
        raise SetupError(
            f"{where} has manifest format {version}, this release reads up to {latest}",
            instead="Use the release that wrote it, or a later one.",
        )
    if not found:
        raise ValueError("no seal")
    del fields["checksum"]
    return fields


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = _decoder.decode(data.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A field that is named twice means one thing to one reader and another to the next."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_no_number)


def _laid_out(value: Any) -> str:
    if isinstance(value, list | tuple) and value and all(isinstance(each, dict) for each in value):
        return "[\n" + ",\n".join(f"  {_json(each)}" for each in value) + "\n ]"
    return _json(value)
