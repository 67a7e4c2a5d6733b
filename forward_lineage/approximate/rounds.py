"""The rounds of an approximate query: read, narrow, look who needs more, until nobody does.   [Macke 2021, §6.4.2–3]

Each round settles a number of rows before they are read; every group that is active is read up to it, by its index. So
the number of rows of a look never depends on the rows, and bounds of a settled number stay valid with active scanning.
"""

from __future__ import annotations

import itertools
import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from forward_lineage.approximate.bounds.error_budget import rows_at_look
from forward_lineage.approximate.costs import Costs
from forward_lineage.approximate.estimates import BETTING, BOTH, Ends
from forward_lineage.approximate.group_rows import Feeder, Group
from forward_lineage.approximate.scramble import Scramble
from forward_lineage.approximate.stopping import Goals, GroupState

FIRST_LOOK = 1_024
#: By how much rows grow from look to look: bets look for nothing, others pay for each look.
_GROWTH, _GROWTH_OF_BETS = 1.5, 1.3
_NEARLY = 2
_SHORT, _JUMP = 0.9, 4
#: Tables with so many rows are added up, where rounds take longer.
ADD_UP_FROM = 1 << 20
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ended:
    """How the rounds ended.

    Attributes:
        rounds: how many there were.
        interrupted: whether somebody pressed Ctrl-C.

    """

    rounds: int
    interrupted: bool


def run_rounds(
    scramble: Scramble, groups: Sequence[Group], feeder: Feeder, goals: Goals, *, everywhere: bool, tell: Tell
) -> Ended:
    """Read rows of groups until what is asked for is certain.

    Args:
        scramble: whose rows they are.
        groups: nothing of them was read yet.
        feeder: adds rows to them.
        goals: what is asked for.
        everywhere: whether a group is in the answer even without rows.
        tell: is told how far it is.

    """
    for group in groups:
        if group.whole:
            _look(group, 0, [BOTH] * len(group.estimators))
    bets = any(each.bounder == BETTING for group in groups for each in group.estimators)
    growth = _GROWTH_OF_BETS if bets else _GROWTH
    cheaper = goals.rows is None and scramble.rows >= ADD_UP_FROM and feeder.adds_up()
    costs = Costs(feeder.adding_takes, growth) if cheaper else None
    look = 0
    needed = [0.0] * len(groups)
    with interruptible() as stop:
        while True:
            states = states_of(groups, everywhere=everywhere)
            active = goals.active(states)
            if not any(active) or stop.is_set():
                _narrow(groups, states, goals)
                return Ended(look, any(active))
            look += 1
            target = goals.rows or rows_at_look(FIRST_LOOK, look, growth)
            reading = [place for place, reads in enumerate(active) if reads]
            some = [groups[place] for place in reading]
            targets = [_next(group, needed[place]) for group, place in zip(some, reading, strict=True)]
            counts = [
                _rows_of(group, mine if bets and goals.rows is None else target, goals)
                for group, mine in zip(some, targets, strict=True)
            ]
            if costs is not None and costs.are_high(some, counts):
                feeder.settle(some, _others(groups, states, active, goals))
                continue
            feeder.add(itertools.takewhile(lambda _: not stop.is_set(), zip(some, counts, strict=True)))
            states = states_of(groups, everywhere=everywhere)
            gaps = goals.gaps(states)
            for group, place in zip(some, reading, strict=True):
                needed[place] = group.rows_needed(gaps[place])
            if (
                costs is not None
                and not stop.is_set()
                and costs.will_be_high(some, [needed[place] for place in reading])
            ):
                feeder.settle(some, _others(groups, states, active, goals))
                continue
            ends = goals.ends(states)
            for group, place in zip(some, reading, strict=True):
                hopeless = bets and goals.rows is None and not group.whole and needed[place] > growth * group.read
                if not stop.is_set() and not hopeless:
                    _look(group, 0 if goals.rows else look, ends[place])
            read = f"{sum(group.read for group in groups):,} of {scramble.rows:,} rows read"
            tell(f"round {look}: {read}, {sum(active):,} of {len(groups):,} groups active")


def _others(groups: Sequence[Group], states: Sequence[GroupState], active: Sequence[bool], goals: Goals) -> list[Group]:
    """Groups that may be in the answer, and are not read now, nor known whole."""
    each = zip(groups, states, active, strict=True)
    return [group for group, state, reads in each if not (reads or group.whole or goals.out(state))]


def _next(group: Group, needed: float) -> int:
    """How many rows a group of bets has read after the next round: bets may look at any time."""
    if not group.read:
        return FIRST_LOOK
    return math.ceil(min(max(needed * _SHORT, _GROWTH_OF_BETS * group.read), _JUMP * group.read))


def _narrow(groups: Sequence[Group], states: Sequence[GroupState], goals: Goals) -> None:
    """Narrow intervals that are shown, and that no error made narrow: of these only what decides was looked at."""
    if goals.error is None and goals.shown:
        for place in goals.chosen(states).wanted:
            for aggregate in goals.shown:
                groups[place].estimators[aggregate].narrow()


def states_of(groups: Sequence[Group], *, everywhere: bool) -> list[GroupState]:
    """Return what is known of groups."""
    return [group.state(everywhere=everywhere) for group in groups]


def _rows_of(group: Group, target: int, goals: Goals) -> int:
    """How many rows of a group are read next: all, if that would be half of it. Rows take less time than looks."""
    whole = goals.rows is None and group.size <= _NEARLY * target
    return (group.size if whole else target) - group.read


def _look(group: Group, number: int, ends: Sequence[Ends]) -> None:
    for each, mine in zip(group.estimators, ends, strict=True):
        each.look(number, mine)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn Ctrl-C into an event while the block runs, where signals can be caught; a second one ends the block."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.getsignal(signal.SIGINT)

    def asked(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, asked)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
