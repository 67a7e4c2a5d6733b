"""The text of manifests: what is written to the byte, and that no damage goes unnoticed."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.storage.sealed import FORMAT, seal, unseal
from udafs.errors import SetupError

SMALL = {"name": "ä", "n": 12, "files": [{"path": "x\n", "rows": 3}, {"path": "y", "rows": 2}], "none": []}
WRITTEN = """{
 "format": 2,
 "name": "ä",
 "n": 12,
 "files": [
  {"path": "x\\n", "rows": 3},
  {"path": "y", "rows": 2}
 ],
 "none": [],
 "checksum": 4036250534
}
"""
DAMAGED = (ValueError, TypeError, KeyError, AttributeError)  # what `unseal` says of damage; SetupError is none of them


def test_to_the_byte() -> None:
    """Other programs read this text: the kernel does. It may gain fields and formats, and never changes else."""
    assert seal(SMALL).decode() == WRITTEN
    body = WRITTEN.encode()[: WRITTEN.encode().rindex(b',\n "checksum"')]
    assert zlib.crc32(body) == json.loads(WRITTEN)["checksum"]
    assert unseal(seal(SMALL), "x") == {"format": FORMAT, **SMALL}


def test_no_flipped_byte_goes_unnoticed() -> None:
    data = seal(SMALL)
    first_format = data.index(b"2"), ord("1")
    for at, old in enumerate(data):
        for new in set(range(256)) - {old}:
            damaged = data[:at] + bytes([new]) + data[at + 1 :]
            if (at, new) == first_format:
                assert "checksum" in unseal(damaged, "x"), "for the reader to refuse: format 1 has none, or another"
                continue
            with pytest.raises(DAMAGED):
                unseal(damaged, "x")


def test_no_missing_and_no_added_byte_goes_unnoticed() -> None:
    data = seal(SMALL)
    for at in range(len(data)):
        for damaged in (data[:at], data[at + 1 :], data[:at] + data[at + 1 :], data[:at] + b" " + data[at:]):
            with pytest.raises(DAMAGED):
                unseal(damaged, "x")
    for more in (b" ", b"\n", b"\0", data):
        with pytest.raises(DAMAGED):
            unseal(data + more, "x")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[1, 2]", "null", "7", '"format"', "{}", '{"format": null}', '{"format": "2"}', '{"format": 0}',
        '{"format": true}', '{"format": 2.0}', '{"format": -1}', '{"format": 2}', '{"format": 2, "checksum": 0}',
        '{"format": 2,\n "checksum": 0\n}\n', "\x00\x01",
    ],
)  # fmt: skip
def test_what_is_no_manifest(text: str) -> None:
    with pytest.raises(DAMAGED):
        unseal(text.encode(), "x")


@pytest.mark.parametrize("text", [seal({"format": 4, "other": [1]}), b'{"format": 4}', b'{"sha": 1, "format": 99}\n\n'])
def test_a_later_format_is_refused(text: bytes) -> None:
    with pytest.raises(SetupError, match=r"^here has manifest format (4|99), this release reads up to 2\. Use the rel"):
        unseal(text, "here")


def test_a_damaged_format_is_not_taken_for_a_later_one() -> None:
    with pytest.raises(ValueError, match="checksum"):
        unseal(seal(SMALL).replace(b'"format": 2', b'"format": 3'), "x")


def test_the_first_format_has_no_seal() -> None:
    text = '{\n "format": 1,\n "rows": 3,\n "checksum": 5\n}\n'
    assert unseal(text.encode(), "x") == {"format": 1, "rows": 3, "checksum": 5}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\n\"',é"), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abc,\n\"' "), JSON, max_size=5))
def test_there_and_back(fields: dict[str, Any]) -> None:
    data = seal(fields)
    assert unseal(data, "x") == {"format": FORMAT, **fields}
    assert json.loads(data) == {"format": FORMAT, **fields, "checksum": json.loads(data)["checksum"]}
