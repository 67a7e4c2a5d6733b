"""Tables with a log that Spark's catalogs know by name: where the log of each is now.

The folder of a Delta table says which version is the current one. Of an Iceberg table only its catalog does, whatever
kind it is (Hadoop, Hive, REST, JDBC): it is asked each time, past what Spark's session keeps of the table.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from forward_lineage.row_ids.formats.iceberg import place_of
from forward_lineage.row_ids.formats.log_files import LogPath, located
from forward_lineage.row_ids.formats.versions import FORMATS, Table
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.secrets import check_addresses
from forward_lineage.spark import far_files
from forward_lineage.spark.errors import NOT_FOUND, spark_errors
from forward_lineage.spark.names import joined, split_name
from forward_lineage.spark.paths import is_address, is_local
from forward_lineage.spark.tables import full_name, open_table
from udafs.attach import is_remote
from udafs.errors import ChangedError, LineageError, NotTracedError, WrongSqlError
from udafs.requests import ask_json

_SESSION_CATALOG = "spark_catalog"
_WITH_CATALOG = 3  # parts of a name, at least


def by_name(spark: SparkSession, name: str) -> Table | None:
    """Return the table with a log that Spark knows by a name; None: it is of another kind.

    Raises:
        WrongSqlError: there is no such table.
        NotTracedError: it is one in another catalog than Spark's own, and its name does not say which; or one whose log
            is not read from here.

    """
    open_table(spark, name)
    identity = full_name(spark, name)
    if identity is None:
        return None
    _check_whole(spark, identity)
    table = of_identity(spark, identity)
    if table is None:
        return None
    catalog, *_, own = split_name(identity, keep_case=True)
    if catalog.lower() != _SESSION_CATALOG and len(split_name(name)) < _WITH_CATALOG:
        raise NotTracedError(
            f"{name} is in the catalog {catalog}, and a name without it means another table after USE",
            instead=f'Say all of it: lineage.register("{catalog}.….{own}").',
        )
    return table


def _check_whole(spark: SparkSession, identity: str) -> None:
    """Check that a name is not that of a branch, a tag or the files of another table: `db.orders.branch_audit`."""
    *above, own = split_name(identity, keep_case=True)
    try:
        with spark_errors():
            ask_json(spark, "name of log", name=joined(above))
    except LineageError:  # no table is called that
        return
    raise NotTracedError(
        f"{own} is no table, but a branch, a tag or another reading of {'.'.join(above)}",
        instead="Register that. Its earlier versions and tags are read with VERSION AS OF.",
    )


def of_identity(spark: SparkSession, identity: str) -> Table | None:
    """Return the same for the full name of a table, in backticks.

    Raises:
        NotTracedError: the session is a client of Spark Connect.
        ChangedError: there is no such table any more.
        BadArgumentError: the address of its log holds a user or a password.
        SetupError: the session does not know the file system of its log.

    """
    with spark_errors(instead=f"Look whether {identity} is there, and may be read."):
        said = ask_json(spark, "name of log", name=identity)
    provider = FORMATS.get(said.get("provider", "").lower())
    if provider is None:
        return None
    location = said.get("location", "")
    if is_remote(spark):
        raise NotTracedError(
            f"{identity} has its log in {location}, and no client of Spark Connect reads logs",
            instead='Give key=, or save a copy and register that: spark.table("…").write.parquet("a_copy").',
        )
    if provider is Provider.ICEBERG:
        _check_branch(identity, said.get("branch"))
        location = said["metadata"]
    return Table(provider, _place(spark, location), identity)


def _check_branch(identity: str, branch: str | None) -> None:
    if branch is not None:
        raise NotTracedError(
            f"Spark reads the branch {branch} of {identity}, by spark.wap.branch, and its main branch is registered",
            instead='Run spark.conf.unset("spark.wap.branch").',
        )


def _place(spark: SparkSession, location: str) -> LogPath:
    """Return a location, in which catalogs encode nothing, so that a table is the same by its name and by its path."""
    if is_local(location) and (is_address(location) or far_files.default_is_local(spark)):
        return Path(place_of(location))
    check_addresses([location])
    return located(spark, far_files.qualified(spark, location))


def current(spark: SparkSession, identity: str, name: str) -> Table:
    """Return where the log of a registered table is now.

    Raises:
        ChangedError: the name means no table, or one of another kind.

    """
    try:
        found = of_identity(spark, identity)
    except WrongSqlError as error:
        if error.condition != NOT_FOUND:
            raise
        found = None
    if found is None:
        raise ChangedError(f"{name} is no table with a log any more", instead=f'Register "{name}" again.')
    return found
