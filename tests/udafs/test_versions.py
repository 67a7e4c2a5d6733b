"""Which Sparks are refused, and which of the kernel's sources go into which."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from udafs.build import SOURCES, scala_files
from udafs.errors import SetupError
from udafs.versions import ROOM, VERSIONS, check_connect, check_version, installed, sources_for


@pytest.mark.parametrize(
    ("spark", "version"),
    [
        ("3.5.9", (3, 5)),
        ("4.0.0", (4, 0)),
        ("4.1.4", (4, 1)),
        ("4.3.0", (4, 3)),
        ("4.2.1.dev3", (4, 2)),
        ("4.3.1-vendor-2", (4, 3)),
    ],
)
def test_a_version_in_the_range(spark: str, version: tuple[int, int]) -> None:
    assert check_version(spark) == version


@pytest.mark.parametrize(
    "spark", ["3.4.4", "3.6.0", "2.4.8", "4.4.0", "4.10.0", "5.0.0.dev1", "40.1.0", "4", "", "unknown"]
)
def test_a_version_outside_the_range(spark: str) -> None:
    with pytest.raises(SetupError) as refused:
        check_version(spark)
    assert str(refused.value) == (
        f"this is Spark {spark}, and forward_lineage works with Spark 3.5 to 4.3. "
        'Install one of these: pip install "pyspark>=3.5,<4.4".'
    )


def test_the_version_that_is_installed() -> None:
    assert installed() == check_version(pyspark.__version__)


def test_connect_has_no_door_in_every_version() -> None:
    with pytest.raises(
        SetupError, match=r"from Spark 4\.0 on, and this is Spark 3\.5\.9\. Use a session in this process"
    ):
        check_connect("3.5.9")
    for version in ("4.0.0", "4.3.1"):
        check_connect(version)


def test_of_what_differs_the_newest_that_is_not_too_new() -> None:
    names = ["Same.scala", *(f"{ROOM}/A/{since}.scala" for since in ("3.5", "4.2", "4.10")), f"{ROOM}/B/4.1.scala"]
    files = [Path(name) for name in names]
    chosen = {version: [names[files.index(file)] for file in sources_for(version, files)] for version in VERSIONS}
    assert chosen[3, 5] == chosen[4, 0] == ["Same.scala", f"{ROOM}/A/3.5.scala"]
    assert chosen[4, 1] == ["Same.scala", f"{ROOM}/A/3.5.scala", f"{ROOM}/B/4.1.scala"]
    assert chosen[4, 2] == chosen[4, 3] == ["Same.scala", f"{ROOM}/A/4.2.scala", f"{ROOM}/B/4.1.scala"]
    assert [names[files.index(file)] for file in sources_for((4, 10), files)][1] == f"{ROOM}/A/4.10.scala"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_has_one_file_for_everything_that_differs(version: tuple[int, int]) -> None:
    differing = {folder.name for folder in (SOURCES / ROOM).iterdir()}
    assert differing
    chosen = [file.parent.name for file in scala_files(SOURCES, version) if file.parent.parent.name == ROOM]
    assert sorted(chosen) == sorted(differing)


def test_every_file_is_for_some_version() -> None:
    used = {file for version in VERSIONS for file in scala_files(SOURCES, version)}
    assert used == set(SOURCES.rglob("*.scala"))
