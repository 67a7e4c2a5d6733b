"""The kernel's rooms: who may use whom, as data, and no two files that need each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.udafs.scala_sources import ScalaFile, code, kernel_files, references
from udafs.build import SOURCES

# room → the rooms it uses besides itself
ROOMS: dict[str, tuple[str, ...]] = {
    "versions": (),  # what differs between versions of Spark: for each thing a folder, for each change a file
    "errors": ("versions",),  # what a function of the kernel says when it refuses
    "encodings": ("errors",),  # one lineage value: its bytes, its ids, its union with others; nothing of SQL
    "functions": ("encodings", "errors", "versions"),  # the scalar SQL functions on lineage values
    "aggregation": (
        "encodings",
        "errors",
        "functions",
        "joins",
        "ranges",
        "stages",
        "versions",
    ),  # dlunion: the aggregate, its pools, its plan
    "stages": (
        "encodings",
        "errors",
        "functions",
        "versions",
    ),  # rows of inner queries by number: dl_number, dl_relation, dl_compose
    "joins": ("functions", "scan", "stages", "versions"),  # which side of a join is broadcast
    "granules": ("errors", "functions", "versions"),  # values that are their own ids, and back; granules of rows
    "ranges": ("errors",),  # ranges of a column: which a value is in, whether that is one of some
    "files": (),  # files of tables on any file system that Hadoop knows: listed, footers read; sealed JSON
    "filters": (
        "errors",
        "files",
        "functions",
        "versions",
    ),  # which tuples of values do not occur, in a table or a file: dl_may_occur, dl_may_be_in
    "scan": (
        "encodings",
        "errors",
        "files",
        "functions",
        "ranges",
        "versions",
    ),  # ids by position: the manifest, dl_row_id, plans that make it cheap, what need not be read; dl_parquet
    "door": ("errors", "versions"),  # statements that ask for lineage, on their way to Python and back
    "session": (
        "aggregation",
        "door",
        "encodings",
        "errors",
        "files",
        "filters",
        "functions",
        "granules",
        "joins",
        "ranges",
        "scan",
        "stages",
        "versions",
    ),  # what Spark and Python call
    "dataframes": (
        "aggregation",
        "functions",
        "session",
        "stages",
        "versions",
    ),  # a DataFrame's plan as SQL, and whether it is read back as it was
    "requests": (
        "dataframes",
        "door",
        "errors",
        "scan",
        "session",
        "stages",
        "versions",
    ),  # all that Python asks, by name
    "connect": (
        "requests",
        "session",
        "versions",
    ),  # the same through Spark Connect; compiled where Spark has its server
}
# Names that callers outside the kernel use; they stay.
PUBLIC = {
    "session/EntryPoints.scala": {"Kernel", "LineageExtensions"},
    "connect/EntryPoint.scala": {"ConnectRequests"},
    "requests/Requests.scala": {"Requests"},
}
MOST_LINES = 600


def circle(uses: Mapping[str, Iterable[str]]) -> list[str]:
    """Some places that use each other in turn; none when there is no circle."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_file_stands_in_a_room() -> None:
    assert {file.place.split("/")[0] for file in kernel_files()} == ROOMS.keys()


def test_every_name_is_defined_once() -> None:
    """The graph below goes by names; a class and its companion are one name."""
    places = Counter(name for file in kernel_files() for name in file.definitions)
    assert [name for name, count in places.items() if count > 1] == []
    assert all(file.definitions for file in kernel_files())


def test_no_circle_between_files() -> None:
    assert circle(references(kernel_files())) == []


def test_rooms_use_what_they_may() -> None:
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for place, uses in references(kernel_files()).items():
        found[place.split("/")[0]] |= {other.split("/")[0] for other in uses}
    assert {room: uses - {room} for room, uses in found.items()} == {room: set(uses) for room, uses in ROOMS.items()}
    assert circle(ROOMS) == []


def test_public_names() -> None:
    defined = {file.place: file.definitions for file in kernel_files()}
    assert {place: defined[place] for place in PUBLIC} == PUBLIC
    package = {place: (SOURCES / place).read_text().split("\n", 1)[0] for place in defined}
    for entry in ("session/EntryPoints.scala", "connect/EntryPoint.scala"):
        assert package.pop(entry) == "package forwardlineage"
    assert package.pop("connect/RequestPlugin.scala") == "package org.apache.spark.sql.connect.forwardlineage"
    assert set(package.values()) == {"package org.apache.spark.sql.forwardlineage"}


def test_no_file_is_long() -> None:
    lines = {file.place: (SOURCES / file.place).read_text().count("\n") for file in kernel_files()}
    assert {place: count for place, count in lines.items() if count > MOST_LINES} == {}


class TestReading:
    """The reader of sources itself: a reference that it overlooks would be a circle that nobody sees."""

    @pytest.mark.parametrize(
        ("scala", "plain"),
        [
            ("a // B\nc", "a  \nc"),
            ("a /* B // C\n */ d", "a   d"),
            ('a "B // C" d // E', "a   d  "),
            ('a """B "C" /* """ d', "a   d"),
            ('a """B \\"""" d', "a   d"),  # Scala takes the last three of four quotes
            ("a '\"' b '\\'' c", "a   b   c"),
            ('s"B $c ${D.e("F", s"${G}")} h" i', " c  D.e( ,  G )  i"),
            ('code"""B ${c.map(_ => { D })} "E" """ f', " c.map(_ => { D })  f"),
            ('s"\\"${B}" c', " B  c"),
        ],
    )
    def test_code(self, scala: str, plain: str) -> None:
        assert code(scala) == plain

    def test_definitions_and_words(self) -> None:
        file = ScalaFile.of(
            "room/A.scala",
            "import org.other.{B => C}\nimport D._\nprivate[sql] final case class A(e: E) { object Inner }\n"
            "object A\nsealed trait T { def f = x.Member }\n",
        )
        assert file.definitions == {"A", "T"}
        assert {"D", "E", "x"} <= file.words
        assert file.words.isdisjoint({"B", "C", "Member"})

    def test_a_circle_is_found(self) -> None:
        files = [ScalaFile.of(f"r/{n}.scala", f"class {n} {{ new {to} }}") for n, to in ("AB", "BC", "CA")]
        assert set(circle(references(files))) == {"r/A.scala", "r/B.scala", "r/C.scala"}
