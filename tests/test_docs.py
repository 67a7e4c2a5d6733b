"""Every snippet of README.md and docs/ runs and shows what the page says; `tests/page_reader.py` has the rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from docs.site_pages import PAGES as ELSEWHERE
from tests.conftest import REPOSITORY
from tests.markdown_pages import blocks_of, links_of
from tests.page_reader import Reader
from tests.spark_programs import interpreted

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CHANGELOG.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    REPOSITORY / "tpch_queries" / "README.md",
    REPOSITORY / "walmart_demo" / "README.md",
    REPOSITORY / "walmart_demo" / "dbt" / "README.md",
    REPOSITORY / "udafs" / "FORMAT.md",
]


def title(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


#: Pages of the start whose commands stand in another page, too; `make test-newcomer` types all of the start in.
SELDOM = ("docs/start/spark-sql.md",)
#: Pages that need the engine of a table format.
OF_LAKES = ("docs/delta.md", "docs/iceberg.md")
#: A command that starts a Spark of its own, beside a server that the page has, too; another page runs it every day.
SELDOM_RUN = {"docs/sql-clients.md": "spark-sql "}


def ways_to_read(page: Path) -> list[object]:
    """The page; or the page without a command every day, and with it in the long tier."""
    name = title(page)
    if name in OF_LAKES:
        return [pytest.param(page, None, id=name, marks=pytest.mark.skip("make test-lakes types it, with its engine"))]
    if name in SELDOM:
        return [pytest.param(page, None, id=name, marks=pytest.mark.long)]
    if name in SELDOM_RUN:
        return [
            pytest.param(page, SELDOM_RUN[name], id=f"{name} without {SELDOM_RUN[name].strip()}"),
            pytest.param(page, None, id=name, marks=pytest.mark.long),
        ]
    return [pytest.param(page, None, id=name)]


@pytest.mark.parametrize(
    ("page", "without"),
    # semantics.md shows decoded lineage: tests/test_semantics_doc.py
    [each for page in PAGES if page.name != "semantics.md" for each in ways_to_read(page)],
)
def test_snippets(
    page: Path, without: str | None, spark: SparkSession, tpch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORWARD_LINEAGE_HOME", raising=False)
    monkeypatch.setenv("FORWARD_LINEAGE_DATA", str(tpch.parent.parent))
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", interpreted(os.environ, lists_tables=True)["SPARK_SUBMIT_OPTS"])
    session = spark.newSession()
    monkeypatch.setattr(SparkSession, "_instantiatedSession", session)  # what `builder.getOrCreate()` gives a page
    blocks = blocks_of(page.read_text())
    read = [block for block in blocks if without is None or not block.text.startswith(without)]
    assert len(blocks) - len(read) == (without is not None)
    Reader(title(page), session, tmp_path, tpch).read(read)


def test_every_page_is_in_the_navigation() -> None:
    """`mkdocs build --strict` notices, too; but told to be quiet, it drops the warnings that it would fail by."""
    names = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text())["nav"]
    docs = REPOSITORY / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} | set(ELSEWHERE.values())
    assert sorted(_pages_of(names)) == sorted(pages)
    assert "--quiet" not in (REPOSITORY / "Makefile").read_text().partition("\ndocs:")[2].partition("\n\n")[0]


def _pages_of(entries: list[dict[str, Any]]) -> list[str]:
    named = [page for entry in entries for page in entry.values()]
    return [each for page in named for each in (_pages_of(page) if isinstance(page, list) else [page])]


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links(page: Path) -> None:
    missing = [target for target in links_of(page.read_text()) if not (page.parent / target).exists()]
    assert not missing
