"""Where events go, as the user says it: by an argument of `ForwardLineage`, or by a variable of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forward_lineage.extras import import_extra
from udafs.errors import BadArgumentError

#: Names a destination for sessions that are not told one; `OPENLINEAGE_URL` alone, which other tools read, does not.
VARIABLE = "FORWARD_LINEAGE_OPENLINEAGE"
#: The destination that the client's own variables and files name.
ENVIRONMENT = "environment"
NAMESPACE = "forward_lineage"

Destination = str | Path | Mapping[str, Any]
_HTTP = ("http://", "https://")
_RETRIES = {"total": 2, "connect": 2, "read": 2}  # the client's own five take nine seconds of an endpoint that is gone


@dataclass(frozen=True)
class OpenLineage:
    """Where events of OpenLineage go, and under which names.

    Attributes:
        to: the address of an endpoint (``http://marquez:5000``), or the path of a file, to which a line is added for
            each event. Or a transport of the client as a dict (``{"type": "kafka", …}``), or ``"environment"``: what
            `OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG` and ``openlineage.yml`` say.
        namespace: of jobs, and of tables that lie in no file system.
        sql: whether the text of queries is sent; it may hold values.

    """

    to: Destination
    namespace: str = NAMESPACE
    sql: bool = True

    def transport(self) -> dict[str, Any] | None:
        """Return the transport as the client's configuration has it; None: that of the client's environment.

        Raises:
            BadArgumentError: `to` or `namespace` name nothing.

        """
        if not self.namespace.strip():
            raise BadArgumentError("the namespace of jobs is empty", instead=f"Leave it out for {NAMESPACE!r}.")
        if isinstance(self.to, Mapping):
            if not isinstance(self.to.get("type"), str):
                raise BadArgumentError(
                    f"the transport {dict(self.to)!r} has no type", instead='Write {"type": "http", "url": "http://…"}.'
                )
            return deepcopy(dict(self.to))  # the client takes parts out
        said = str(self.to)
        if not said.strip():
            raise BadArgumentError(
                "no destination for events of OpenLineage", instead="Name an address, a file, or a transport."
            )
        if said == ENVIRONMENT:
            return None
        if said.lower().startswith(_HTTP):
            return {"type": "http", "url": said, "retry": dict(_RETRIES)}
        if "://" in said:
            raise BadArgumentError(
                f"events of OpenLineage cannot be sent to {said}",
                instead="Name an address that begins with http:// or https://, a file, or a transport as a dict.",
            )
        return {"type": "file", "log_file_path": str(Path(said).absolute()), "append": True}


def settings_of(given: OpenLineage | Destination | None) -> OpenLineage | None:
    """Return where events go; None: nowhere.

    Args:
        given: the argument of `ForwardLineage`; None: what `$FORWARD_LINEAGE_OPENLINEAGE` says.

    """
    if isinstance(given, OpenLineage):
        return given
    if given is None:
        said = os.environ.get(VARIABLE, "").strip()
        return OpenLineage(said) if said else None
    if not isinstance(given, str | Path | Mapping):
        raise BadArgumentError(
            f"openlineage={given!r} names no destination", instead="Name an address, a file, or give an OpenLineage(…)."
        )
    return OpenLineage(given)


def check_installed() -> None:
    """See to it that there is a client.

    Raises:
        SetupError: the extra `openlineage` is not installed.

    """
    import_extra("openlineage.client", "openlineage", "events of OpenLineage need")
