"""Results of steps on disk: a record for each that was ever computed, and the values of those that are kept.

    <folder>/records/<asked>-<environment>.json     what it cost, where it is; sealed
    <folder>/values/<asked>-<environment>-<form>    a value, and its digest before it
    <folder>/worth.json                             by which results go first

A record counts when its file is there, and the file of a value is there before its record says so. So a process that
is killed leaves results that are whole, or are not there.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from forward_lineage.steps.keeping import Keeping, KeptResult
from forward_lineage.steps.serialising import read_back
from forward_lineage.storage.interface import MissingError, Storage, TakenError
from forward_lineage.storage.sealed import seal, unseal
from udafs.errors import LineageError

ROWS = "rows"
_DIGEST = 32


@dataclass(frozen=True)
class Record:
    """The facts about one result of a step.

    Attributes:
        step: its name.
        asked: the identity of code, parameters and inputs.
        environment: what else the result depends on, as far as that shows only when it is computed.
        compute: microseconds.
        load: microseconds.
        size: bytes.
        form: how the value is kept, or ``"rows"``; empty if only its costs are known.
        place: of rows, the name of the saved result.
        at: when it was written, in seconds since 1970.
        refused: why the result cannot stand for its step another time; empty if it can.

    """

    step: str
    asked: str
    environment: dict[str, Any] = field(default_factory=dict)
    compute: int = 0
    load: int = 0
    size: int = 0
    form: str = ""
    place: str = ""
    at: int = 0
    refused: str = ""

    @property
    def key(self) -> str:
        """Names the record: what is asked, and in which environment."""
        if not self.environment:
            return self.asked
        text = json.dumps(self.environment, sort_keys=True)
        return f"{self.asked}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def is_kept(self) -> bool:
        """Whether there is a value, or rows."""
        return bool(self.form)


class Shelf:
    """Records and values of steps.

    Args:
        storage: where they are.
        budget: bytes for all that is kept; None for no limit.
        most: how many records there may be before the oldest that keep nothing are forgotten.

    """

    def __init__(self, storage: Storage, budget: int | None = None, most: int = 10_000) -> None:
        self._storage, self._most = storage, most
        self.records: dict[str, Record] = {}
        for key in storage.objects("records"):
            with suppress(LineageError, MissingError, ValueError, KeyError, TypeError):  # a damaged one is none
                self._know(Record(**_fields(storage.get(f"records/{key}"), key)))
        self.keeping = self._keeping(budget)

    def asked(self, asked: str) -> list[Record]:
        """Return all records of an identity, in whatever environment."""
        return [record for record in self.records.values() if record.asked == asked]

    def value(self, record: Record) -> Any:
        """Return a kept value.

        Raises:
            ValueError: it is damaged.
            MissingError: it is not there any more.

        """
        data = self._storage.get(_value_key(record))
        digest, data = data[:_DIGEST], data[_DIGEST:]
        if hashlib.sha256(data).digest() != digest:
            raise ValueError(f"the kept value of step {record.step} is damaged")
        return read_back(record.form, data)

    def keep(self, record: Record, data: bytes | None = None) -> None:
        """Keep a result; the value is on disk before the record says so.

        Args:
            record: of the result.
            data: the bytes of a value; None for rows, which are kept elsewhere.

        """
        if data is not None:
            self._put(_value_key(record), hashlib.sha256(data).digest() + data)
        self.note(record)

    def note(self, record: Record) -> None:
        """Write a record down."""
        record = replace(record, at=int(time.time()))
        self._put(f"records/{record.key}.json", seal(asdict(record)))
        self._know(record)
        if len(self.records) > self._most:
            self._forget_oldest()

    def give_up(self, key: str) -> Record | None:
        """Stop keeping a result, and keep what it cost; return the record of rows, which are to be dropped."""
        record = self.records.get(key)
        self.keeping.forget(key)
        if record is None or not record.is_kept:
            return None
        self.note(replace(record, form="", place=""))
        if record.form == ROWS:
            return record
        self._storage.delete(_value_key(record))
        return None

    def write_worth(self) -> None:
        """Write down what the results are worth."""
        kept = {key: [each.size, each.saves, each.worth] for key, each in self.keeping.kept.items()}
        self._put("worth.json", seal({"clock": self.keeping.clock, "kept": kept}))

    def _forget_oldest(self) -> None:
        """Forget half of the records that only say what something cost, the oldest."""
        costs = sorted((each for each in self.records.values() if not each.is_kept), key=lambda each: each.at)
        for record in costs[: len(costs) // 2]:
            with suppress(MissingError):
                self._storage.delete(f"records/{record.key}.json")
            del self.records[record.key]

    def _put(self, key: str, data: bytes) -> None:
        with suppress(MissingError):
            self._storage.delete(key)
        with suppress(TakenError):  # another session has just written the same
            self._storage.put_new(key, data)

    def _know(self, record: Record) -> None:
        self.records[record.key] = record

    def _keeping(self, budget: int | None) -> Keeping:
        clock, worth = 0.0, dict[str, Any]()
        with suppress(LineageError, MissingError, ValueError, KeyError):
            found = unseal(self._storage.get("worth.json"), "worth.json")
            clock, worth = float(found["clock"]), dict(found["kept"])
        kept = {key: each for key, each in self.records.items() if each.is_kept}
        return Keeping(budget, {key: _kept(each, worth.get(key)) for key, each in kept.items()}, clock)


def _kept(record: Record, known: list[Any] | None) -> KeptResult:
    if known is not None:
        return KeptResult(record.size, int(known[1]), float(known[2]))
    return KeptResult(record.size, record.compute, record.compute / max(record.size, 1))


def _value_key(record: Record) -> str:
    return f"values/{record.key}-{record.form}"


def _fields(data: bytes, key: str) -> Mapping[str, Any]:
    found = unseal(data, key)
    return {name: value for name, value in found.items() if name not in ("format", "checksum")}
