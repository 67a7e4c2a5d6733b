"""TPC-H data appear whole or not at all, once, and broken ones are never reused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from forward_lineage import BadArgumentError, DamagedError, SetupError
from forward_lineage.demo.tpch_data import default_folder, generate
from forward_lineage.demo.tpch_tables import TABLES, Table

TINY = 0.001


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(TINY, tmp_path_factory.mktemp("tpch") / "sf0.001")


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_all_tables_are_there_and_nothing_else(made: Path) -> None:
    assert {file.name for file in made.iterdir()} == {f"{table}.parquet" for table in TABLES}
    assert {file.name for file in made.parent.iterdir()} == {made.name, f".{made.name}.lock"}


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_the_table_of_tables_is_true(tpch: Path, table: Table) -> None:
    file = pq.ParquetFile(tpch / f"{table.name}.parquet")
    columns = file.schema_arrow.names
    assert set(table.key) <= set(columns)
    assert table.order_by in columns
    assert table.rows(0.01) in {file.metadata.num_rows, None}
    keys = file.read(columns=list(table.key))
    assert keys.group_by(list(table.key)).aggregate([]).num_rows == keys.num_rows


def test_complete_data_are_reused(made: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in made.iterdir()}
    assert generate(TINY, made) == made
    assert {file: file.stat().st_mtime_ns for file in made.iterdir()} == before


def test_a_missing_table(copy: Path) -> None:
    (copy / "orders.parquet").unlink()
    with pytest.raises(DamagedError, match=r"orders\.parquet is missing\. Delete the folder"):
        generate(TINY, copy)


def test_a_truncated_table(copy: Path) -> None:
    file = copy / "orders.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(DamagedError, match=r"orders\.parquet cannot be read"):
        generate(TINY, copy)


def test_another_scale_factor(made: Path) -> None:
    with pytest.raises(DamagedError, match=r"supplier\.parquet has 10 rows, not 20 as scale factor 0\.002 asks for"):
        generate(2 * TINY, made)


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(DamagedError, match="does not hold the TPC-H data wanted"):
        generate(TINY, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_killed_process_left_is_not_reused(tmp_path: Path, made: Path) -> None:
    unfinished = tmp_path / ".sf0.001.unfinished"
    unfinished.mkdir()
    (unfinished / "orders.parquet").write_bytes(b"half")
    folder = generate(TINY, tmp_path / "sf0.001")
    assert (folder / "orders.parquet").read_bytes() == (made / "orders.parquet").read_bytes()
    assert not unfinished.exists()


@pytest.mark.slow
def test_killed_half_way(tmp_path: Path) -> None:
    folder = tmp_path / "sf"
    module = "forward_lineage.demo.tpch_data"
    script = f"import sys; from pathlib import Path; from {module} import generate; generate(0.2, Path(sys.argv[1]))"
    process = subprocess.Popen([sys.executable, "-c", script, str(folder)], stderr=subprocess.DEVNULL)
    try:
        while not list(tmp_path.glob(".sf.unfinished/*")):
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert not folder.exists()
    assert generate(TINY, folder) == folder  # of another scale factor: nothing of the first run may remain
    assert pq.read_metadata(folder / "supplier.parquet").num_rows == 10


def test_two_at_once_generate_once(tmp_path: Path) -> None:
    folder = tmp_path / "sf"
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: generate(TINY, folder), range(2))) == [folder, folder]
    assert {file.name for file in tmp_path.iterdir()} == {"sf", ".sf.lock"}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert (generate(TINY, folder) / "lineitem.parquet").exists()


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_not_a_scale_factor(scale: float, tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match="is not a TPC-H scale factor"):
        generate(scale, tmp_path / "sf")


def test_tpchgen_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "bin"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SetupError, match=r"tpchgen-cli, and it is not installed\. Run: pip install 'forward_lineage\[tpch\]'"
    ):
        generate(TINY, tmp_path / "sf")
    assert not (tmp_path / "sf").exists()


def test_where_data_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORWARD_LINEAGE_DATA", raising=False)
    assert default_folder(1) == tmp_path / ".data" / "tpch" / "sf1"
    monkeypatch.setenv("FORWARD_LINEAGE_DATA", str(tmp_path / "elsewhere"))
    assert default_folder(0.1) == tmp_path / "elsewhere" / "tpch" / "sf0.1"


def test_a_generator_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = tmp_path / "tpchgen-cli"
    monkeypatch.setattr("forward_lineage.demo.tpch_data._tpchgen", lambda: generator)
    generator.write_text("#!/bin/sh\necho no room >&2; exit 3\n")
    generator.chmod(0o755)
    with pytest.raises(
        SetupError, match=r"tpchgen-cli failed at scale factor 0\.001: no room\. See that there is room"
    ):
        generate(TINY, tmp_path / "sf")
    generator.write_text("#!/bin/sh\n")
    with pytest.raises(SetupError, match=r"wrote no complete TPC-H data at scale factor 0\.001\. Install it again"):
        generate(TINY, tmp_path / "sf")
    assert not (tmp_path / "sf").exists()
