"""The reader of pages finds every block, and complains about pages that lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lakes.engines import ARTIFACTS, SPARK
from tests.markdown_pages import blocks_of, links_of
from tests.page_reader import Reader

FETCHED = ARTIFACTS[SPARK]["iceberg"][0]


@pytest.fixture
def read(spark: SparkSession, tpch: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    return lambda page: Reader("page.md", spark.newSession(), tmp_path, tpch).read(blocks_of(page))


def test_blocks() -> None:
    page = "# Title\n\n```sql lineage\nselect 1\n```\n| a | b |\n|---|---|\n| 1 | `2` |\n\n"
    page += "<!-- setup\nx = 1\n-->\n````\n```\n````\n"
    found = blocks_of(page)
    assert [(block.kind, block.info, block.text, block.line) for block in found] == [
        ("prose", "", "# Title", 1),
        ("code", "sql lineage", "select 1", 4),
        ("table", "", "| a | b |\n|---|---|\n| 1 | `2` |", 6),
        ("setup", "", "x = 1", 11),
        ("code", "", "```", 14),
    ]
    assert found[1].language == "sql"
    assert found[2].cells() == [["a", "b"], ["1", "2"]]


def test_links() -> None:
    assert links_of("[a](docs/a.md#part) [b](https://example.org) [c](#here) ![d](d.svg)") == ["docs/a.md", "d.svg"]


def test_a_fence_that_is_never_closed() -> None:
    with pytest.raises(ValueError, match="line 2 opens a block"):
        blocks_of("\n```python\nx\n")


@pytest.mark.parametrize(
    "page",
    [
        "```python\nspark.sql('select 1 as a, 2 as b').show()\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```sql\nselect id from range(2)\n```\n| id |\n|---|\n| 1 |\n| 0 |\n",
        "<!-- setup\nx = 3\n-->\n```python\nprint(x)\n```\n```text\n3\n```\n",
        "```bash\nmake test SF=1\npip install forward_lineage[tpch]  # the generator\necho hello \\\n  you\n```\n",
        f"```bash\npip install . 'pyspark=={SPARK}.*'\nmvn -q dependency:copy -Dartifact={FETCHED}\n```\n",
        "<!-- setup\n(folder / 'f').write_text('x')\n-->\n```bash\ncat f\n```\n```text\nx\n```\n",
        '```json\n{"a": 1}\n```\n',
        "| not | an output |\n|---|---|\n",
    ],
)
def test_a_page_that_is_right(read, page: str) -> None:  # type: ignore[no-untyped-def]
    read(page)


@pytest.mark.parametrize(
    "page",
    [
        "```python\nspark.sql('select 1 as a').show()\n```\n\n| a |\n|---|\n| 2 |\n",
        "```sql\nselect 1 as a\n```\n| b |\n|---|\n| 1 |\n",
        "```sql lineages\nselect 1 as a\n```\n",
        "```sql\nselect from nowhere\n```\n",
        "```python\n1 / 0\n```\n",
        "```python\nprint(3)\n```\n```text\n4\n```\n",
        "```bash\nmake coffee\n```\n",
        "```bash\nmake test X=1\n```\n",
        "```bash\npip install forward_lineage[moon]\n```\n",
        "```bash\npip install something-else\n```\n",
        "```bash\npip install 'pyspark==2.4.*'\n```\n",
        "```bash\nmvn -q dependency:copy -Dartifact=a:b:1\n```\n",
        "```bash\nfalse\n```\n",
        "```json\n{\n```\n",
        "```cobol\nMOVE A TO B\n```\n",
    ],
)
def test_a_page_that_lies(read, page: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Exception):  # noqa: B017 - each in its own way
        read(page)


def test_errors_say_the_pages_line(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ZeroDivisionError) as caught:
        read("text\n\n```python\nx = 1\n1 / 0\n```\n")
    assert caught.traceback[-1].lineno == 4  # counted from 0
    with pytest.raises(AssertionError, match=r"page\.md, line 2: the Makefile has no coffee"):
        read("```bash\nmake coffee\n```\n")
