"""The answer to "why is it missing": the way of rows through a query, up to what kept the last of them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.explaining.page import Panel
from forward_lineage.explaining.told_answer import ToldAnswer, value_text, values_text
from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.spark.versions import arrow_frame
from udafs.errors import Position

_EXAMPLES = 3
_SHOWN = 5


@dataclass(frozen=True)
class PassedStep:
    """A step of the way.

    Attributes:
        query: the saved result, view or CTE whose text it stands in; ``subquery`` of one without a name.
        kind: ``FROM``, ``JOIN``, ``LEFT JOIN``, ``WHERE``, ``GROUP BY``, ``HAVING``, ``QUALIFY``, ``DISTINCT``,
            ``LIMIT``, ``UNION``, ``EXCEPT``, ``INTERSECT``; ``asked``: what was asked for, which rows do not meet.
        text: the part of the query.
        at: where it stands in that text.
        arrived: how many rows, or groups, came there.
        survived: how many got past.
        values: of some that did not.
        why: what that means, in words; "" where rows got past.

    """

    query: str
    kind: str
    text: str
    at: Position | None
    arrived: int
    survived: int
    values: tuple[Mapping[str, Any], ...] = ()
    why: str = ""

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return self.query if self.at is None else f"{self.query}, {self.at}"


@dataclass(frozen=True, repr=False)
class MissingRows(ToldAnswer):
    """Why rows are not in a saved result.

    Attributes:
        result: its name.
        version: its version.
        asked: what was asked.
        steps: the way, in order.
        present: numbers of the rows of the result that are what was asked for, if there are any.
        apart: of several ids that were asked about, those that `present` is made of. The way is that of the others.
        through: whether rows got past all steps; of a UNION it is enough that one side lets them.
        as_now: tables that were read in their present version: the result has no lineage in them that tells another.
        walked: makes the page.

    """

    spark: SparkSession
    result: str
    version: int
    asked: str
    steps: tuple[PassedStep, ...]
    present: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()
    through: bool = False
    as_now: tuple[str, ...] = ()
    walked: Callable[[MissingRows], Panel] | None = field(default=None, compare=False)

    @property
    def kept_out_by(self) -> PassedStep | None:
        """The step that kept the last rows out; None: they got through."""
        if self.through:
            return None
        stopped = [step for step in self.steps if step.survived == 0]
        return next((step for step in stopped if step.arrived), next(iter(stopped), None))

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        if self.present and not self.apart:
            is_what = "is" if len(self.present) == 1 else "are"
            return f"nothing is missing: {_rows(self.present)} of {self.result} {is_what} what was asked for"
        step = self.kept_out_by
        if step is None:
            found = f"no step of the query keeps it out, and {self.result} does not have it: save it again"
        else:
            found = f"{step.kind} kept it out ({step.place}): {step.why or step.text}"
        if not self.apart:
            return found
        there = _listed(self.apart)
        are_in = "is in" if len(self.apart) == 1 else "are in"
        return f"{there} {are_in} {_rows(self.present)}; of the others: {found}"

    def frame(self) -> DataFrame:
        """Return the way as rows: ``query, kind, text, line, column, arrived, survived, why``."""
        rows = [
            (s.query, s.kind, s.text, s.at and s.at.line, s.at and s.at.column, s.arrived, s.survived, s.why)
            for s in self.steps
        ]
        names = ["query", "kind", "text", "line", "column", "arrived", "survived", "why"]
        kinds = [pa.string()] * 3 + [pa.int64()] * 4 + [pa.string()]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        return arrow_frame(self.spark, pa.Table.from_arrays(arrays, names=names))

    def as_data(self) -> dict[str, Any]:
        """Return the answer as JSON-able data."""
        steps = [
            {**asdict(step), "values": [{name: _json(each) for name, each in row.items()} for row in step.values]}
            for step in self.steps
        ]
        return {
            "result": self.result,
            "version": self.version,
            "asked": self.asked,
            "verdict": self.verdict,
            "present": list(self.present),
            "present_ids": list(self.apart),
            "steps": steps,
            "read_as_now": list(self.as_now),
        }

    def _walk(self) -> Panel:
        return Panel("question", self.verdict) if self.walked is None else self.walked(self)

    def _lines(self) -> Iterator[str]:
        yield f"{self.asked} in {self.result}, version {self.version}: {self.verdict}"
        for step in self.steps:
            yield f"  {step.arrived:>6,} → {step.survived:<6,} {written(step)}  [{step.place}]"
        last = self.kept_out_by
        for values in last.values[:_EXAMPLES] if last is not None else ():
            yield f"           {values_text(values)}"
        yield from (f"Note: {note}" for note in self.notes)

    @property
    def notes(self) -> Iterator[str]:
        """The parts that could not be told, and why."""
        if self.as_now:
            tables = ", ".join(self.as_now)
            yield f"{tables} was read as it is now: {self.result} has no lineage in it that tells the version"

    def _repr_html_(self) -> str:
        rows = [
            (step.place, step.kind, step.text, f"{step.arrived:,}", f"{step.survived:,}", step.why)
            for step in self.steps
        ]
        tables = [table_html(["where", "step", "text", "arrived", "got past", "why"], rows)]
        step = self.kept_out_by
        if step is not None and step.values:
            names = list(dict.fromkeys(name for each in step.values for name in each))
            cells = [[value_text(each.get(name)) for name in names] for each in step.values]
            tables.append(table_html(names, cells))
        return facts_html(
            f"{self.asked} in {self.result}",
            [("answer", self.verdict), *(("note", note) for note in self.notes)],
            tables,
        )


def written(step: PassedStep) -> str:
    """Return the part of the query with the word that it begins with."""
    return step.text if step.text.upper().startswith(step.kind.upper()) else f"{step.kind} {step.text}"


def said(examples: Sequence[Mapping[str, Any]]) -> str:
    """Return the values of the first of some rows in words."""
    return values_text(examples[0]) if examples else ""


def _rows(numbers: Sequence[int]) -> str:
    return f"row{'s' if len(numbers) > 1 else ''} {_listed(numbers)}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:_SHOWN])) + (", …" if len(numbers) > _SHOWN else "")


def _json(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
