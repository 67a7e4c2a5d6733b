"""Sessions that ask: each has a thread here, since statements of one wait for each other, and others do not."""

from __future__ import annotations

import threading
import traceback
from collections import OrderedDict
from queue import SimpleQueue
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.door.connection import Connection
from forward_lineage.door.session_lineage import SessionLineage, Settings
from forward_lineage.frontend import asks_for_lineage
from udafs.errors import InternalError, LineageError, NotTracedError, SparkError

_UNBOUND = "UNBOUND_SQL_PARAMETER"
MOST = 32
"""Sessions that are remembered, at most: those that asked last. One that was forgotten begins anew when it asks."""

Request = dict[str, Any]
"""``id``, ``session``, ``text`` and ``only_whether``, as `udafs/scala/door/PythonProcess.scala` writes them."""


class Visitors:
    """All sessions of an application.

    Args:
        port: of the gateway.
        secret: which it asks for.

    """

    def __init__(self, port: int, secret: str) -> None:
        self._connection = Connection(port, secret)
        self._settings = Settings.of(self._connection.context.getConf())
        self._known: OrderedDict[str, Visitor] = OrderedDict()

    def take(self, request: Request) -> None:
        """Hand a request to the thread of its session."""
        name = request["session"]
        if name not in self._known:
            self._known[name] = Visitor(self._connection, self._settings)
            self._known[name].start()
        self._known.move_to_end(name)
        self._known[name].requests.put(request)
        if len(self._known) > MOST:
            _, last = self._known.popitem(last=False)
            last.requests.put(None)


class Visitor(threading.Thread):
    """A session that asks.

    Args:
        connection: to the JVM.
        settings: of the application.

    Attributes:
        requests: what is asked; None: it goes.

    """

    def __init__(self, connection: Connection, settings: Settings) -> None:
        super().__init__(daemon=True)
        self.requests: SimpleQueue[Request | None] = SimpleQueue()
        self._connection, self._settings = connection, settings
        self._lineage: SessionLineage | None = None

    def run(self) -> None:
        """Answer one after another."""
        for request in iter(self.requests.get, None):
            try:
                self._answer(request)
            except LineageError as error:
                self._connection.desk.refuse(request["id"], str(error))
            except Exception as error:
                traceback.print_exc()
                told = InternalError(f"{type(error).__name__} while a statement was traced: {error}")
                self._connection.desk.refuse(request["id"], str(told))
        self._lineage = None
        self._connection.leave()

    def _answer(self, request: Request) -> None:
        number, text = request["id"], request["text"]
        desk = self._connection.desk
        session = desk.enter(number)
        if session is None:
            return  # nobody waits any more
        if not asks_for_lineage(text):
            desk.notAsked(number)
        elif request["only_whether"]:
            desk.text(number, "")
        else:
            found = self._prepared(session, text)
            if isinstance(found, str):
                desk.text(number, found)
            else:
                desk.rows(number, found._jdf)

    def _prepared(self, session: Any, text: str) -> str | DataFrame:
        try:
            return self._of(session).prepared(text)
        except SparkError as error:
            if error.condition != _UNBOUND:
                raise
        # As in LineageParser.scala, which is told of values by newer Sparks only.
        raise NotTracedError(
            "values of parameters are not seen in a statement that asks for lineage here",
            instead="Write them into the SQL, or use lineage.sql(…, args=…).",
        )

    def _of(self, session: Any) -> SessionLineage:
        if self._lineage is None:
            spark: SparkSession = self._connection.session(session)
            self._lineage = SessionLineage(spark, self._settings)
        return self._lineage
