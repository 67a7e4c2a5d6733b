"""Objects in an object store: S3 and what speaks like it, Google's and Azure's; through obstore.

    put_new     a conditional write (`If-None-Match: *`): the store itself lets exactly one of many in
    replace     another (`If-Match`): what was there must be what was seen last
    the rest    whole reads, listings, deletions; nothing is renamed, and nothing is half there

An answer may be lost on its way. obstore asks again then, and finds the key taken: by itself. So every object that is
put says who put it, in its metadata, and what is taken by us is ours.

Credentials, region and endpoint come from the environment, under the names that obstore reads (``AWS_ACCESS_KEY_ID``,
``AWS_REGION``, ``AWS_ENDPOINT``, …), in whatever process asks. Nothing of them is kept or sent along.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from forward_lineage.storage.interface import MissingError, TakenError
from forward_lineage.storage.own_files import LARGEST
from udafs.errors import DamagedError, LineageError, SetupError

#: Requests that are under way at once, at most.
AT_ONCE = 32
_WRITER = "forward-lineage-writer"  # in the metadata of an object: whose it is
_RETRIES: Any = {"max_retries": 8, "retry_timeout": timedelta(minutes=1)}
_READ_BY_OBSTORE = ("AWS_", "GOOGLE_", "AZURE_")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"non-2xx status code: (\d+ [A-Za-z ]+)")


class LostError(LineageError):
    """An object is not what it was when it was seen last."""

    remedy = "Do it again: another session was quicker."


@dataclass(frozen=True)
class ObjectEntry:
    """A listing's entry for an object: its key, its bytes, when it was written by the clock of the store, its tag."""

    key: str
    size: int
    modified: datetime
    tag: str | None


@dataclass(frozen=True)
class ObjectStore:
    """The `Storage` that the keys below an address are.

    It holds nothing but the address, so that tasks can be told of it.

    Args:
        address: e.g. ``s3://bucket/prefix``.

    """

    address: str
    at_once: ClassVar[int] = AT_ONCE

    def below(self, folder: str) -> ObjectStore:
        """Return the place that a folder is."""
        return ObjectStore(f"{self.address}/{folder}")

    def where(self, key: str) -> str:
        """Return what messages call an object: a path, an address."""
        return f"{self.address}/{key}"

    # ------------------------------------------------------------ reading

    def get(self, key: str, most: int = LARGEST) -> bytes:
        """Return an object. What is larger than `most` bytes is not read. Raises: DamagedError: it is."""
        with self._asking(key, "read"):
            found = self._store.get(key)
            if found.meta["size"] > most:
                raise DamagedError(
                    f"{self.where(key)} has {found.meta['size']:,} bytes, at most {most:,} can be right",
                    instead="Delete it: it was not put there by forward_lineage.",
                )
            return bytes(found.bytes())

    def get_to(self, key: str, path: Path) -> None:
        """Write an object to a file, piece by piece."""
        with self._asking(key, "read"):
            pieces = iter(self._store.get(key).stream())
            with path.open("xb") as file:
                for piece in pieces:
                    file.write(piece)

    def get_range(self, key: str, first: int, count: int) -> bytes:
        """Return some bytes of an object; fewer where it ends.

        Raises:
            MissingError: there is no such object.

        """
        with self._asking(key, "read"):
            return bytes(self._store.get_range(key, start=first, length=count))

    def exists(self, key: str) -> bool:
        """Tell whether there is an object of that key."""
        try:
            self.entry(key)
        except MissingError:
            return False
        return True

    def entry(self, key: str) -> ObjectEntry:
        """Return what is known of an object.

        Raises:
            MissingError: there is none.

        """
        with self._asking(key, "read"):
            return _entry(self._store.head(key))

    def objects(self, folder: str) -> list[str]:
        """Return the names of the objects right in a folder, in no order; none of a folder that is not there.

        Hidden ones are none.
        """
        names = [each["path"].rpartition("/")[2] for each in self._listed(folder)["objects"]]
        return [name for name in names if not name.startswith(".")]

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders right in a folder, in no order; none of a folder that is not there."""
        return [each.rstrip("/").rpartition("/")[2] for each in self._listed(folder)["common_prefixes"]]

    def tree(self, folder: str) -> list[ObjectEntry]:
        """Return all objects below a folder, hidden ones included, a request for every thousand."""
        with self._asking(folder, "listed"):
            return [_entry(each) for chunk in self._store.list(_prefix(folder)) for each in chunk]

    def _listed(self, folder: str) -> Any:
        with self._asking(folder, "listed"):
            return self._store.list_with_delimiter(_prefix(folder))

    # ------------------------------------------------------------ writing

    def put_new(self, key: str, data: bytes) -> None:
        """Write an object whole or not at all; it is there to stay when this returns."""
        self.put_tagged(key, data)

    def put_tagged(self, key: str, data: bytes) -> str | None:
        """Do as `put_new`, and return the tag of what is there now."""
        from obstore.exceptions import AlreadyExistsError  # noqa: PLC0415 - an extra

        mine = uuid.uuid4().hex
        with self._asking(key, "written"):
            try:
                return _tag(self._store.put(key, data, mode="create", attributes={_WRITER: mine}))
            except AlreadyExistsError:
                found = self._store.get(key)
                if found.attributes.get(_WRITER) == mine:  # our own, whose answer was lost
                    return _tag(found.meta)
                raise TakenError(f"{self.where(key)} is there already") from None

    def replace(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Write over an object that is what it was when it had this tag, and return its tag now.

        Raises:
            LostError: it is not.

        """
        from obstore.exceptions import PreconditionError  # noqa: PLC0415 - an extra

        mine = uuid.uuid4().hex
        with self._asking(key, "written"):
            try:
                return _tag(self._store.put(key, data, mode={"e_tag": tag}, attributes={_WRITER: mine}))
            except (PreconditionError, FileNotFoundError):
                with suppress(FileNotFoundError):
                    found = self._store.get(key)
                    if found.attributes.get(_WRITER) == mine:
                        return _tag(found.meta)
                raise LostError(f"{self.where(key)} is not what it was") from None

    def send(self, key: str, path: Path) -> None:
        """Write a file as an object whose key nobody else has; a large one in parts, which count when all are there."""
        with self._asking(key, "written"):
            self._store.put(key, path)

    def copy(self, key: str, other: str) -> None:
        """Give what is in an object to another key as well, inside the store; of S3 at most 5 GB."""
        with self._asking(key, "copied"):
            self._store.copy(key, other)

    def delete(self, key: str) -> None:
        """Remove an object, if it is there; after a crash of the machine it may be back."""
        self.delete_all([key])

    def delete_all(self, keys: Iterable[str]) -> None:
        """Remove objects, a request for every thousand."""
        listed = list(keys)
        with self._asking(listed[0] if listed else "", "deleted"), suppress(FileNotFoundError):
            if listed:
                self._store.delete(listed)

    def delete_folder(self, folder: str) -> None:
        """Remove all objects below a folder; what cannot be removed stays."""
        with suppress(LineageError):
            self.delete_all(each.key for each in self.tree(folder))

    def clear_unfinished(self, folder: str) -> None:
        """Remove what puts that were cut off left behind in a folder; only while nobody else puts into it.

        Nothing is ever half there.
        """

    # ------------------------------------------------------------ the store

    @property
    def _store(self) -> Any:
        said = tuple(sorted(each for each in os.environ.items() if each[0].startswith(_READ_BY_OBSTORE)))
        return _opened(self.address, said)

    @contextmanager
    def _asking(self, key: str, what: str) -> Iterator[None]:
        """Say what is wrong, and what is to be done about it, in place of what obstore says."""
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise _refused(self.where(key), what, error) from None
            raise MissingError(f"{self.where(key)} cannot be read: there is no such object") from None
        except LineageError:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "obstore" and not isinstance(error, PermissionError):
                raise
            raise _refused(self.where(key), what, error) from None


def _prefix(folder: str) -> str | None:
    return f"{folder}/" if folder else None


def _tag(meta: Any) -> str | None:
    return None if meta["e_tag"] is None else str(meta["e_tag"])


def _entry(meta: Any) -> ObjectEntry:
    return ObjectEntry(meta["path"], meta["size"], meta["last_modified"], _tag(meta))


@cache
def _opened(address: str, said: tuple[tuple[str, str], ...]) -> Any:
    """Open a store once for what the environment says."""
    try:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra
        from obstore.store import from_url  # noqa: PLC0415
    except ImportError:
        raise SetupError(
            f"{address} is in an object store, and obstore, which reaches it, is not installed",
            instead="pip install 'forward_lineage[s3]', also where executors run Python.",
        ) from None
    try:
        return from_url(address, retry_config=_RETRIES)
    except (BaseError, ValueError) as error:
        raise _refused(address, "opened", error) from None


def _refused(where: str, what: str, error: Exception) -> SetupError:
    """Return what is to be said of a store that does not do what it is asked."""
    said = str(error)
    code, status = _CODE.search(said), _STATUS.search(said)
    if "NoSuchBucket" in said:
        return SetupError(f"{where} cannot be {what}: there is no such bucket", instead="Make it, or correct home=.")
    if "latest/api/token" in said or "security-credentials" in said or type(error).__name__ == "UnauthenticatedError":
        return SetupError(
            f"{where} cannot be {what}: there are no credentials in the environment",
            instead="Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION where driver and executors run, or "
            "run them with a role; see docs/deploying.md.",
        )
    if "builder error" in said:
        return SetupError(
            f"{where} cannot be {what}: AWS_ENDPOINT is an address without TLS",
            instead="Set AWS_ALLOW_HTTP=true if that is meant.",
        )
    why = code[1] if code else status[1].strip() if status else said.splitlines()[0].rpartition(": ")[2]
    return SetupError(
        f"{where} cannot be {what}: {why}",
        instead="See that the store can be reached and the credentials may do this: docs/deploying.md lists what.",
    )
