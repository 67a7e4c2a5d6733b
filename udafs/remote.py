"""Sessions of Spark Connect: the kernel is the server's, and is asked through a plugin of ours there.

A request is a relation whose rows are its answer, see `udafs/scala/connect/RequestPlugin.scala`. This module is
imported where there is such a session only: it needs what PySpark's Connect client needs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect import proto
from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame
from pyspark.sql.connect.plan import CachedRemoteRelation, LogicalPlan, RemoveRemoteCachedRelation

from udafs.build import kernel_sources
from udafs.errors import SetupError
from udafs.versions import check_version

SETTINGS = {
    "spark.jars": "lineage-kernel.jar",
    "spark.sql.extensions": "forwardlineage.LineageExtensions",
    "spark.connect.extensions.relation.classes": "forwardlineage.ConnectRequests",
}
"""What a server is started with; the jar is what `forward-lineage kernel --output` writes."""

_EXECUTE = "/spark.connect.SparkConnectService/ExecutePlan"
_SECONDS = 30
_UNDER_WAY: set[Any] = set()
_MARK = "forward_lineage\0"  # as in RequestPlugin.scala; no SQL begins with it
_NO_PLUGIN = re.compile(r"NO_HANDLER_FOR_EXTENSION|No handler found for extension")
_NO_CLASS = re.compile(r"ClassNotFoundException: forwardlineage|forwardlineage\.ConnectRequests")
_REMEDY = (
    "A client cannot bring the kernel: write it with `forward-lineage kernel --output lineage-kernel.jar`, and start "
    "the server with " + " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items()) + "."
)


class _Request(LogicalPlan):
    """A request as a relation; two of them are never one to the server's cache of plans, as they have no number."""

    def __init__(self, text: str, frames: Sequence[DataFrame]) -> None:
        super().__init__(None)
        self._text, self._frames = text, frames

    def plan(self, session: Any) -> proto.Relation:
        message = proto.WithRelations()
        message.root.sql.query = _MARK + self._text
        for frame in self._frames:
            logical: LogicalPlan = cast(RemoteFrame, frame)._plan
            message.references.append(logical.plan(session))
        relation = proto.Relation()
        relation.extension.Pack(message)
        return relation


class _Kept(CachedRemoteRelation):
    """A DataFrame that the server keeps until this plan, and all that were made from it, are gone here.

    PySpark's own class waits for the server's answer when it goes, and tries again for minutes where there is no server
    any more. This one says so once and goes.
    """

    def __del__(self) -> None:
        client: Any = self._spark_session.client
        if client.is_closed:
            return
        with suppress(Exception):  # nobody hears of it
            request = client._execute_plan_request_with_metadata()
            if client._user_id:
                request.user_context.user_id = client._user_id
            request.plan.command.CopyFrom(RemoveRemoteCachedRelation(self).command(session=client))
            method = client._channel.unary_unary(
                _EXECUTE,
                request_serializer=proto.ExecutePlanRequest.SerializeToString,
                response_deserializer=proto.ExecutePlanResponse.FromString,
            )
            said = method.future(request, metadata=client._builder.metadata(), timeout=_SECONDS)
            _UNDER_WAY.add(said)  # one that is forgotten is cancelled
            said.add_done_callback(_UNDER_WAY.discard)


def ask(spark: SparkSession, text: str, frames: Sequence[DataFrame]) -> str:
    """Send a request to the server; see `udafs.requests.ask`."""
    found: Any = RemoteFrame(_Request(text, frames), spark)  # type: ignore[arg-type]
    return b"".join(bytes(row[0]) for row in found.collect()).decode()


def ask_frame(spark: SparkSession, text: str, frames: Sequence[DataFrame]) -> DataFrame | None:
    """Send a request whose answer is a DataFrame, which the server keeps as long as it is used here."""
    name = ask(spark, text, frames)
    return RemoteFrame(_Kept(name, spark), spark) if name else None  # type: ignore[arg-type]


def greet(spark: SparkSession) -> None:
    """Check that the server has this package's kernel.

    Raises:
        SetupError: it has none, another one, or cannot be reached; or it is another version of Spark than this client.

    """
    try:
        server = spark.version
        found = None if _other_spark(server) else ask(spark, '{"ask": "kernel"}', ())
    except PySparkException as error:
        raise _no_kernel(error) from None
    if found is None:
        raise SetupError(
            f"the server runs Spark {server}, and this client has PySpark {pyspark.__version__}",
            instead=f'Install the server\'s version here: pip install "pyspark[connect]=={server}".',
        )
    if found != kernel_sources(server):
        raise SetupError(
            "the server has the kernel of another release of forward_lineage",
            instead="Write its jar with this one, `forward-lineage kernel --output …`, and start the server anew.",
        )


def _other_spark(server: str) -> bool:
    return check_version(server) != check_version(pyspark.__version__)


def _no_kernel(error: PySparkException) -> SetupError:
    said = str(error)
    if _NO_PLUGIN.search(said):
        return SetupError("this Spark Connect server does not have the lineage kernel", instead=_REMEDY)
    if _NO_CLASS.search(said):
        return SetupError("this Spark Connect server names the lineage kernel, and has no jar of it", instead=_REMEDY)
    first = " ".join(said.split("JVM stacktrace", maxsplit=1)[0].split())
    return SetupError(f"the Spark Connect server does not answer: {first}", instead="See whether it runs, and where.")
