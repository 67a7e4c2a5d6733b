"""A page that does other things than it says fails where somebody who is new would stumble."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.markdown_pages import blocks_of
from tests.newcomer import Newcomer, StumbledError

_GREETS = "```bash\necho hello\n```\n\n```text\n{}\n```\n"
_OURS = "```bash\nforward-lineage ls{}\n```\n"


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    made = Newcomer(tmp_path / "newcomer")
    bin_folder = made.folder / "env" / "bin"
    bin_folder.mkdir(parents=True)
    ours = bin_folder / "forward-lineage"
    ours.write_text(
        '#!/bin/bash\ncase "$2" in noisy) echo WARNING >&2;; noted) echo "Note: so" >&2;;\n'
        'left) mkdir spark-warehouse;; broken) printf "Traceback (most recent call last):\\n";; esac\n'
    )
    ours.chmod(0o755)
    return made


@pytest.mark.parametrize(
    "page", [_GREETS.format("hello"), _OURS.format(""), _OURS.format(" noted"), "```python\n1\n```\n"]
)
def test_a_page_that_can_be_typed(newcomer: Newcomer, page: str) -> None:
    newcomer.type_all(blocks_of(page))


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (_GREETS.format("good day"), StumbledError),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", StumbledError),
        (_OURS.format(" noisy"), StumbledError),
        (_OURS.format(" left"), StumbledError),
        (_OURS.format(" broken"), StumbledError),
        ("```bash\nno-such-command\n```\n", subprocess.CalledProcessError),
    ],
)
def test_a_page_that_cannot(newcomer: Newcomer, page: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        newcomer.type_all(blocks_of(page))
