"""What the site needs beside the pages as they are: pages from other folders, links to them, and plain fences.

A hook of MkDocs. Pages are written for whoever reads them in the repository, and tested there
(`tests/page_reader.py`); nothing in them is for the site alone.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
#: Pages from elsewhere → what they are called in the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "udafs/FORMAT.md": "format.md",
    "tpch_queries/README.md": "tpch_queries.md",
    "walmart_demo/README.md": "walmart_demo.md",
    "walmart_demo/dbt/README.md": "walmart_dbt.md",
}
_SOURCE = {name: page for page, name in PAGES.items()}
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>[^\n`]*)$", re.MULTILINE)
_SETUP = re.compile(r"^<!-- setup.*?^-->\n", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"\S+\.\w+")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from elsewhere."""
    for page, name in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / page).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Leave out what readers do not see, and write links and fences as the site has them."""
    place = _SOURCE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    text = _SETUP.sub("", markdown)
    text = _LINK.sub(lambda link: _link(link, place, page.file.src_uri), text)
    return _FENCE.sub(_fence, text)


def _link(link: re.Match[str], place: str, here: str) -> str:
    """A link to a page or a picture, relative to its place in the site; to a source file no link but its name."""
    text, target, anchor = link["text"], link["target"], link["anchor"] or ""
    if "://" in target or target.startswith("mailto:"):
        return link[0]
    found = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
    if found in PAGES or found.startswith("docs/"):
        name = PAGES.get(found, found.removeprefix("docs/"))
        return f"{link['image']}[{text}]({posixpath.relpath(name, posixpath.dirname(here) or '.')}{anchor})"
    return text if (ROOT / found).exists() else link[0]  # what is not there at all MkDocs complains of


def _fence(fence: re.Match[str]) -> str:
    r"""``sql views.sql`` says the language, and the file that the block is kept in; the site shows that as a title."""
    language, *words = fence["info"].split() or [""]
    title = next((f' title="{word}"' for word in words if _FILE.fullmatch(word)), "")
    return f"{fence['ticks']}{language}{title}"
