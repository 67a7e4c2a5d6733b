"""One run of a plan: independent steps side by side, each result kept or not as it ends."""

from __future__ import annotations

import contextvars
import copy
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from forward_lineage.steps.execution_plan import Action, ExecutionPlan
from forward_lineage.steps.keeping import cost_without
from forward_lineage.steps.looking import Look, Looked, Looker, Rows
from forward_lineage.steps.serialising import read_back, written
from forward_lineage.steps.shelf import ROWS, Record, Shelf
from forward_lineage.storage.interface import MissingError
from udafs.errors import BadArgumentError, LineageError

_BYTES_A_MICROSECOND = 200  # at which rows are read from disk


class LostResultError(Exception):
    """A result that was to be loaded is not there any more, or is damaged."""


@dataclass(frozen=True)
class Held:
    """The value of a step during a run: bytes of a form, the place of rows, or an object that has no form."""

    form: str = ""
    data: bytes = b""
    place: str = ""
    value: Any = None


class Run:
    """One run.

    Args:
        look: the steps before it.
        looker: finds out identities of steps whose parents had to be computed first.
        shelf: where results are kept.
        rows: tables and saved rows.
        parallel: how many steps may run at once.

    Attributes:
        plan: what is done about each step.
        reasons: why, by step.
        work: microseconds of all that was computed and loaded.

    """

    plan: ExecutionPlan

    def __init__(self, look: Look, looker: Looker, shelf: Shelf, rows: Rows, parallel: int) -> None:
        self._look, self._looker, self._shelf, self._rows = look, looker, shelf, rows
        self._parallel = parallel
        self._lock = threading.RLock()
        self._held: dict[str, Held] = {}
        self._doubts: dict[str, str] = {}  # why what steps gave cannot stand for them another time
        self._for_now: list[str] = []  # places of rows that only this run reads
        self._running: set[str] = set()
        self._changed: set[str] = set()  # steps that read something that a step has changed
        self._targets: tuple[str, ...] = ()
        self._rerun: frozenset[str] = frozenset()
        self.reasons: dict[str, str] = {}
        self.work = 0

    def go(self, targets: Sequence[str], rerun: Collection[str] = ()) -> None:
        """Carry the plan out.

        Raises:
            LostResultError: a kept result is not there any more; it is forgotten now.
            Exception: whatever a step raises.

        """
        self._targets, self._rerun = tuple(targets), frozenset(rerun)
        self.plan = self._look.plan(targets, rerun)
        self.reasons = self._look.reasons(self.plan.actions, rerun)
        try:
            self._carry_out()
        finally:
            self._make_room()
            for place in self._for_now:
                with suppress(LineageError):
                    self._rows.drop(place)
            self._shelf.write_worth()

    def give(self, name: str) -> Any:
        """Return the value of a step to somebody who may change it."""
        held = self._held[name]
        if held.place:
            return self._rows.read(held.place)
        return read_back(held.form, held.data) if held.form else held.value

    # ------------------------------------------------------------ in which order

    def _carry_out(self) -> None:
        to_do = {name for name, action in self.plan.actions.items() if action is not Action.PRUNE}
        running: dict[Future[None], str] = {}
        failed: BaseException | None = None
        with ThreadPoolExecutor(self._parallel, thread_name_prefix="step") as pool:
            while running or to_do:
                for name in [each for each in self.plan.actions if each in to_do and self._is_ready(each)]:
                    to_do.discard(name)
                    context = contextvars.copy_context()  # numpy's settings are in it, as in a plain call
                    running[pool.submit(context.run, self._do, name)] = name
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    failed = _failure(done, running.pop(done)) or failed
                if failed is not None:
                    to_do.clear()
        if failed is not None:
            raise failed

    def _is_ready(self, name: str) -> bool:
        if self.plan.actions[name] is Action.LOAD:
            return True
        return all(parent in self._held for parent in self._look.steps[name].parents)

    def _do(self, name: str) -> None:
        if self.plan.actions[name] is Action.LOAD:
            self._load(self._look.steps[name])
            return
        with self._lock:
            self._running.add(name)
        try:
            self._compute(self._look.steps[name])
        finally:
            with self._lock:
                self._running.discard(name)

    # ------------------------------------------------------------ loading

    def _load(self, each: Looked) -> None:
        record = each.record
        assert record is not None
        begun = time.perf_counter()
        if record.form == ROWS:
            held = Held(place=record.place)
        else:
            try:
                value = self._shelf.value(record)
            except (ValueError, MissingError) as error:
                with self._lock:
                    self._shelf.give_up(record.key)
                raise LostResultError(str(error)) from error
            form, data = written(value) or ("", b"")
            held = Held(form, data)
        with self._lock:
            self._held[each.step.name] = held
            self.work += _microseconds(begun)
            self._shelf.keeping.used(record.key)

    # ------------------------------------------------------------ computing

    def _compute(self, each: Looked) -> None:
        arguments = {name: self._argument(each, name) for name in each.step.reads}
        begun = time.perf_counter()
        watched = self._rows.watched() if each.step.returns == "query" else nullcontext(())
        with watched as taken:
            value = each.step.function(**arguments)
        if taken:
            said = f"it calls {taken[0]} to make its query, and nobody watches what that reads"
            self._doubts.setdefault(each.step.name, said)
        self._look_at_value(each, value, arguments)
        if each.step.returns == "value":
            self._keep_value(each, value, begun)
        else:
            self._keep_rows(each, value, begun)

    def _argument(self, each: Looked, name: str) -> Any:
        if name in each.tables:
            return self._rows.table(name)
        if name not in each.parents:
            return each.parameters[name]
        held = self._held[name]
        if held.form or held.place:
            return self.give(name)
        try:
            return copy.deepcopy(held.value)
        except Exception:  # any that a type of somebody's raises
            said = "an input can be neither written nor copied, so that another step may have changed it"
            self._doubts[each.step.name] = said
            return held.value

    def _look_at_value(self, each: Looked, value: Any, arguments: dict[str, Any]) -> None:
        """Take note of what a value says of how it was made.

        Raises:
            BadArgumentError: it can be read once, though many may want to.

        """
        name = each.step.name
        if isinstance(value, Awaitable | AsyncIterator) or (isinstance(value, Iterator) and not _is_copied(value)):
            if callable(close := getattr(value, "close", None)):
                close()
            raise BadArgumentError(
                f"step {name} returns a {type(value).__name__}, which can be read once",
                instead="Return what comes out of it, such as list(…) or asyncio.run(…).",
            )
        parents = [parent for parent in each.parents if parent in self._doubts]
        if parents:
            said = f"what {', '.join(parents)} gave cannot be told from what it gives another time"
            self._doubts.setdefault(name, said)
        for argument in arguments.values():
            opened = getattr(argument, "opened", None)
            if isinstance(opened, str) and not (each.step.returns == "query" and not isinstance(value, str)):
                self._doubts.setdefault(name, opened)

    def _keep_value(self, each: Looked, value: Any, begun: float) -> None:
        compute = _microseconds(begun)
        name = each.step.name
        form, data = written(value) or ("", b"")
        load = _time_to_read(form, data)
        with self._lock:
            self.work += compute
            self._held[name] = Held(form, data, value=None if form else value)
            refused = self._may_not_be_kept(each)
            if refused or each.key is None:
                self._refuse(each, refused, compute)
                return
            record = Record(name, each.key, {}, compute, load, len(data))
            if not form:
                self._shelf.note(record)
                kind = f"{type(value).__module__}.{type(value).__qualname__}"
                self.reasons[name] += f"; not kept: a {kind} has no exact and safe form"
                return
            each.record = record
            if self._decide(each, record, write=load):
                each.record = replace(record, form=form)
                self._shelf.keep(each.record, data)
            else:
                self._shelf.note(record)

    def _keep_rows(self, each: Looked, query: Any, begun: float) -> None:
        name = each.step.name
        with self._lock:
            refused = self._may_not_be_kept(each)
            earlier = [] if refused or name in self._rerun else self._earlier(name)
        reads = tuple(self._held[parent].place for parent in each.parents if self._held[parent].place)
        saved = self._rows.save(each.step, query, reads, once=bool(refused), earlier=earlier)
        with self._lock:
            self.work += (compute := _microseconds(begun))
            self._held[name] = Held(place=saved.place)
            if saved.took_over is not None:
                self._shelf.give_up(saved.took_over.key)
                compute = max(compute, saved.took_over.compute)  # which it would take from nothing
                self.reasons[name] += f"; {saved.told}"
            refused = refused or self._may_not_be_kept(each) or saved.reason
            if refused:
                self._refuse(each, refused, compute)
                if name not in self._targets:
                    self._for_now.append(saved.place)
                return
            assert each.identity is not None
            asked = each.identity.digest or ""
            load = saved.size // _BYTES_A_MICROSECOND
            record = Record(name, asked, saved.environment, compute, load, saved.size, ROWS, saved.place)
            each.record = replace(record, form="", place="")
            before = self._shelf.records.get(record.key)
            if before is not None and before.is_kept and before.place != saved.place:
                self._for_now.append(before.place)  # it was computed again, though there were rows
            if not self._decide(each, record, write=0):
                if name not in self._targets:
                    self._for_now.append(saved.place)
                    self._shelf.note(each.record)
                    return
                self._shelf.keeping.hold(record.key, size=record.size, saves=compute - load)
            each.record = record
            self._shelf.keep(record)

    def _refuse(self, each: Looked, why: str | None, compute: int) -> None:
        """Say why a result is not kept; also the next time, if its identity does not say so."""
        name, known = each.step.name, each.identity
        self.reasons[name] += f"; not kept: {why}"
        if why and name in self._doubts and known is not None and known.digest:
            self._shelf.note(Record(name, known.digest, compute=compute, refused=why))

    def _earlier(self, name: str) -> list[Record]:
        """Return the kept rows that a step has of other states, the last ones first."""
        found = [record for record in self._shelf.records.values() if (record.step, record.form) == (name, ROWS)]
        return sorted(found, key=lambda record: record.at, reverse=True)

    def _may_not_be_kept(self, each: Looked) -> str | None:
        """Say why the result of a step that has just ended, or is to begin, cannot stand for it another time."""
        if each.identity is None:
            self._looker.identify(self._look, each.step.name)  # its parents are known now
        if each.identity is None:
            waits = [parent for parent in each.parents if self._look.steps[parent].key is None]
            return f"what {', '.join(waits)} gave cannot be told from what it gives another time"
        if each.identity.reasons:
            return "it has to run again each time"
        return self._doubts.get(each.step.name) or self._changed_since(each)

    def _changed_since(self, each: Looked) -> str | None:
        """Say whose functions or globals have changed since the run began: results then are of neither state.

        Raises:
            BadArgumentError: a step has changed what another reads, and nothing says which of them comes first.

        """
        for name, other in self._look.steps.items():
            if name in self._changed or self._looker.code_of(other.step, other.parameters) == other.code:
                continue
            self._changed.add(name)
            for changer in sorted({each.step.name, *self._running}):
                if not self._look.are_ordered(name, changer):
                    raise BadArgumentError(
                        f"step {changer} ran while something that step {name} reads was changed",
                        instead=f"Let {name} read {changer} by a parameter, or change nothing outside of a step.",
                    )
        if not self._changed:
            return None
        return f"something that step {min(self._changed)} reads was changed while the pipeline ran"

    # ------------------------------------------------------------ what is kept

    def _decide(self, each: Looked, record: Record, write: int) -> bool:
        """Decide whether a result is kept, and let others go for it."""
        name = each.step.name
        load, without = record.load, cost_without(self._look.graph(), name)
        decision = self._shelf.keeping.decide(
            record.key, size=record.size, write=write, load=load, without=without, pinned=self._pinned()
        )
        costs = f"having it again would take {without / 1e6:.3f} s, writing and loading it {(write + load) / 1e6:.3f} s"
        worth = "" if decision.keep or without <= write + load else ", but results that are kept are worth more"
        self.reasons[name] += f"; {'kept' if decision.keep else 'not kept'}: {costs}{worth}"
        self._give_up(decision.evicted)
        return decision.keep

    def _give_up(self, keys: Iterable[str]) -> None:
        for key in keys:
            gone = self._shelf.give_up(key)
            if gone is not None:
                with suppress(LineageError):
                    self._rows.drop(gone.place)

    def _make_room(self) -> None:
        """Where nobody gave a budget, let go of what is too much."""
        here = [each.record for each in self._look.steps.values() if each.record is not None]
        asked = {key for name in self._targets if (key := self._look.steps[name].key) is not None}
        made = sum(record.size for record in self._shelf.records.values())
        self._give_up(self._shelf.keeping.limit(made, {record.key: record.load for record in here}, asked))

    def _pinned(self) -> set[str]:
        """Return what this run still reads: rows wherever they are, values until they are loaded, targets."""
        read = [each for name, each in self._look.steps.items() if self.plan.actions[name] is not Action.PRUNE]
        return {each.record.key for each in read if each.record is not None}


def _failure(done: Future[None], name: str) -> BaseException | None:
    error = done.exception()
    if error is not None and not isinstance(error, LostResultError):
        error.add_note(f"In step {name}. The steps that had ended are kept.")
    return error


def _is_copied(value: object) -> bool:
    try:
        copy.deepcopy(value)
    except Exception:  # any that a type of somebody's raises
        return False
    return True


def _time_to_read(form: str, data: bytes) -> int:
    """Return how long it takes to make a value of its bytes, which writing them takes about as well."""
    begun = time.perf_counter()
    if form:
        read_back(form, data)
    return _microseconds(begun)


def _microseconds(begun: float) -> int:
    return int((time.perf_counter() - begun) * 1e6)
