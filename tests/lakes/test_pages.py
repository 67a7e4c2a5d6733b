"""docs/delta.md and docs/iceberg.md typed in with the engines; `make test-newcomer` types them in from the wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lakes.engines import FORMATS
from tests.markdown_pages import blocks_of
from tests.page_reader import Reader
from tests.shared_state import drop_views
from tests.structure import REPOSITORY


@pytest.fixture
def session(lakes: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """What `builder.getOrCreate()` gives a page, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORWARD_LINEAGE_HOME", raising=False)
    session = lakes.newSession()
    monkeypatch.setattr(SparkSession, "_instantiatedSession", session)
    yield session
    for table in session.catalog.listTables("spark_catalog.default"):
        if not table.isTemporary:
            session.sql(f"DROP TABLE spark_catalog.default.{table.name}")
    drop_views(session)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", FORMATS)
def test_snippets(session: SparkSession, lakes_log: Path, tmp_path: Path, kind: str) -> None:
    before = lakes_log.read_text()
    page = (REPOSITORY / "docs" / f"{kind}.md").read_text()
    with pytest.warns(UserWarning, match="has changed since by_customer was saved: you see its rows of version 1$"):
        Reader(f"docs/{kind}.md", session, tmp_path, tmp_path).read(blocks_of(page))
    said = lakes_log.read_text().removeprefix(before)
    assert "metadata directory" not in said, "Spark warns of files that it takes for those of a stream"
