"""Saves that cannot end: their driver dies, a disk is full, the home is not shared. Nothing half written counts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forward_lineage.storage.locks import Lock
from forward_lineage.store.library.library import Library
from tests.cluster import asking
from tests.cluster.driver import PATIENCE, Driver
from tests.cluster.processes import marked, wait_for
from tests.cluster.standalone import Cluster
from tests.cluster.trouble import Told, files_of

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

MOMENTS = ("map", "reduce", "before it counts")


@pytest.mark.parametrize("query", asking.QUERIES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_driver_that_is_killed(
    cluster: Cluster, data: Path, told: Told, wanted: Any, tmp_path: Path, moment: str, query: str
) -> None:
    """What was saved before answers as it did; the next save clears away what the dead one left, and works."""
    home = tmp_path / "home"
    places = data, home, told.folder, query
    told.do()
    with Driver(cluster, tmp_path / "first.log") as first:
        assert first.call(asking.saved, *places) == wanted(asking.saved, query)
        before = files_of(home)
        told.do(**({moment: "wait"} if moment != MOMENTS[-1] else {"reduce": "wait"}))
        save = first.submit(asking.saved, *places)
        wait_for("tasks in the middle", lambda: told.notes("arrived-*"))
        if moment == MOMENTS[-1]:
            with Lock(home / "results" / ".lock"):  # which publishing waits for
                told.go_on()
                wait_for("all to be written", lambda: waits_for_a_lock(first.pid))
                kill(first, cluster)
        else:
            kill(first, cluster)
        assert save.exception(PATIENCE) is not None
    assert set(before) < set(files_of(home)), "the dead driver left what it had begun"
    assert Library(home).newest(query) == 1
    told.do()
    with Driver(cluster, tmp_path / "second.log") as second:
        assert second.call(asking.saved, *places) == wanted(asking.saved, query)
    library = Library(home)
    assert library.newest(query) == 2
    assert [each.name for each in (library.folder / query).glob("data-*")] == [library.get(query).data]


@pytest.mark.parametrize("query", asking.QUERIES)
def test_a_java_process_that_is_killed(cluster: Cluster, data: Path, told: Told, tmp_path: Path, query: str) -> None:
    """The driver's Python goes on: it says so in one line, and has cleared away what it had begun."""
    home = tmp_path / "home"
    places = data, home, told.folder, query
    told.do(reduce="wait")
    driver = Driver(cluster, tmp_path / "spark.log")
    save = driver.submit(asking.complaint, *places)
    wait_for("tasks in the middle", lambda: told.notes("arrived-*"))
    os.kill(driver.java, signal.SIGKILL)
    said = save.result(PATIENCE)
    assert said.startswith("FailedQueryError: Spark's Java process has ended"), said
    assert not list(home.glob(f"results/{query}/*"))
    driver.kill()
    wait_for("its executors' end", lambda: not cluster.executors())


@pytest.mark.parametrize("query", asking.QUERIES)
def test_a_full_home(cluster: Cluster, data: Path, told: Told, tmp_path: Path, query: str) -> None:
    told.do()
    home = tmp_path / "home"
    home.mkdir()
    with small_disk(home, "4m"), Driver(cluster, tmp_path / "spark.log") as driver:
        places = data, home, told.folder, query
        driver.call(asking.registered, *places[:3])
        before = files_of(home)
        fill(home, leave=8192)
        said = driver.call(asking.complaint, *places)
        assert said.startswith("SetupError: "), said
        assert "cannot be written" in said
        assert said.endswith("No space left on device. Make room there, or pass home= a folder that has some."), said
        assert [each for each in files_of(home) if each != "filling"] == before
        (home / "filling").unlink()
        assert driver.call(asking.complaint, *places) == "no error"
        assert Library(home).newest(query) == 1


def test_full_disks_of_executors(data: Path, told: Told, tmp_path: Path) -> None:
    """Where shuffle files go is full, on every worker."""
    told.do()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with small_disk(scratch, "32m"), Cluster(tmp_path / "cluster", scratch=scratch) as cluster:
        home = tmp_path / "home"
        with Driver(cluster, tmp_path / "spark.log") as driver:
            driver.call(asking.registered, data, home, told.folder)
            before = files_of(home)
            fill(scratch, leave=4096)
            said = driver.call(asking.complaint, data, home, told.folder, "grouped")
            assert said.startswith("FailedQueryError: "), said
            assert "No space left on device" in said
            assert said.endswith("SPARK_LOCAL_DIRS of the workers."), said
            assert "\n" not in said
            assert files_of(home) == before
            (scratch / "filling").unlink()
            assert driver.call(asking.complaint, data, home, told.folder, "grouped") == "no error"


def test_a_home_that_is_not_shared(data: Path, told: Told, tmp_path: Path) -> None:
    """Executors see another folder at the path of the home, an empty one."""
    told.do()
    home = tmp_path / "home"
    home.mkdir()
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("to give processes a view of the file system of their own takes a right that this user lacks")
    private = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none "{home}" && exec "$@"', "sh"]
    with (
        Cluster(tmp_path / "cluster", wrapper=private) as cluster,
        Driver(cluster, tmp_path / "spark.log") as driver,
    ):
        driver.call(asking.registered, data, home, told.folder)
        before = files_of(home)
        said = driver.call(asking.complaint, data, home, told.folder, "grouped")
        assert said.startswith(f"SetupError: {home}/results/grouped/data-"), said
        assert said.endswith("Pass home= a folder that driver and executors share under one path."), said
        assert files_of(home) == before
        for worker in cluster.workers:
            assert not list(Path(f"/proc/{worker.process.pid}/root{home}").iterdir()), "executors wrote elsewhere"


def waits_for_a_lock(pid: int) -> bool:
    """Linux lists those that wait with an arrow: `1: -> FLOCK ADVISORY WRITE 1234 …`."""
    words = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any(each[1] == "->" and str(pid) in each for each in words)


def kill(driver: Driver, cluster: Cluster) -> None:
    """Kill a driver, and wait until its JVM and its executors have noticed."""
    driver.kill()
    wait_for("the driver's JVM to end", lambda: driver.java not in marked(cluster.mark))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Have a folder be a file system of its own, in memory."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system that is full is mounted, which takes root and the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int) -> None:
    """Fill a file system up to some bytes."""
    free = os.statvfs(folder)
    (folder / "filling").write_bytes(bytes(free.f_bavail * free.f_frsize - leave))
