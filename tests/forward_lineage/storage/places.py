"""The places that the suite of `Storage` is run for; the one in memory has no folders or links, as object stores."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from forward_lineage.storage.interface import MissingError, Storage, TakenError
from forward_lineage.storage.local_folder import LocalFolder
from forward_lineage.storage.object_store import ObjectStore
from tests.object_server import BUCKET


class InMemory:
    """Objects in a dictionary, as an object store has them: folders are beginnings of keys."""

    at_once = 4

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._lock = Lock()

    def get(self, key: str) -> bytes:
        if key not in self._kept:
            raise MissingError(f"{self.where(key)} cannot be read: no such object")
        return self._kept[key]

    def exists(self, key: str) -> bool:
        return key in self._kept

    def put_new(self, key: str, data: bytes) -> None:
        with self._lock:
            if key in self._kept:
                raise TakenError(f"{self.where(key)} is there already")
            self._kept[key] = data

    def delete(self, key: str) -> None:
        self._kept.pop(key, None)

    def delete_folder(self, folder: str) -> None:
        for key in [key for key in self._kept if key.startswith(f"{folder}/")]:
            del self._kept[key]

    def objects(self, folder: str) -> list[str]:
        return [rest[0] for rest in self._below(folder) if len(rest) == 1]

    def folders(self, folder: str) -> list[str]:
        return list({rest[0] for rest in self._below(folder) if len(rest) > 1})

    def clear_unfinished(self, folder: str) -> None:
        """Nothing is ever half there."""

    def where(self, key: str) -> str:
        return f"memory:{key}"

    def _below(self, folder: str) -> list[list[str]]:
        start = f"{folder}/" if folder else ""
        return [key.removeprefix(start).split("/") for key in self._kept if key.startswith(start)]


PLACES: dict[str, Callable[[Path], Storage]] = {
    "local folder": lambda folder: LocalFolder(folder / "place"),
    "in memory": lambda folder: InMemory(),
    "object store": lambda folder: ObjectStore(f"s3://{BUCKET}/{uuid.uuid4().hex}/place"),  # with `store_server`
}
