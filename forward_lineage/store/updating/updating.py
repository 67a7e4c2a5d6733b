"""Saved results one after the other, each after what it was made of: left, kept or computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from forward_lineage.spark.settings import weighs_updates
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.rerun import NAME, Rerun, rerun_of
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import check_newest
from forward_lineage.store.updating.costs import Costs, costs_of
from forward_lineage.store.updating.hidden_sums import NAME as SUMS
from forward_lineage.store.updating.hidden_sums import are_kept
from forward_lineage.store.updating.inputs import Input
from forward_lineage.store.updating.joining_rows import NotProvableError
from forward_lineage.store.updating.kept_files import share_files, still_newest
from forward_lineage.store.updating.proving import Prover
from forward_lineage.store.updating.replacing import Replacer, Touched
from udafs.errors import LineageError, NameTakenError

SaveAgain = Callable[[SavedResult, Rerun], SavedResult]
"""Saves a result as it was saved before, if no other version of it has come meanwhile; returns the new one."""


class Way(StrEnum):
    """The ways to bring a result up to date."""

    UNTOUCHED = "untouched"  # kept: proven to be what its query gives now
    PARTLY = "partly"  # some rows or groups made again, under the numbers that they have; the others kept
    RECOMPUTED = "recomputed"
    DEPENDS = "depends"  # of a plan: on whether a result that it was made of has other rows when that is recomputed
    LEFT = "left"  # as it was: it cannot be brought up to date


@dataclass(frozen=True)
class Step:
    """One result of an update, or of a plan.

    Attributes:
        result: its name.
        way: see `Way`.
        why: the reason, as a clause.
        version: of the result, afterwards.

    """

    result: str
    way: Way
    why: str
    version: int


class Updater:
    """Brings saved results up to date.

    Args:
        prover: tells which are so already.
        replacer: makes the touched part of others again.
        library: the saved results.
        save_again: saves a result with its options of before.
        bring_up_to_date: lets queries read the newest version of every result.

    """

    def __init__(
        self,
        prover: Prover,
        replacer: Replacer,
        library: Library,
        save_again: SaveAgain,
        bring_up_to_date: Callable[[], None],
    ) -> None:
        self._prover, self._replacer, self._library = prover, replacer, library
        self._save_again, self._bring_up_to_date = save_again, bring_up_to_date

    def steps(self, name: str | None = None, *, full: bool = False, plan: bool = False) -> Iterator[Step]:
        """Bring results up to date, each after those that it was made of, and say of each what became of it.

        Args:
            name: a result; those that it was made of are brought up to date before it. None: all.
            full: compute all that are behind, prove nothing.
            plan: say what would become of them, and write nothing.

        Raises:
            NotSavedError: there is no such result.
            NameTakenError: another session saved one of them meanwhile; steps that are done stay.

        """
        done: dict[str, Step] = {}
        for saved, cyclic in in_order(self._library, name):
            self._bring_up_to_date()
            step = self._step(saved, done, cyclic=cyclic, full=full, plan=plan)
            if step is not None:
                done[saved.name.lower()] = step
                yield step

    def _step(self, saved: SavedResult, done: dict[str, Step], *, cyclic: bool, full: bool, plan: bool) -> Step | None:
        parents = [done[edge.name.lower()] for edge in saved.inputs if edge.name.lower() in done]
        left = next((each for each in parents if each.way is Way.LEFT), None)
        if left is not None:
            return self._said(saved, Way.LEFT, f"{left.result}, which it reads, is left as it was")
        waits = next((each for each in parents if each.way in (Way.RECOMPUTED, Way.PARTLY, Way.DEPENDS)), None)
        if plan and waits is not None:
            return self._said(saved, Way.DEPENDS, f"on the rows that {waits.result} has then")
        if plan and parents and self._prover.inputs.are_current(saved):
            return self._said(saved, Way.UNTOUCHED, "nothing that it reads has other rows")
        if self._prover.inputs.are_current(saved):
            return None
        try:
            return self._behind(saved, cyclic=cyclic, full=full, plan=plan)
        except NameTakenError:
            raise
        except LineageError as error:
            return self._said(saved, Way.LEFT, f"{error.what}. {error.instead}" if error.instead else error.what)

    def _behind(self, saved: SavedResult, *, cyclic: bool, full: bool, plan: bool) -> Step:
        if cyclic:
            return self._said(saved, Way.LEFT, "it was made of an earlier version of itself. Save it again.")
        rerun = rerun_of(saved)
        if rerun.refused is not None:
            return self._said(saved, Way.LEFT, f"its text does not give its rows: {rerun.refused}. Save it again.")
        inputs = self._prover.inputs.changed(saved)
        why = "asked for" if full else self._prover.unproven(saved, inputs)
        if why is None:
            kept = saved if plan else self._keep(saved, inputs)
            return Step(saved.name, Way.UNTOUCHED, _proof(inputs), kept.version)
        if not full:
            try:
                return self._partly(saved, inputs, plan=plan)
            except NotProvableError as error:
                why = why if str(error) == why else f"{why}; not in part: {error}"
        again = saved if plan else self._save_again(saved, rerun)
        return Step(saved.name, Way.RECOMPUTED, why, again.version)

    def _partly(self, saved: SavedResult, inputs: list[Input], *, plan: bool) -> Step:
        """Make the touched part again.

        Raises:
            NotProvableError: no rule tells what that is; or to make all again is expected to cost less.

        """
        try:
            return self._made_partly(saved, inputs, plan=plan)
        except (LineageError, OSError):
            # Another session may have saved it, and cleared the files of this version away.
            check_newest(saved.name, saved.version, self._library.newest(saved.name))
            raise

    def _made_partly(self, saved: SavedResult, inputs: list[Input], *, plan: bool) -> Step:
        touched = self._replacer.touched(saved, inputs, self._check_costs)
        if touched.is_nothing:
            kept = saved if plan else self._keep(saved, inputs)
            return Step(saved.name, Way.UNTOUCHED, _proof(inputs), kept.version)
        costs = self._check_costs(touched)
        if plan:
            return self._said(saved, Way.PARTLY, f"{touched.told()}: {costs.told()}")
        return Step(saved.name, Way.PARTLY, touched.told(), self._replacer.replace(touched).version)

    def _check_costs(self, touched: Touched) -> Costs:
        """Estimate both ways; before keys are known, the part at its least.

        Raises:
            NotProvableError: to make all again is expected to cost less.

        """
        tables = self._replacer.tables
        costs = costs_of(touched, tables, self._library)
        if not costs.is_part_cheaper and weighs_updates(tables.spark):
            raise NotProvableError(f"{touched.told()}, which would take {costs.told()}")
        return costs

    @staticmethod
    def _said(saved: SavedResult, way: Way, why: str) -> Step:
        return Step(saved.name, way, why, saved.version)

    def _keep(self, saved: SavedResult, inputs: list[Input]) -> SavedResult:
        """Publish a version with the same files that is made of the versions that there are now."""
        proven = self._prover.inputs.in_step(saved, inputs)
        with self._library.writing(saved.name) as folder:
            paths = [NAME, *(file.path for file in saved.row_files), *(each.path for each in saved.segments())]
            paths += [each.path for table in saved.tables for each in table.dictionary_files]
            paths += [SUMS] if are_kept(saved) else []
            share_files(saved, paths, folder)
            kept = replace(proven, data=folder.name)
            return self._library.publish(lambda newest: still_newest(kept, saved.version, newest))


def _proof(inputs: list[Input]) -> str:
    changed = [each.edge.name for each in inputs if each.changes]
    if not changed:
        return "nothing that it reads has other rows"
    where = " in a column that it reads" if any(each.changes.columns for each in inputs if each.changes) else ""
    return f"no row of {', '.join(changed)} that went, came or changed{where} is or would be in it"


# ------------------------------------------------------------ in which order


def in_order(library: Library, name: str | None) -> list[tuple[SavedResult, bool]]:
    """Return the newest versions of results, those that others were made of before these.

    Args:
        library: the saved results.
        name: a result, and all that it was made of; None: all.

    Returns:
        each with whether it was made of a version of itself, directly or through others.

    Raises:
        NotSavedError: there is no such result.

    """
    known = {saved.name.lower(): saved for saved in library.all_results()}
    reads = {key: _parents(saved, known) for key, saved in known.items()}
    wanted = set(known) if name is None else _with_ancestors(library.get(name).name.lower(), reads)
    order = _after_all(wanted, reads)
    rest = wanted - set(order)  # a circle, and what was made of it
    read_by = {key: {other for other in rest if key in reads[other]} for key in rest}
    behind = _after_all(rest, read_by)
    circle = sorted(rest - set(behind))
    return [(known[key], key in circle) for key in (*order, *circle, *reversed(behind))]


def _parents(saved: SavedResult, known: Mapping[str, SavedResult]) -> set[str]:
    return {edge.name.lower() for edge in saved.inputs if edge.is_result} & known.keys()


def _with_ancestors(name: str, reads: Mapping[str, set[str]]) -> set[str]:
    found, ahead = {name}, [name]
    while ahead:
        more = reads[ahead.pop()] - found
        found |= more
        ahead += more
    return found


def _after_all(names: set[str], after: Mapping[str, set[str]]) -> list[str]:
    """Return names in an order in which each comes after those that it has to, as far as there is one."""
    waiting = {name: after[name] & names for name in names}
    order: list[str] = []
    while ready := sorted(name for name, others in waiting.items() if not others):
        order += ready
        waiting = {name: others.difference(ready) for name, others in waiting.items() if others}
    return order
