"""Servers without the kernel, or with another one: said at once, with what to start them with."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.connect import asking
from tests.connect.client import Client
from tests.connect.server import Server, kernel_settings
from udafs.build import build_kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.since("4.0", "a server of Spark Connect among PySpark's jars"),
]

PLUGIN = "spark.connect.extensions.relation.classes"


def _begun(folder: Path, settings: dict[str, str]) -> tuple[str, str]:
    (folder / "server").mkdir()
    with Server(folder / "server", settings) as server, Client(server.url()) as client:
        return client.call(asking.begun, folder / "home")


def test_without_the_kernel(tmp_path: Path) -> None:
    kind, text = _begun(tmp_path, {})
    assert kind == "SetupError"
    assert text.startswith(
        "this Spark Connect server does not have the lineage kernel. A client cannot bring the kernel"
    )
    assert all(f"--conf {key}=" in text for key in kernel_settings())


@pytest.mark.long
def test_with_the_kernel_and_without_the_plugin(tmp_path: Path) -> None:
    settings = {key: value for key, value in kernel_settings().items() if key != PLUGIN}
    kind, text = _begun(tmp_path, settings)
    assert (kind, text.partition(".")[0]) == (
        "SetupError",
        "this Spark Connect server does not have the lineage kernel",
    )


@pytest.mark.long
def test_a_plugin_that_is_not_there(tmp_path: Path) -> None:
    kind, text = _begun(tmp_path, {PLUGIN: kernel_settings()[PLUGIN]})
    assert kind == "SetupError"
    assert text.startswith("this Spark Connect server names the lineage kernel, and has no jar of it")


@pytest.mark.long
def test_the_plugin_alone(tmp_path: Path) -> None:
    settings = {key: value for key, value in kernel_settings().items() if key != "spark.sql.extensions"}
    assert _begun(tmp_path, settings) == ("", "")


@pytest.mark.long
def test_the_kernel_of_another_release(tmp_path: Path) -> None:
    jar = tmp_path / "kernel.jar"
    with zipfile.ZipFile(build_kernel()) as ours, zipfile.ZipFile(jar, "w") as other:
        for each in ours.namelist():
            other.writestr(each, b"0" * 16 if each == "forwardlineage/sources" else ours.read(each))
    kind, text = _begun(tmp_path, kernel_settings() | {"spark.jars": str(jar)})
    shutil.rmtree(tmp_path / "server")
    assert (kind, text.partition(".")[0]) == (
        "SetupError",
        "the server has the kernel of another release of forward_lineage",
    )
