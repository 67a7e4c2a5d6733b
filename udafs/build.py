"""Compile the kernel: Scala sources in, one jar out, cached for each Spark and each state of the sources.

The compiler is the one that PySpark ships among its own jars, so a Java runtime is all it takes (ten seconds, once).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyspark

from udafs.errors import SetupError
from udafs.versions import check_version, sources_for

SOURCES = Path(__file__).with_name("scala")
CACHE_VARIABLE = "FORWARD_LINEAGE_CACHE"
CONNECT = "connect"  # the folder of sources that need Spark Connect's server
_CATALYST = re.compile(r"spark-catalyst_(?P<scala>[\d.]+)-(?P<spark>.+)\.jar")
# One compilation is over before Java's optimising compiler, which takes both cores meanwhile, has paid for itself.
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date a jar can hold: equal sources give equal jars


def build_kernel(output: Path | None = None, *, sources: Path = SOURCES) -> Path:
    """Return the kernel's jar, compiled first when the cache has none for this Spark and these sources.

    Args:
        output: where to put a copy of the jar; by default the jar stays in the cache.
        sources: folder of the Scala files, which may lie in folders of their own.

    Returns:
        Path of the jar: ``output`` when given, else its place in the cache (``$FORWARD_LINEAGE_CACHE``, else
        ``forward_lineage`` in the user's cache folder).

    Raises:
        SetupError: no Java, no Spark, one that the kernel is not made for, or a source that does not compile (with what
            the compiler said).

    """
    spark = spark_version()
    files = scala_files(sources, check_version(spark))
    made_from = _hash(sources, files)
    kind = "" if has_connect() else "-without-connect"
    cached = cache_folder() / f"kernel-{spark}-{made_from}{kind}.jar"
    if not cached.exists():
        _build([file for file in files if has_connect() or file.parent.name != CONNECT], cached, made_from)
    if output is None:
        return cached
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(cached, output)
    return output


def kernel_sources(spark: str) -> str:
    """Return a checksum of the sources of the kernel for a version of Spark; the jar says it, too.

    Raises:
        SetupError: the kernel is not made for this version.

    """
    return _hash(SOURCES, scala_files(SOURCES, check_version(spark)))


def has_connect() -> bool:
    """Tell whether Spark has the server of Spark Connect; without it the kernel has no door for it."""
    return any(spark_jars().glob("spark-connect_*.jar"))


def _build(files: Sequence[Path], cached: Path, made_from: str) -> None:
    cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached.parent, prefix="building-") as folder:
        classes = Path(folder) / "classes"
        classes.mkdir()
        compile_scala(files, classes)
        (classes / "forwardlineage").mkdir(exist_ok=True)
        (classes / "forwardlineage" / "sources").write_text(made_from, encoding="ascii")
        _publish(_pack(classes, Path(folder) / "kernel.jar"), cached)


def _publish(jar: Path, cached: Path) -> None:
    """Rename, so that another process sees the whole jar or none; who comes second replaces it by an equal one."""
    jar.replace(cached)


def cache_folder() -> Path:
    """Return the folder of what can be had again: $FORWARD_LINEAGE_CACHE, else one in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "forward_lineage"


def spark_jars() -> Path:
    """Folder of the jars of $SPARK_HOME, else of the installed PySpark."""
    home = os.environ.get("SPARK_HOME")
    return (Path(home) if home else Path(pyspark.__file__).parent) / "jars"


def spark_version() -> str:
    """Return the version of the Spark in `spark_jars`, as in ``"4.3.0"``.

    Raises:
        SetupError: there is none.

    """
    jars = spark_jars()
    for jar in sorted(jars.glob("spark-catalyst_*.jar")):
        if match := _CATALYST.fullmatch(jar.name):
            return match["spark"]
    raise SetupError(f"no Spark in {jars}", instead="Install pyspark, or point SPARK_HOME at a Spark distribution.")


def _hash(sources: Path, files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for source in files:
        place = source.relative_to(sources).as_posix()
        digest.update(place.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def scala_files(sources: Path, version: tuple[int, int]) -> list[Path]:
    """Return the files of a folder that are compiled for a version of Spark, (major, minor), in order.

    Raises:
        SetupError: there are none.

    """
    files = sources_for(version, sorted(sources.rglob("*.scala")))
    if not files:
        raise SetupError(f"no Scala sources in {sources}", instead="Install forward_lineage again.")
    return files


def compile_scala(files: Sequence[Path], classes: Path, libraries: Sequence[Path] = ()) -> None:
    """Compile Scala files against Spark's jars and ``libraries`` into the folder ``classes``.

    Raises:
        SetupError: no Java, or the files do not compile; holds what the compiler said.

    """
    jars = spark_jars()
    options = ["-usejavacp", "-deprecation", "-feature", "-opt:l:method", "-d", str(classes)]
    scalac = [java(), *_QUICK_START, "-cp", class_path(*libraries), "scala.tools.nsc.Main"]
    command = [*scalac, *options, *(str(file) for file in files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise SetupError(
            f"the Scala sources do not compile against the Spark in {jars}",
            instead=f"Install the pyspark that forward_lineage requires. The compiler says:\n{said}\n",
        )


def class_path(*libraries: Path) -> str:
    """Spark's jars and ``libraries`` as java takes them."""
    return os.pathsep.join([*(str(library) for library in libraries), f"{spark_jars()}/*"])


def java() -> str:
    """Return the java that compiles: $JAVA_HOME/bin/java, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        raise SetupError("there is no java to compile the kernel with", instead="Install Java 17 or set JAVA_HOME.")
    return java


def _pack(classes: Path, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in classes.rglob("*") if path.is_file()):
            archive.writestr(zipfile.ZipInfo(file.relative_to(classes).as_posix(), _EPOCH), file.read_bytes())
    return jar
