"""Changes in a document at once reach its browser at once: in one message, so that it is drawn once.

Bokeh sends a message a property. A brush changes some twenty of them, and between two messages a browser may draw. So
all pictures were drawn several times, the first ones with the old scale under new bars.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from bokeh.server.connection import ServerConnection


class Together(ServerConnection):  # type: ignore[misc]
    """A connection that sends what one callback changed as one patch.

    Bokeh asks it to send while a callback runs, and awaits what it gets behind it: then the first has all.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._events: list[Any] = []

    def send_patch_document(self, event: Any) -> Awaitable[None]:
        """Keep a change until all are made."""
        self._events.append(event)
        return self._send()

    async def _send(self) -> None:
        events, self._events = self._events, []
        if events:
            await self._socket.send_message(self.protocol.create("PATCH-DOC", events))
