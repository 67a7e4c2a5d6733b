"""What the kernel reads of a manifest: both formats, and no id from one that is damaged or of a later release."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.task_errors import REFUSED, said
from udafs.attach import attach

DAMAGED = "so delete it and register the table again."


def format_1(data: dict[str, Any]) -> bytes:
    return (json.dumps({"format": 1, **data}, indent=1, ensure_ascii=False) + "\n").encode()


def format_2(data: dict[str, Any]) -> bytes:
    """A manifest whose last line vouches for all before it."""
    body = json.dumps({"format": 2, **data}, indent=1, ensure_ascii=False).removesuffix("\n}").encode()
    return body + b',\n "checksum": %d\n}\n' % zlib.crc32(body)


@dataclass(frozen=True)
class Table:
    """Two Parquet files, "é a.parquet" of the values 7, 8 with ids from 100, "b.parquet" of 9 with id 5."""

    spark: SparkSession
    folder: Path
    manifest: Path

    def data(self) -> dict[str, Any]:
        """What a manifest says of it."""
        files = []
        for name, offset in (("é a.parquet", 100), ("b.parquet", 5)):
            stat = (self.folder / name).stat()
            path = str(self.folder / name)
            files.append(
                {"path": path, "size": stat.st_size, "modified": stat.st_mtime_ns, "inode": 1, "offset": offset}
            )
        return {"name": 'tä"ble\n', "next_id": 102, "files": files}

    def ids(self) -> dict[int, int]:
        """Value → row id."""
        sql = f"SELECT v, dl_row_id('{self.manifest}', _metadata) AS id FROM parquet.`{self.folder}`"
        return {row.v: row.id for row in self.spark.sql(sql).collect()}

    def refusal(self, manifest: bytes) -> str:
        """What is wrong with a manifest, behind its path; one sentence."""
        self.manifest.write_bytes(manifest)
        with pytest.raises(REFUSED) as refused:
            self.ids()
        begin, what = f"The manifest {self.manifest} ", said(refused.value)
        assert what.startswith(begin), what
        what = what.removeprefix(begin)
        assert what.endswith(".") and ". " not in what and "\n" not in what
        return what


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    own = spark.newSession()
    attach(own)
    folder = tmp_path / "rows"
    folder.mkdir()
    for name, values in (("é a.parquet", [7, 8]), ("b.parquet", [9])):
        parquet.write_table(pa.table({"v": pa.array(values, pa.int64())}), folder / name)
    return Table(own, folder, tmp_path / "1.json")


@pytest.mark.parametrize("write", [format_1, format_2])
def test_both_formats(table: Table, write: Callable[[dict[str, Any]], bytes]) -> None:
    table.manifest.write_bytes(write(table.data()))
    assert table.ids() == {7: 100, 8: 101, 9: 5}


def test_a_file_of_before_1970(table: Table) -> None:
    os.utime(table.folder / "b.parquet", ns=(-1_500_000_000, -1_500_000_000))
    table.manifest.write_bytes(format_2(table.data()))
    assert table.ids() == {7: 100, 8: 101, 9: 5}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda data: data.pop("name"), "it has no name"),
        (lambda data: data.update(name=7), "it has no name"),
        (lambda data: data.pop("files"), "it has no list of files"),
        (lambda data: data.update(files={}), "it has no list of files"),
        (lambda data: data["files"].append(7), "file 2 has no path"),
        (lambda data: data["files"][1].pop("path"), "file 1 has no path"),
        (lambda data: data["files"][1].update(path=""), "file 1 has no path"),
        (lambda data: data["files"][1].update(path="b"), "the path of file 1 is b"),
        (lambda data: data["files"][1].update(path="s3a://b/c"), "the path of file 1 is s3a://b/c"),
        (lambda data: data["files"][1].update(path="/a\0b"), "the path of file 1 is /a\0b"),
        (lambda data: data["files"][0].pop("size"), "file 0 has no size"),
        (lambda data: data["files"][0].pop("modified"), "file 0 has no modified"),
        (lambda data: data["files"][1].pop("offset"), "file 1 has no offset"),
        (lambda data: data["files"][1].update(offset=None), "the offset of file 1 is null"),
        (lambda data: data["files"][1].update(offset=-1), "the offset of file 1 is -1"),
        (lambda data: data["files"][1].update(offset="5"), 'the offset of file 1 is "5"'),
        (lambda data: data["files"][1].update(offset=5.0), "the offset of file 1 is 5.0"),
        (lambda data: data["files"][1].update(offset=1 << 63), "the offset of file 1 is 9223372036854775808"),
        (lambda data: data["files"][0].update(size=-3), "the size of file 0 is -3"),
        (lambda data: data["files"][0].update(modified=True), "the modified of file 0 is true"),
        (lambda data: data["files"].append({**data["files"][1], "offset": 6}), "it lists file:{rows}/b.parquet twice"),
        (lambda data: data.update(format=2.0), "the format of it is 2.0"),
        (lambda data: data.update(format=0), "the format of it is 0"),
    ],
)
def test_damaged_though_its_checksum_is_right(
    table: Table, change: Callable[[dict[str, Any]], object], what: str
) -> None:
    data = {"format": 2, **table.data()}
    change(data)
    assert table.refusal(format_2(data)) == f"is damaged ({what.format(rows=table.folder)}), {DAMAGED}"


def test_no_format(table: Table) -> None:
    assert table.refusal(b'{"name": "t", "files": []}') == f"is damaged (it has no format), {DAMAGED}"


@pytest.mark.parametrize("manifest", [b"", b"[1, 2]", b"7"])
def test_another_json(table: Table, manifest: bytes) -> None:
    assert table.refusal(manifest) == f"is damaged (it has no format), {DAMAGED}"


@pytest.mark.parametrize(
    "manifest",
    [
        b"{",
        b"\x00\x01",
        b'{"format": 1, "format": 2}',
        b'{"format": 1} {}',
        b'{"a": "\xff"}',
        b"\0\0\0{\xff\xff\xff\xff",
    ],
)
def test_no_json(table: Table, manifest: bytes) -> None:
    assert table.refusal(manifest) == f"is damaged (it is no JSON), {DAMAGED}"


def test_a_wrong_checksum(table: Table) -> None:
    good = format_2(table.data())
    assert re.fullmatch(
        r"is damaged \(its checksum is \d+ and that of its bytes \d+\), " + re.escape(DAMAGED),
        table.refusal(good.replace(b'"offset": 100', b'"offset": 200')),
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: re.sub(rb',\n "checksum": \d+', b"", good),
        lambda good: good.replace(b',\n "checksum"', b', "checksum"'),
        lambda good: good.removesuffix(b"\n"),
        lambda good: good + b" \n",
        lambda good: re.sub(rb"\d+(?=\n}\n$)", b'"7"', good),
    ],
)
def test_no_checksum_at_the_end(table: Table, spoil: Callable[[bytes], bytes]) -> None:
    assert table.refusal(spoil(format_2(table.data()))) == f"is damaged (it does not end with its checksum), {DAMAGED}"


def test_a_checksum_in_format_1(table: Table) -> None:
    """One wrong character would make a format of the other, and nobody would look at the checksum any more."""
    spoiled = format_2(table.data()).replace(b'"format": 2', b'"format": 1')
    assert table.refusal(spoiled) == f"is damaged (format 1 has no checksum), {DAMAGED}"


def test_a_later_format(table: Table) -> None:
    assert table.refusal(format_1({**table.data(), "format": 8})) == (
        "has format 8 and this release reads up to 7, so use the release that wrote it or register the table again."
    )


def test_files_elsewhere(table: Table) -> None:
    """Formats before the third had local files only; files that are read are found beside those that lie elsewhere."""
    data = table.data()
    data["files"].append({"path": "x://y/z é %.parquet", "size": 1, "modified": 1, "offset": 7})
    assert table.refusal(format_2(data)) == f"is damaged (the path of file 2 is x://y/z é %.parquet), {DAMAGED}"
    table.manifest.write_bytes(format_2({**data, "format": 3}))
    assert table.ids() == {7: 100, 8: 101, 9: 5}
    data["files"][2]["path"] = "y/z.parquet"
    assert "the path of file 2 is y/z.parquet" in table.refusal(format_2({**data, "format": 3}))


def test_missing(table: Table) -> None:
    table.manifest.write_bytes(b"")
    table.manifest.unlink()
    with pytest.raises(REFUSED, match=r"1\.json is missing, so register the table again"):
        table.ids()
    table.manifest.mkdir()
    with pytest.raises(REFUSED, match=r"1\.json is no file that registering wrote, so delete it and register"):
        table.ids()


@pytest.mark.timeout(60)
def test_no_file(table: Table, tmp_path: Path) -> None:
    """A pipe would be waited for, and a link could lead anywhere."""
    table.manifest.write_bytes(format_2(table.data()))
    table.manifest.rename(tmp_path / "elsewhere")
    table.manifest.symlink_to(tmp_path / "elsewhere")
    no_file = "no file that registering wrote, so delete it and register the table again"
    with pytest.raises(REFUSED, match=no_file):
        table.ids()
    table.manifest.unlink()
    os.mkfifo(table.manifest)
    with pytest.raises(REFUSED, match=no_file):
        table.ids()
    with pytest.raises(REFUSED, match=no_file):
        table.spark.sql("SELECT dl_row_id('/dev/zero', _metadata) FROM parquet.`" + str(table.folder) + "`").collect()
