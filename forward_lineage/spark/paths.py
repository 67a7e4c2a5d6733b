"""Paths as Spark names them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from forward_lineage.spark.names import is_text
from udafs.errors import BadArgumentError, NotTracedError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def checked_path(path: Path, what: str) -> Path:
    """Return a path that can be one, and be written down.

    Args:
        path: any.
        what: what messages call it.

    Raises:
        BadArgumentError: it holds a NUL, or bytes that are no UTF-8.

    """
    if not is_text(str(path)):
        raise BadArgumentError(f"{what} is {str(path)!r}, which no path is", instead="Give one in UTF-8, without NUL.")
    return path


def is_local(uri: str) -> bool:
    """Tell whether a path or a URI as Spark writes them lies on the local file system."""
    return uri.startswith("file:") or not _SCHEME.match(uri)


def is_address(path: str) -> bool:
    """Tell whether a path names its file system, as ``s3a://bucket/x`` does; `file:` counts, too."""
    return _ADDRESS.match(path) is not None


def is_far(place: str) -> bool:
    """Tell whether a place, as manifests have it, lies on another file system than the local one."""
    return not place.startswith("/")


def address_of(uri: str) -> str:
    """Return a URI as Hadoop's `Path` writes it, with nothing encoded."""
    scheme, _, rest = uri.partition(":")
    if not rest.startswith("//"):
        return f"{scheme}:{unquote(rest)}"
    authority, slash, path = rest[2:].partition("/")
    return f"{scheme}://{authority}{slash}{unquote(path)}"


def local_path(uri: str) -> Path:
    """Return the local path that a path or a `file:` URI means.

    Raises:
        NotTracedError: it lies on another file system.

    """
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if parts.scheme and "/" not in uri.split(":", 1)[0] and uri.partition(":")[2].startswith("/"):
        raise NotTracedError(
            f"{uri} is not on a local file system",
            instead="Row positions need local files; use key=, or order_by= for a materialised copy.",
        )
    return Path(uri)
