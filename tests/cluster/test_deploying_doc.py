"""docs/deploying.md on a cluster, under the settings that it gives; tests/test_docs.py reads it on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cluster.driver import Driver
from tests.cluster.standalone import Cluster
from tests.markdown_pages import blocks_of
from tests.page_reader import Reader
from tests.structure import REPOSITORY
from udafs.build import build_kernel

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

PAGE = REPOSITORY / "docs" / "deploying.md"


def read(spark: SparkSession, folder: Path, tpch: Path) -> str | None:
    """Type in the page, and return where the kernel's classes came from."""
    Reader("docs/deploying.md", spark.newSession(), folder, tpch).read(blocks_of(PAGE.read_text()))
    return spark.conf.get("spark.jars", None)


def given() -> dict[str, str]:
    """The settings of the page, with the jar where it is."""
    [text] = [block.text for block in blocks_of(PAGE.read_text()) if block.info == "conf spark-defaults.conf"]
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    settings = {key: value for key, value in lines}  # noqa: C416 - each line has two words
    assert settings["spark.jars"] == "lineage-kernel.jar"
    return settings | {"spark.jars": str(build_kernel())}


@pytest.mark.parametrize("settings", [{}, given()], ids=["none", "those of the page"])
def test_the_page(cluster: Cluster, tpch: Path, tmp_path: Path, settings: dict[str, str]) -> None:
    with Driver(cluster, tmp_path / "spark.log", settings) as driver:
        assert driver.call(read, tmp_path, tpch) == settings.get("spark.jars")
