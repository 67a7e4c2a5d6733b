"""Decide which results are kept within a budget, as each step ends.  [Macke 2021, §3.5.3, Algorithm 3.2]

The thesis keeps a result if computing it and all its ancestors costs more than writing and loading it. So on a chain it
keeps every step, although loading the step before and going on from there would do. Here the cost is that of the best
plan that has the result again *with what is kept already* (`cost_without`). Then each step is kept, or having it again
costs at most what writing and loading it would. On the thesis' chain of m steps (load i, compute 3) that takes O(m)
bytes, where Algorithm 3.2 takes O(m²).

Past the budget the results that are worth least a byte go first, with age: GreedyDual-Size. [Cao & Irani 1997] A result
is worth the clock at its last use, and what it saves for each of its bytes; the clock is the worth of the last one that
went. Results of older versions age like all others, so that undoing an edit loads them while there is room.

Without a budget there is a limit that grows with the work: half of the bytes of all that was ever computed. It is
applied as a run ends. Past it, results of the pipeline as it is stay if they pay for themselves even when used seldom.
A result costs its writing, about as much as its reading, whether it is used or not; so one that saves five times its
reading pays with one use in five. Of the workflows in `tests.bench.workflows` rows that a query parsed save 700 times
their reading, a matrix of all features 11 times, and a long list of words, which is quick to make again, twice. Neither
bytes nor seconds alone tell these apart: an edit of a small feature would compute all features of a census again, or
the words would stay, half of all bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from forward_lineage.steps.execution_plan import plan_execution
from forward_lineage.steps.step_graph import PlannedStep, StepGraph
from udafs.errors import BadArgumentError

_FREE = 1_000_000  # bytes that nobody counts
_SELDOM = 5  # one use in so many has to pay for a result that stays beyond the limit


@dataclass(frozen=True)
class KeptResult:
    """A result that is kept.

    Attributes:
        size: bytes, >= 0.
        saves: what having it saves, in the unit of costs: having it again without it, less loading it.
        worth: by which results go when there is no room, the least first.

    """

    size: int
    saves: int
    worth: float


@dataclass(frozen=True)
class Decision:
    """The decision about a result that has just been computed.

    Attributes:
        keep: whether it is kept.
        evicted: identities of the results that go to make room for it.

    """

    keep: bool
    evicted: tuple[str, ...]


class Keeping:
    """The results that are kept, by identity, and their worth.

    Args:
        budget: bytes that all results may have together; None for no limit as they come.
        kept: what is kept already.
        clock: the worth of the last result that went.

    Examples:
        >>> keeping = Keeping(budget=100)
        >>> keeping.decide("a", size=80, write=2, load=2, without=50).keep
        True
        >>> keeping.decide("b", size=60, write=2, load=2, without=900)
        Decision(keep=True, evicted=('a',))

    """

    def __init__(
        self, budget: int | None = None, kept: Mapping[str, KeptResult] | None = None, clock: float = 0.0
    ) -> None:
        if budget is not None and budget < 0:
            raise BadArgumentError(f"a budget of {budget} bytes", instead="Give at least 0, or None for no limit.")
        self.budget = budget
        self.kept = dict(kept or {})
        self.clock = clock

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return sum(each.size for each in self.kept.values())

    def used(self, identity: str) -> None:
        """Take note that a kept result was loaded, or stood for its step."""
        if identity in self.kept:
            self.kept[identity] = self._worth_now(self.kept[identity])

    def forget(self, identity: str) -> None:
        """Take note that a result is not there any more."""
        self.kept.pop(identity, None)

    def hold(self, identity: str, *, size: int, saves: int) -> None:
        """Keep a result that somebody still reads, whatever it is worth; it goes when room is needed."""
        self.kept[identity] = self._worth_now(KeptResult(size, max(saves, 0), 0.0))

    def decide(
        self, identity: str, *, size: int, write: int, load: int, without: int, pinned: Collection[str] = ()
    ) -> Decision:
        """Decide about a result, and take note of it.

        Args:
            identity: of the result.
            size: bytes.
            write: what writing it costs.
            load: what loading it costs.
            without: what having it again costs if it is not kept, see `cost_without`.
            pinned: identities that must not go now, such as those that this run still loads.

        """
        self.forget(identity)  # the new one takes its place
        if without <= write + load:
            return Decision(False, ())
        wanted = self._worth_now(KeptResult(size, without - load, 0.0))
        victims = self._victims(wanted, {identity, *pinned})
        if victims is None:
            self.clock = max(self.clock, wanted.worth)
            return Decision(False, ())
        for victim in victims:
            self.clock = max(self.clock, self.kept.pop(victim).worth)
        self.kept[identity] = self._worth_now(wanted)  # by the clock as those who went have set it
        return Decision(True, victims)

    def let_go(self, most: int, spared: Collection[str]) -> tuple[str, ...]:
        """Let results go until at most so many bytes are kept, the least worth first, and return them.

        Args:
            most: bytes.
            spared: identities that stay, even if there are more bytes then.

        Examples:
            >>> keeping = Keeping()
            >>> for name, without in (("a", 50), ("b", 90), ("c", 20)):
            ...     _ = keeping.decide(name, size=10, write=1, load=1, without=without)
            >>> keeping.let_go(10, spared=["c"])
            ('a', 'b')

        """
        gone: list[str] = []
        for identity in sorted(self.kept.keys() - set(spared), key=lambda each: (self.kept[each].worth, each)):
            if self.size <= most:
                break
            self.clock = max(self.clock, self.kept.pop(identity).worth)
            gone.append(identity)
        return tuple(gone)

    def limit(self, made: int, loads: Mapping[str, int], asked: Collection[str] = ()) -> tuple[str, ...]:
        """Let results go where nobody gave a budget, and return them: see the top of this file.

        Args:
            made: bytes of all that was ever computed.
            loads: what loading costs, of the results of the pipeline as it is.
            asked: identities of results that somebody asked for; they stay.

        Examples:
            >>> keeping = Keeping()
            >>> for name, without in (("parsed", 90_000), ("list", 9_000)):
            ...     _ = keeping.decide(name, size=2_000_000, write=3_000, load=3_000, without=without)
            >>> keeping.limit(4_000_000, loads={"parsed": 3_000, "list": 3_000})
            ('list',)

        """
        if self.budget is not None:
            return ()
        pay = {key for key, load in loads.items() if key in self.kept and self.kept[key].saves >= _SELDOM * load}
        return self.let_go(max(_FREE, made // 2), pay.union(asked))

    def _worth_now(self, result: KeptResult) -> KeptResult:
        return replace(result, worth=self.clock + result.saves / max(result.size, 1))

    def _victims(self, wanted: KeptResult, pinned: Collection[str]) -> tuple[str, ...] | None:
        """Return what goes, the least worth first; None if that is worth more than what is wanted."""
        if self.budget is None:
            return ()
        over = self.size + wanted.size - self.budget
        victims: list[str] = []
        for identity in sorted(self.kept, key=lambda each: (self.kept[each].worth, each)):
            if over <= 0 or self.kept[identity].worth > wanted.worth:
                break
            if identity not in pinned:
                victims.append(identity)
                over -= self.kept[identity].size
        return tuple(victims) if over <= 0 else None


def cost_without(graph: StepGraph, name: str) -> int:
    """Return what having a step's result costs at best without a saved result of its own.

    Args:
        graph: the steps; `load` says what is kept now.
        name: of the step.

    """
    without = [replace(step, load=None) if step.name == name else step for step in graph.steps.values()]
    return plan_execution([_without_duty(step) for step in without], [name]).cost


def _without_duty(step: PlannedStep) -> PlannedStep:
    """A step that must run each time has no saved result; having it again is computing it."""
    return replace(step, load=None, must_run=False) if step.must_run else step
