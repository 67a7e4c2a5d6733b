"""The engines of Delta and Iceberg for the Spark that is installed: their jars, and what a session needs of settings.

`make test-lakes` has an environment of its own, with `SPARK`: engines are made for one version of it each.
Maven fetches the jars (`mvn dependency:copy`), once: they are kept in the folder of what can be had again, beside the
kernel's (`udafs.build.cache_folder`). Where there is no Maven, or it reaches no repository, tests say so and skip.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from udafs.build import cache_folder, spark_version

FORMATS = ("delta", "iceberg")
SPARK = "4.1"
"""The version of `make test-lakes` if none is named, its newest patch."""


def _delta_4_4(spark: str) -> tuple[str, ...]:
    parts = (f"spark_{spark}_2.13", "storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
    return tuple(f"io.delta:delta-{part}:4.4.0" for part in parts)


#: Spark → format → Maven's names of what it needs, the newest of each. Nobody has made one for those that are missing.
ARTIFACTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "3.5": {
        "delta": ("io.delta:delta-spark_2.12:3.3.3", "io.delta:delta-storage:3.3.3"),
        "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",),
    },
    "4.0": {
        "delta": _delta_4_4("4.0"),
        "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",),
    },
    "4.1": {
        "delta": _delta_4_4("4.1"),
        "iceberg": ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",),
    },
    "4.2": {"delta": _delta_4_4("4.2")},
}
ASKED = "FORWARD_LINEAGE_LAKES"
"""The variable that `make test-lakes` sets: no other run of tests fetches jars, or starts these engines."""
SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
"""The database of Iceberg's JDBC catalog."""
CATALOG = "ice"
"""The catalog of Iceberg's tables; Delta's are in Spark's own."""
#: Hadoop → the SDK that its file system `s3a:` is made for.
_AWS: Mapping[str, str] = {"3.4.1": "2.24.6", "3.4.2": "2.29.52"}
_PATIENCE = 300  # seconds for a jar
#: Format → the class that lets Spark read its statements.
EXTENSIONS = {
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}


class NoEngineError(Exception):
    """The engine of a format is not to be had here; the message says why."""


def hadoop_version() -> str:
    """Return the version of Hadoop that PySpark has."""
    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return client.stem.removeprefix("hadoop-client-api-")


def s3a_jars() -> list[Path]:
    """Return the jars of Hadoop's file system for S3, fetched first where they are not there.

    Raises:
        NoEngineError: there is none for this Hadoop, no Maven, or Maven does not find it.

    """
    hadoop = hadoop_version()
    if hadoop not in _AWS:
        raise NoEngineError(f"no s3a: is known for Hadoop {hadoop}, but for {' and '.join(_AWS)}")
    names = (f"org.apache.hadoop:hadoop-aws:{hadoop}", f"software.amazon.awssdk:bundle:{_AWS[hadoop]}")
    return [fetched(name) for name in names]


def with_s3a() -> dict[str, str]:
    """Return the settings by which a session knows `s3a:`; none where its jars are not to be had."""
    try:
        found = s3a_jars()
    except NoEngineError:
        return {}
    # Not among spark.jars, each of which Spark copies: there are 600 MB of them.
    return {"spark.driver.extraClassPath": ":".join(map(str, found))}


def jars(kind: str) -> list[Path]:
    """Return the jars of a format's engine, fetched first where they are not there.

    Raises:
        NoEngineError: there is no engine for this Spark, no Maven, or Maven does not find it.

    """
    spark = ".".join(spark_version().split(".")[:2])
    artifacts = ARTIFACTS.get(spark, {}).get(kind)
    if artifacts is None:
        known = [version for version, formats in ARTIFACTS.items() if kind in formats]
        raise NoEngineError(f"no {kind} engine is known for Spark {spark}, but for {', '.join(known)}")
    return [fetched(artifact) for artifact in artifacts]


def available() -> tuple[str, ...]:
    """Return the formats whose engine is to be had for this Spark.

    Raises:
        NoEngineError: none is; see `jars`.

    """
    found, missing = [], []
    for kind in FORMATS:
        try:
            jars(kind)
            found.append(kind)
        except NoEngineError as error:
            missing.append(error)
    if not found:
        raise missing[0]
    return tuple(found)


def fetched(artifact: str) -> Path:
    """Return a jar, which Maven fetches first where it is not there.

    Raises:
        NoEngineError: there is no Maven, or it does not find it.

    """
    _, name, version = artifact.split(":")
    place = cache_folder() / "lake-jars" / f"{name}-{version}.jar"
    if place.exists():
        return place
    maven = shutil.which("mvn")
    if maven is None:
        raise NoEngineError(f"there is no mvn on PATH to fetch {artifact} with")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        copy = [maven, "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={scratch}"]
        try:
            done = subprocess.run(copy, cwd=scratch, capture_output=True, timeout=_PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise NoEngineError(f"mvn did not bring {artifact} in {_PATIENCE} seconds") from None
        found = Path(scratch) / place.name
        if done.returncode or not found.exists():
            raise NoEngineError(f"mvn does not find {artifact}")
        found.replace(place)
    return place


def lake_session(
    root: Path, *kinds: str, memory: str = "2g", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start the session of a process, with the engines of some formats and a catalog for Iceberg's tables.

    Args:
        root: the folder of the tables.
        kinds: ``delta``, ``iceberg`` or both.
        memory: of the driver.
        settings: others than these have, or more of them.

    Raises:
        NoEngineError: see `jars`.

    """
    needed = [jar for kind in kinds for jar in jars(kind)] + ([fetched(SQLITE)] if "iceberg" in kinds else [])
    chosen = {
        "spark.jars": ",".join(map(str, needed)),
        "spark.sql.extensions": ",".join(EXTENSIONS[kind] for kind in kinds),
        "spark.sql.warehouse.dir": str(root / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
    }
    if "delta" in kinds:
        chosen["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        chosen["spark.databricks.delta.snapshotPartitions"] = "1"  # else 50 tasks whenever a log is read
    if "iceberg" in kinds:
        chosen[f"spark.sql.catalog.{CATALOG}"] = "org.apache.iceberg.spark.SparkCatalog"
        chosen[f"spark.sql.catalog.{CATALOG}.type"] = "hadoop"
        chosen[f"spark.sql.catalog.{CATALOG}.warehouse"] = str(root / "lake")
    spelled = {key.replace(".", "__"): value for key, value in {**chosen, **(settings or {})}.items()}
    return local_session("lakes", master="local[2]", driver_memory=memory, log=root / "spark.log", **spelled)
