"""Sends events from a thread of its own: whoever saves neither waits for an endpoint nor fails with it."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from forward_lineage.openlineage.settings import OpenLineage
from udafs.errors import SetupError

_LOG = logging.getLogger("forward_lineage.openlineage")
#: Events that wait for a slow endpoint, at most; later ones are lost, which is said.
MOST_WAITING = 1000
#: Seconds that the end of the program waits for events that are on their way.
PATIENCE = 5.0


class Sender:
    """Sends events, in the order in which they are given.

    Args:
        emit: sends one.
        where: what they are sent to, for messages.

    """

    def __init__(self, emit: Callable[[Any], object], where: str) -> None:
        self._emit, self._where = emit, where
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._said = False
        self._lock = threading.Lock()

    def send(self, event: Any) -> None:
        """Send an event some time soon."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self.say(f"{MOST_WAITING} events wait for {self._where}; this one is not sent")
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="forward_lineage.openlineage", daemon=True)
                self._thread.start()
                atexit.register(self.flush, PATIENCE)

    def flush(self, patience: float) -> bool:
        """Wait until all events are sent, or given up; False: there are some left after so many seconds."""
        done = self._waiting.all_tasks_done
        with done:
            return done.wait_for(lambda: not self._waiting.unfinished_tasks, patience)

    def say(self, what: str) -> None:
        """Say once what goes wrong; results are saved all the same."""
        with self._lock:
            said, self._said = self._said, True
        if not said:
            _LOG.warning("OpenLineage: %s. What is saved is not touched by that; this is said once.", what)

    def _work(self) -> None:
        ours = threading.get_ident()
        logging.getLogger("urllib3.connectionpool").addFilter(lambda record: record.thread != ours)  # a line a retry
        while True:
            event = self._waiting.get()
            try:
                self._emit(event)
            except Exception as error:  # whatever it is, it is not the user's
                self.say(f"an event could not be sent to {self._where}: {error}")
            finally:
                self._waiting.task_done()


def sender_of(settings: OpenLineage) -> Sender:
    """Return what sends events to where the settings say, by the client's own transports.

    Raises:
        SetupError: the client refuses the transport, or its environment names none.
        BadArgumentError: the settings name nothing.

    """
    from openlineage.client import OpenLineageClient  # noqa: PLC0415 - an extra
    from openlineage.client.transport import get_default_factory  # noqa: PLC0415 - an extra

    wanted = settings.transport()
    try:
        if wanted is None:
            client = OpenLineageClient()
            if client.transport.kind == "console" and (client.config.transport or {}).get("type") != "console":
                raise SetupError(
                    "the environment names no transport of OpenLineage",
                    instead="Set OPENLINEAGE_URL or OPENLINEAGE_CONFIG, or name the destination itself.",
                )
            return Sender(client.emit, "what the environment of OpenLineage says")
        transport = get_default_factory().create(dict(wanted))
    except (TypeError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise SetupError(
            f"OpenLineage's client refuses the transport: {error}", instead="Correct it as the client's own pages say."
        ) from None
    return Sender(transport.emit, str(wanted.get("url") or wanted.get("log_file_path") or wanted["type"]))
