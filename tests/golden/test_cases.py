"""The fixture files themselves: their form, and that a mistake in one is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.cases import FIXTURES, head_of, read, write

FILES = sorted(FIXTURES.glob("*.golden"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_update_would_leave_a_file_as_it_is(file: Path, tmp_path: Path) -> None:
    """The layout is that of `python -m tests.golden.update`, so that an update shows only what has changed."""
    copy = tmp_path / file.name
    write(copy, head_of(file), read(file))
    assert copy.read_text(encoding="utf-8") == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("=== a\nSELECT 1\n--- rows data\n1\n", "rows or a refusal must be given for data and for control"),
        ("=== a\nSELECT 1\n--- row\n1\n", "unknown heading"),
        ("=== a\nSELECT 1\n--- rows\n1\n\n=== a\nSELECT 2\n--- rows\n2\n", "the same title twice"),
    ],
)
def test_a_mistake_is_noticed(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.golden"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        read(file)


def test_sections(tmp_path: Path) -> None:
    file = tmp_path / "right.golden"
    file.write_text(
        "=== a title\nSELECT ?\n--- args\n[1]\n--- rewritten\nSELECT\n  ?\n"
        "--- rows data in order\n2\n1\n--- refused control\nno\n",
        encoding="utf-8",
    )
    (case,) = read(file)
    assert (case.title, case.sql, case.args) == ("a title", "SELECT ?", [1])
    assert case.rewritten == {"data": "SELECT ?", "control": "SELECT ?"}
    assert case.since is None
    assert (case.rows, case.refused, case.in_order) == ({"data": ["2", "1"]}, {"control": "no"}, True)


def test_the_first_version_that_a_case_runs_in(tmp_path: Path) -> None:
    file = tmp_path / "new.golden"
    text = "=== a title\nSELECT 1\n--- since\n4.2: what is new: this\n--- rows\n1\n"
    file.write_text(text, encoding="utf-8")
    cases = read(file)
    assert [case.since for case in cases] == [("4.2", "what is new: this")]
    write(file, "", cases)
    assert file.read_text(encoding="utf-8") == text
