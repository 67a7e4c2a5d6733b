"""The dbt project: a real dbt runs its five models over a real Thrift server, and the last one knows its scans."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.forward_lineage.door.thrift_server import ThriftServer, kernel_settings, rows_of
from tests.structure import REPOSITORY
from tests.walmart_demo.dbt_program import NoDbtError, dbt
from walmart_demo.data import generate
from walmart_demo.items import BAD_RECORD

PROJECT = REPOSITORY / "walmart_demo" / "dbt"
MODELS = ("scans", "items", "described_scans", "store_categories", "city_categories")

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return dbt()
    except NoDbtError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, where a user would have it, with the data of one store."""
    folder = tmp_path_factory.mktemp("dbt") / "project"
    shutil.copytree(PROJECT, folder)
    generate(1, folder=folder / "data")
    return folder


@pytest.fixture(scope="module")
def server(program: Path, folder: Path) -> Iterator[ThriftServer]:
    given = dict(line.split() for line in (folder / "server.conf").read_text().splitlines() if line)
    assert given.keys() >= kernel_settings(folder).keys()
    settings = given | kernel_settings(folder / given["spark.forward_lineage.home"])
    with ThriftServer(folder, settings) as running:
        running.script(folder / "sources.sql")
        done = _run(program, folder, running)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"PASS={len(MODELS)} " in done.stdout
        yield running


def _run(program: Path, folder: Path, server: ThriftServer) -> subprocess.CompletedProcess[str]:
    settings = {"THRIFT_PORT": str(server.port), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    command = [str(program), "--no-use-colors", "run", "--profiles-dir", "."]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, check=False, timeout=600
    )


def test_there_are_the_models_that_are_told() -> None:
    assert {each.stem for each in (PROJECT / "models").rglob("*.sql")} == set(MODELS)


def test_each_row_of_the_last_model_knows_its_rows_of_all_sources(server: ThriftServer, folder: Path) -> None:
    names = ("item_scan", "item_description", "store_visits", "store_information")
    ids = ", ".join(f"dl_ids(DL.`walmart.{name}`)" for name in names)
    printed = server.beeline(f"SELECT city, category_nbr, items, amount, {ids} FROM reports.city_categories")
    assert {tuple(row) for row in rows_of(printed)} == _expected(folder)


def _expected(folder: Path) -> set[tuple[str, ...]]:
    """The last model and its lineage, computed over the files."""
    scans, descriptions, visits, stores = (
        pq.read_table(folder / "data" / f"{name}.parquet").to_pylist()
        for name in ("item_scan", "item_description", "store_visits", "store_information")
    )
    category = {each["item_nbr"]: each["category_nbr"] for each in descriptions}
    city = {each["store_nbr"]: each["city"] for each in stores}
    visited = {each["visit_nbr"] for each in visits}
    groups: dict[tuple[str, int], list[tuple[int, dict[str, int]]]] = defaultdict(list)
    for place, scan in enumerate(scans):
        if scan["visit_nbr"] in visited and scan["item_nbr"] in category:
            groups[city[scan["store_nbr"]], category[scan["item_nbr"]]].append((place, scan))
    return {
        (
            key[0],
            str(key[1]),
            str(sum(scan["item_quantity"] for _, scan in made_of)),
            str(sum(scan["total_scan_amount"] for _, scan in made_of)),
            _list(place for place, _ in made_of),
            _list({scan["item_nbr"] for _, scan in made_of}),
            _list({scan["visit_nbr"] for _, scan in made_of}),
            _list({scan["store_nbr"] for _, scan in made_of}),
        )
        for key, made_of in groups.items()
    }


def _list(ids: object) -> str:
    return f"[{','.join(map(str, sorted(ids)))}]"  # type: ignore[call-overload]


def test_the_questions(server: ThriftServer, folder: Path) -> None:
    """Forward from the training item's record, and backward to its scans."""
    rows = rows_of(server.script(folder / "questions.sql", "reports"))
    sold = [
        scan
        for scan in pq.read_table(folder / "data" / "item_scan.parquet").to_pylist()
        if scan["item_nbr"] == BAD_RECORD.item_nbr
    ]
    assert sold
    scans = {row[:2] for row in rows if len(row) == 3 and row[1] == str(BAD_RECORD.item_nbr)}
    assert scans == {(str(scan["visit_nbr"]), str(scan["item_nbr"])) for scan in sold}
    assert any(row[1] == str(BAD_RECORD.category_nbr) for row in rows)


def test_it_runs_again(server: ThriftServer, program: Path, folder: Path) -> None:
    """dbt drops each table and makes it anew."""
    question = "SELECT count(*), sum(dl_size(DL.`walmart.item_scan`)) FROM reports.city_categories"
    before = rows_of(server.beeline(question))
    done = _run(program, folder, server)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows_of(server.beeline(question)) == before
