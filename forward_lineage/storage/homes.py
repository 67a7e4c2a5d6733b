"""Where a home is: a folder, or a place in an object store with a folder on this machine beside it.

In that folder lies what can be had again: copies of what was read, and what answers faster (views, sketches, columns,
workloads). It may be deleted whenever no session runs. Two machines have two; they share what is in the store.

    $FORWARD_LINEAGE_CACHE (else ~/.cache/forward_lineage)/homes/<digest of the address>/
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from forward_lineage.storage.interface import Storage
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.object_store import ObjectStore
from udafs.build import cache_folder
from udafs.errors import BadArgumentError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/(/?)(.*)", re.DOTALL)
_SCHEMES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "az": "az", "abfs": "abfs", "abfss": "abfss"}
_PARTS = re.compile(r"[\w.@-][\w.@ =+-]*")


@dataclass(frozen=True)
class ObjectHome:
    """A home in an object store.

    Attributes:
        address: without a slash at its end, e.g. ``s3://bucket/prefix``.

    """

    address: str

    def __str__(self) -> str:
        return self.address

    @property
    def folder(self) -> Path:
        """The folder on this machine."""
        return cache_folder() / "homes" / hashlib.sha256(self.address.encode()).hexdigest()[:16]

    def room(self, name: str) -> ObjectStore:
        """Return one of its places: ``tables``, ``results``, ``saving``."""
        return ObjectStore(f"{self.address}/{name}")


Home = Path | ObjectHome
"""A folder, or a place in an object store."""


def object_home(said: str | Path) -> ObjectHome | None:
    """Return the home that an address means; None for the path of a folder.

    Raises:
        BadArgumentError: no home can be there, or the address holds a password.

    """
    found = _ADDRESS.fullmatch(str(said))
    if found is None:
        return None
    scheme, slash, rest = found.groups()
    if isinstance(said, Path) or not slash:
        raise BadArgumentError(
            f"home={said} is a path with the name of a scheme in front",
            instead="Give the address of a home as text, with two slashes: s3://bucket/prefix.",
        )
    if scheme.lower() not in _SCHEMES:
        raise BadArgumentError(
            f"home={scheme}://… is no place for a home: it cannot be written so that one of many sessions wins",
            instead="Give a folder that all machines share (HDFS can be mounted), or one of "
            "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix. Tables may be anywhere.",
        )
    parts = rest.rstrip("/").split("/")
    authority = parts[0]
    if ":" in authority or not all(_PARTS.fullmatch(each) and each not in (".", "..") for each in parts):
        raise BadArgumentError(
            "home= is an address with something in it that is neither a bucket nor a folder",
            instead="Give home='s3://bucket/prefix' in letters, digits and -_.; credentials come from the environment.",
        )
    return ObjectHome(f"{_SCHEMES[scheme.lower()]}://{'/'.join(parts)}")


def folder_of(home: Home) -> Path:
    """Return the folder of a home on this machine: it itself, or what lies beside it."""
    return home if isinstance(home, Path) else home.folder


def room_of(home: Home, name: str) -> Storage:
    """Return one of the places of a home."""
    return LocalFolder(home / name) if isinstance(home, Path) else home.room(name)
