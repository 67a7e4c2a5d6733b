"""Calls about saved results that are behind: brought up to date, by as little work as is proven to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.results import as_answer
from forward_lineage.session.components import Parts
from forward_lineage.session.save_again import save_again
from forward_lineage.session.stopping import Stopped
from forward_lineage.spark.interrupts import interruptible
from forward_lineage.store.updating.updating import Step, Updater, Way
from udafs.errors import ChangedError
from udafs.user_warnings import warn_user

_SCHEMA = "result STRING, way STRING, why STRING, version BIGINT"


class UpdateCalls:
    """The calls of `ForwardLineage` that bring saved results up to date. docs/updating.md states what is proven."""

    spark: SparkSession
    _parts: Parts

    def update(self, name: str | None = None, *, full: bool = False, plan: bool = False) -> DataFrame:
        """Bring saved results up to date with what they were made of, each after those that it reads.

        A result stays as it is where it is proven that its query would give the same rows with the same lineage. If a
        rule says which rows or groups are touched, these are made again. Otherwise its query runs again. If its rows
        come out equal, results that were made of it stay in turn.

        Args:
            name: a result, with all that it was made of; all results when not given.
            full: run the queries of all that are behind; prove nothing.
            plan: say what would become of each, and change nothing.

        Returns:
            ``result STRING, way STRING, why STRING, version BIGINT``: a row for each result that was behind, in order.
            The way is ``untouched``, ``partly`` or ``recomputed``. Or it is ``left``, with a warning: the result is
            stale as before. A plan may say ``depends``: on whether a result that is read has other rows when it is
            recomputed.

        Raises:
            LineageError: there is no such result, or it cannot be brought up to date. Or another session saved one
                meanwhile; results that are done stay done.

        Examples:
            >>> spark.range(3).write.parquet(f"{folder}/days")
            >>> lineage.register("days", path=f"{folder}/days").version
            1
            >>> few = lineage.save("SELECT id FROM days WHERE id < 2", "few")
            >>> counted = lineage.save("SELECT count(*) AS n FROM days", "all_days")
            >>> spark.range(3, 5).write.mode("append").parquet(f"{folder}/days")
            >>> lineage.refresh("days").version
            2
            >>> lineage.update("few").select("result", "way", "version").show()
            +------+---------+-------+
            |result|      way|version|
            +------+---------+-------+
            |   few|untouched|      2|
            +------+---------+-------+
            >>> lineage.update("all_days").select("way", "why").show(truncate=False)
            +------+----------------------------------------------+
            |way   |why                                           |
            +------+----------------------------------------------+
            |partly|rows of days that came are added to its groups|
            +------+----------------------------------------------+

        """
        steps = list(self.updates(name, full=full, plan=plan))
        left = [step for step in steps if step.way is Way.LEFT]
        for step in left:
            if name is not None and step.result.lower() == name.lower():
                raise ChangedError(f"{step.result} cannot be brought up to date: {step.why}", instead="")
        if left:
            said = "; ".join(f"{step.result}: {step.why}" for step in left)
            warn_user(f"update leaves results as they were: {said}")
        return as_answer(self.spark.createDataFrame([astuple(step) for step in steps], _SCHEMA))

    def updates(self, name: str | None = None, *, full: bool = False, plan: bool = False) -> Iterator[Step]:
        """Do as `update`, and yield what became of each result as soon as it is done; of `left` ones too.

        Raises:
            LineageError: there is no such result; another session saved one meanwhile.
            Stopped: Ctrl-C; the message says which results are up to date.

        Examples:
            >>> saved = lineage.save("SELECT item FROM sales", "items")
            >>> [step.way for step in lineage.updates("items")]
            []

        """
        parts = self._parts
        again = partial(save_again, parts)
        updater = Updater(parts.prover, parts.replacer, parts.library, again, parts.result_tables.bring_up_to_date)
        done: list[str] = []
        before = {} if plan else self._versions()
        steps = updater.steps(name, full=full, plan=plan)
        try:
            while (step := self._next(steps)) is not None:
                if step.way in (Way.UNTOUCHED, Way.PARTLY, Way.RECOMPUTED) and not plan:
                    done.append(step.result)
                    parts.answering.forget(step.result)
                yield step
        except KeyboardInterrupt:
            now = before if plan else self._versions()  # the last may be saved, and what follows a save was stopped
            done += [each for each in now if now[each] != before.get(each) and each not in done]
            raise Stopped(f"stopped; up to date: {', '.join(done) or 'none'}") from None
        finally:
            parts.result_tables.bring_up_to_date()

    def _versions(self) -> dict[str, int]:
        return {saved.name: saved.version for saved in self._parts.library.results()}

    def _next(self, steps: Iterator[Step]) -> Step | None:
        with interruptible(self.spark):
            return next(steps, None)
