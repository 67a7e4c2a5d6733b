"""The kernel's build: cached, whole or absent, and honest about what went wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from udafs.build import CACHE_VARIABLE, build_kernel, spark_jars
from udafs.errors import LineageError

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A kernel of one line: what is tested here is the build, not the kernel."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "One.scala").write_text(
        "package one\n\nclass One { def name: String = org.apache.spark.SPARK_VERSION }\n"
    )
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    return folder


@pytest.mark.slow
def test_built_once_and_again_when_a_source_changes(sources: Path, cache: Path, tmp_path: Path) -> None:
    jar = build_kernel(sources=sources)
    assert jar.parent == cache
    assert "one/One.class" in zipfile.ZipFile(jar).namelist()
    before = jar.stat().st_mtime_ns
    assert build_kernel(sources=sources) == jar
    assert jar.stat().st_mtime_ns == before
    copy = build_kernel(tmp_path / "deep" / "k.jar", sources=sources)
    assert copy.read_bytes() == jar.read_bytes()
    (sources / "Two.scala").write_text("package one\n\nclass Two\n")
    changed = build_kernel(sources=sources)
    assert changed != jar
    assert "one/Two.class" in zipfile.ZipFile(changed).namelist()
    assert sorted(cache.iterdir()) == sorted([jar, changed])


@pytest.mark.long  # a compiler's start; the kernel's own sources are in folders
def test_sources_in_folders(sources: Path, cache: Path) -> None:
    (sources / "deep" / "er").mkdir(parents=True)
    (sources / "deep" / "er" / "Two.scala").write_text("package one\n\nclass Two\n")
    jar = build_kernel(sources=sources)
    assert {"one/One.class", "one/Two.class"} <= set(zipfile.ZipFile(jar).namelist())
    (sources / "deep" / "er" / "Two.scala").rename(sources / "deep" / "Two.scala")
    assert build_kernel(sources=sources) != jar


@pytest.mark.long  # a compiler's start
def test_a_spark_without_the_server_of_connect(
    sources: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sources / "connect").mkdir()
    plugin = "package one\n\nclass Plugin { def of: org.apache.spark.sql.connect.plugin.RelationPlugin = null }\n"
    (sources / "connect" / "Plugin.scala").write_text(plugin)
    whole = build_kernel(sources=sources)
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    for jar in spark_jars().glob("*.jar"):
        if not jar.name.startswith("spark-connect"):
            (tmp_path / "spark" / "jars" / jar.name).symlink_to(jar)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    less = build_kernel(sources=sources)
    assert less != whole
    names = [zipfile.ZipFile(jar).namelist() for jar in (less, whole)]
    assert ["one/Plugin.class" in each for each in names] == [False, True]
    assert all("one/One.class" in each for each in names)


@pytest.mark.slow
def test_what_does_not_compile_shows_the_compilers_message(sources: Path, cache: Path) -> None:
    (sources / "Bad.scala").write_text('class Bad { val n: Int = "x" }\n')
    with pytest.raises(LineageError, match=r"(?s)does not|do not compile.*Bad\.scala:1: error: type mismatch"):
        build_kernel(sources=sources)
    assert list(cache.iterdir()) == []


@pytest.mark.slow
def test_two_processes_at_once(sources: Path, cache: Path) -> None:
    program = (
        "from pathlib import Path; from udafs.build import build_kernel; "
        f"print(build_kernel(sources=Path({str(sources)!r})))"
    )
    environment = {**os.environ, CACHE_VARIABLE: str(cache)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=200)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0]
    (jar,) = printed
    assert [str(file) for file in cache.iterdir()] == [jar]
    assert zipfile.ZipFile(jar).testzip() is None


def test_no_java(sources: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LineageError, match="no java to compile"):
        build_kernel(sources=sources)


def test_no_spark(sources: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(LineageError, match="no Spark in"):
        build_kernel(sources=sources)


def test_no_sources(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(LineageError, match="no Scala sources"):
        build_kernel(sources=tmp_path)
