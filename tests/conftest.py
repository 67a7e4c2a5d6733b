"""One Spark session for each process of the suite; real TPC-H data, generated once and reused."""

from __future__ import annotations

import gc
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from forward_lineage import LineageError
from forward_lineage.spark.local import local_session
from tests import class_archive, spark_context
from tests.object_server import ObjectServer, new_cache
from tests.shared_state import SharedState
from tpch_queries.data import generate
from udafs.build import CACHE_VARIABLE, spark_version
from udafs.versions import check_version

REPOSITORY = Path(__file__).resolve().parent.parent

# Many short queries on few cores: the optimising compiler and parallel collectors cost more than they give. Without the
# compiler Java reserves 48 MB for compiled code, which are full after two minutes; what comes later is interpreted.
# Classes take 200 MB: with Java's 21 to begin with, each process collects its whole heap once or twice for them.
# Programs that tests start have Sparks of their own, which read this too.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -XX:NewSize=400m -XX:MetaspaceSize=512m",
)

# Java's command line is split at spaces.
ARCHIVES = REPOSITORY / ".data"
CAN_BE_NAMED = " " not in str(ARCHIVES)


def pytest_configure(config: pytest.Config) -> None:
    """Before the processes of the suite start; they and all programs that they start inherit the options."""
    version = check_version(spark_version())
    if version < (4, 0):  # it compares versions of pyarrow
        config.addinivalue_line("filterwarnings", "ignore:distutils Version classes are deprecated:DeprecationWarning")
    if version < (4, 2):  # there `collect` leaves its socket to the garbage collector
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
    if hasattr(config, "workerinput") or not CAN_BE_NAMED:
        return
    try:
        archive = class_archive.path(ARCHIVES)
    except LineageError:  # no Java: tests that need none can run
        return
    if getattr(config.option, "numprocesses", None):  # a few tests start faster without
        if not archive.exists():
            print("putting Spark's classes together for all tests (half a minute, once) …", flush=True)
            with tempfile.TemporaryDirectory() as scratch:
                class_archive.make(archive, Path(scratch))
        spark_context.compiled(ARCHIVES)  # else each process does
    if archive.exists():
        os.environ["SPARK_SUBMIT_OPTS"] += " " + class_archive.options(archive)


# Deadlines measure how busy the machine is, not whether the code is right.
settings.register_profile("forward_lineage", deadline=None)
settings.load_profile("forward_lineage")


# The quick tier has no Spark but here: the public calls.
QUICK_WITH_SPARK = (REPOSITORY / "tests" / "forward_lineage" / "test_session.py",)
# Processes of their own, a browser, a compiler, a server, waiting, thousands of draws.
SLOW_WITHOUT_SPARK = (
    "test_kernel_codecs", "test_campaign", "test_data", "test_shadowing", "test_in_browser", "test_object_homes",
    "test_brute_force", "test_object_store", "test_leases", "test_tpch_data", "test_start", "test_algebra",
    "test_engine", "test_links", "test_registration_store", "test_adding_up", "test_bdd_manager", "test_roaring",
    "test_stale_cells", "test_saving",
)  # fmt: skip


# What takes long for its number of tests, the longest first: begun last, each would keep one process busy while others
# have nothing left to do. What is left is short, and begins with the files of many tests.
LONGEST = (
    "test_docs", "test_connect", "test_golden", "test_corpus", "test_in_pyspark", "test_scope", "test_tpch",
    "test_small_scale", "test_questions", "test_in_browser", "test_stored_tables", "test_by_reference",
    "test_linked_views", "test_sources", "test_capture", "test_against_spark", "test_calls", "test_kernel_aggregation",
    "test_registering_delta", "test_object_home", "test_programs", "test_running", "test_saving", "test_answers",
    "test_staging", "test_algebra", "test_shell", "test_store", "test_inserts", "test_openlineage",
    "test_hostile_names", "test_catalog_commands", "test_known_values", "test_workloads", "test_dependencies",
    "test_notebook", "test_anywhere", "test_functions", "test_growing", "test_laws", "test_story",
    "test_determinism", "test_session", "test_object_homes", "test_tpch_frames", "test_calls_by_hand", "test_build",
    "test_kills", "test_check",
    "test_spark_functions", "test_weightless_lineage", "test_brute_force", "test_marks", "test_profiling",
    "test_explore", "test_lineage", "test_kernel_codecs",
)  # fmt: skip


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files alone all of whose tests are slow, where no slow ones are asked for; None: pytest decides."""
    return ("not slow" in config.option.markexpr and collection_path.stem in SLOW_WITHOUT_SPARK) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long as slow; long files first."""
    spark = spark_version()  # looked up in the folder of PySpark's jars
    for item in items:
        with_spark = "spark" in getattr(item, "fixturenames", ()) and item.path not in QUICK_WITH_SPARK
        if with_spark or item.path.stem in SLOW_WITHOUT_SPARK:
            item.add_marker(pytest.mark.slow)
        leave_out_what_is_newer(item, spark)
    tests_of = Counter(item.path for item in items)
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (rank.get(item.path.stem, len(rank)), -tests_of[item.path], str(item.path)))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: thousands of tests, which each full collection of garbage would visit."""
    gc.collect()
    gc.freeze()


def leave_out_what_is_newer(item: pytest.Item, spark: str) -> None:
    """Skip a test that is marked `since` a later version than Spark's; the reason is what `make test-spark` tells."""
    for mark in item.iter_markers("since"):
        version, why = mark.args
        if check_version(spark) < check_version(version):
            item.add_marker(pytest.mark.skip(reason=f"since Spark {version}: {why}"))


@pytest.fixture(scope="session")
def shared_state() -> SharedState:
    return SharedState()


@pytest.fixture(scope="module", autouse=True)
def _as_at_the_beginning(shared_state: SharedState) -> Iterator[None]:
    """What a file leaves behind is put back after all that its own fixtures put back."""
    yield
    shared_state.put_back()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, shared_state: SharedState) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("spark")
    with spark_context.for_small_jobs(ARCHIVES):
        session = local_session(
            "forward_lineage tests",
            master="local[2]",
            driver_memory="2g",
            log=home / "spark.log",
            spark__sql__shuffle__partitions="2",
            spark__sql__warehouse__dir=str(home / "warehouse"),
            spark__python__daemon__module="tests.python_daemon",
            spark__executorEnv__PYTHONPATH=str(REPOSITORY),
            spark__buffer__pageSize="256k",  # each task that sorts or groups takes one, cleared: 30 MB, if not told
            spark__sql__codegen__wholeStage="false",  # see tests/spark_settings.py for these
            spark__sql__codegen__factoryMode="NO_CODEGEN",
            spark__sql__adaptive__enabled="false",
            spark__sql__ui__explainMode="simple",
            spark__forward_lineage__by_reference="true",  # tables of tests are so small that nothing would be a stage
            spark__forward_lineage__update="partly",  # nor would a part of a result be made again
        )
    shared_state.started(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    server = ObjectServer(tmp_path_factory.mktemp("store") / "requests.log")
    yield server
    server.close()


@pytest.fixture
def store_server(_server: ObjectServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ObjectServer:
    """A server that speaks S3, the environment saying where it is; what is cached of it goes with the test."""
    for name, value in _server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(CACHE_VARIABLE, str(new_cache(tmp_path / "cache")))
    _server.requests()
    return _server


@pytest.fixture(scope="session")
def tpch() -> Path:
    """The folder with the eight TPC-H tables at scale factor 0.01, `<table>.parquet` each."""
    return generate(0.01, REPOSITORY / ".data" / "tpch" / "sf0.01")
