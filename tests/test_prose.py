"""What `python -m tests.prose` takes for prose, and which sentences it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import prose

PAGE = """# What is a heading

What is not traced is refused. Short, as it was.

```python
what = "is in code"
```

<!-- setup
whose = "is hidden"
-->

| what is in a table | is none |

- {long}
1. What is this?
"""
LONG = " ".join(["word"] * 26) + "."


def test_a_page_is_read_without_code_tables_and_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(long=LONG))
    found = prose.count([page])
    assert [(each.place.rpartition(":")[2], each.signs) for each in found.stumbles] == [
        ("3", ("clause",)),
        ("3", ("pointing",)),
        ("15", ("long",)),
    ]
    assert found.words == 6 + 4 + 26 + 3


def test_docstrings_are_read_and_code_is_not(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(f'def f():\n    """Fine.\n\n    {LONG}\n\n    >>> {LONG}\n    """\n    # {LONG}\n')
    assert [each.signs for each in prose.count([module]).stumbles] == [("long",)]


@pytest.mark.parametrize(
    ("words", "signs"), [("[{} a](page.md)", ("long",)), ("`{}` is one word.", ()), ("Whose is it? Ours.", ())]
)
def test_a_link_counts_as_its_text_and_code_as_one_word(words: str, signs: tuple[str, ...], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(words.format(LONG) + "\n")
    assert tuple(sign for each in prose.count([page]).stumbles for sign in each.signs) == signs


def test_too_many_are_told_with_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text(LONG + "\n")
    monkeypatch.setattr(prose, "REPOSITORY", tmp_path)
    monkeypatch.setattr(prose, "LIMITS", {"pages": (("*.md",), (3.0, 0.5, 0.5))})
    said = prose.above_limits()
    assert said[0] == "pages: long 38.46 of 1,000 words, at most 3.0 are allowed"
    assert said[1].startswith("  page.md:1 long (26 words): word")
