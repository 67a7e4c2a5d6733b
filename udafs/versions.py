"""The versions of Spark that the kernel is made for, and the sources for each of them.

Sources that differ between versions are in ``scala/versions/<what>/<since>.scala``, for example
``versions/SessionFunctions/4.0.scala`` and ``versions/SessionFunctions/4.2.scala``. Of each folder the newest file that
is not newer than Spark is compiled. All other sources are the same for all versions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from udafs.errors import SetupError

VERSIONS = ((3, 5), (4, 0), (4, 1), (4, 2), (4, 3))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
CONNECT_SINCE = (4, 0)  # 3.5 comes without a server of Spark Connect, and its plugins have another interface
DOUBLED_QUOTES_SINCE = (4, 0)  # 'it''s' is one string; before it, two that are joined
STAR_EXCEPT_SINCE = (4, 0)  # SELECT * EXCEPT (…); before it the kernel has a function in its place
ROOM = "versions"
_FIRST_TWO = re.compile(r"(\d+)\.(\d+)(?:\D|$)")
_SAID = re.compile(r"""^__version__\b[^=\n]*=\s*["']([^"']+)["']""", re.MULTILINE)


def check_installed() -> None:
    """Check the PySpark that would be imported, without importing it: that takes longer than many a command.

    Where there is none, nothing is checked: arrays need none, and what does says so itself.

    Raises:
        SetupError: see `check_version`.

    """
    if "pyspark" in sys.modules or find_spec("pyspark") is not None:
        check_version(_installed())


def _installed() -> str:
    spec = None if "pyspark" in sys.modules else find_spec("pyspark")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        file = Path(folder) / "version.py"
        if file.is_file() and (said := _SAID.search(file.read_text(encoding="utf-8"))):
            return said[1]
    from pyspark import __version__  # noqa: PLC0415 - laid out in another way, or imported already

    return str(__version__)


def check_version(spark: str) -> tuple[int, int]:
    """Return (major, minor) of a version of Spark, as in ``"4.1.4"``, when the kernel is made for it.

    Raises:
        SetupError: it is none of `VERSIONS`, or no version at all.

    """
    found = _FIRST_TWO.match(spark)
    version = (int(found[1]), int(found[2])) if found else None
    if version not in VERSIONS:
        after = (NEWEST[0], NEWEST[1] + 1)
        raise SetupError(
            f"this is Spark {spark}, and forward_lineage works with Spark {_name(OLDEST)} to {_name(NEWEST)}",
            instead=f'Install one of these: pip install "pyspark>={_name(OLDEST)},<{_name(after)}".',
        )
    return version


@cache
def installed() -> tuple[int, int]:
    """Return the version of the PySpark that is installed, which is not imported for it: (major, minor).

    Without a PySpark, SQL is rewritten for the newest version.

    Raises:
        SetupError: as for `check_version`.

    """
    from importlib import metadata  # noqa: PLC0415 - twenty milliseconds of every command's start

    try:
        return check_version(metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        return NEWEST


def check_connect(spark: str) -> None:
    """Check that the kernel has a door for Spark Connect in a version of Spark.

    Raises:
        SetupError: it has none, or as for `check_version`.

    """
    if check_version(spark) < CONNECT_SINCE:
        raise SetupError(
            f"sessions of Spark Connect are traced from Spark {_name(CONNECT_SINCE)} on, and this is Spark {spark}",
            instead="Use a session in this process, SparkSession.builder.master(…), or a newer Spark on both sides.",
        )


def _name(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def sources_for(version: tuple[int, int], files: Iterable[Path]) -> list[Path]:
    """Return the Scala files that are compiled for a version of Spark, in the order in which they are given."""
    given = list(files)
    since: dict[Path, tuple[int, int]] = {}
    for file in given:
        if _differs(file) and version >= _since(file) >= since.get(file.parent, (0, 0)):
            since[file.parent] = _since(file)
    return [file for file in given if not _differs(file) or since.get(file.parent) == _since(file)]


def _differs(file: Path) -> bool:
    return file.parent.parent.name == ROOM


def _since(file: Path) -> tuple[int, int]:
    major, minor = file.stem.split(".")
    return int(major), int(minor)
