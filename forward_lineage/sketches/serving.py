"""The kept sketches that serve a query, and why others do not.   [Niu 2022, §7, §8]

The cheapest question is asked first: states of tables, settings, then proof. A proof of the same is not made twice in a
session: it depends on two texts with the values of their parameters, and the facts. Nor is one tried again that hardly
can succeed. An instance may ask for more in some of its literals and for less in others. If no sketch was proven to
serve such an instance, the next is not tried. Passing over a sketch is never wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.failed_proofs import Tried, signs
from forward_lineage.sketches.growing import appended, as_grown, grown
from forward_lineage.sketches.safety.facts import Facts
from forward_lineage.sketches.safety.growth import grows
from forward_lineage.sketches.safety.reuse import serves
from forward_lineage.sketches.safety.template import Instance
from forward_lineage.sketches.safety.verdicts import Proof
from forward_lineage.sketches.sketch_store import Capture, KeptSketches
from forward_lineage.sketches.sketched_query import AskedQuery, QueryReader, is_plain
from forward_lineage.sketches.tuning import LEAST_GAIN, is_worth_it, rows_left
from forward_lineage.spark.settings import Settings

_REMEMBERED = 1024  # proofs
_HARDLY_LESS = 0.05  # of the bytes


class Serving:
    """Finds the sketches that serve a query.

    Args:
        tables: the registered tables.
        reader: reads its queries.
        kept: what was captured.

    """

    def __init__(self, tables: RegisteredTables, reader: QueryReader, kept: KeptSketches) -> None:
        self._tables, self._settings = tables, Settings(tables.spark)
        self._reader, self._kept = reader, kept
        self._refused: set[str] = set()  # captures that are not to be used
        self._proven: OrderedDict[str, tuple[Facts, Proof]] = OrderedDict()
        self._tried = Tried()

    def best(self, query: AskedQuery) -> tuple[Capture | None, str]:
        """Return the sketches that serve a query and save most, or None; and why."""
        why = "no sketch has been captured of such a query"
        found = [self._up_to_date(each, query) for each in self._kept.of(query.kind)]
        for each in sorted(found, key=lambda each: (-each.gain, rows_left(each, query))):
            missing = self.unfit(each, query)
            if missing is None:
                return each, _said(each, query)
            why = missing
        return None, why

    def unfit(self, captured: Capture, query: AskedQuery) -> str | None:
        """Return why a capture does not serve a query; None: it does."""
        if captured.name in self._refused:
            return "its sketch is not to be used"
        if captured.states != query.states:
            if _is_older(captured, query):
                self._kept.drop(captured)
            return "its tables have changed since the sketch was captured"
        return self._unserved(captured, query)

    def superseded(self, captured: Capture, query: AskedQuery) -> list[Capture]:
        """Return captures that are not needed beside a newer one, which serves their queries and saves hardly less.

        Every capture of a kind is proven to serve an instance or not before it is run, so few are to be kept.

        Args:
            captured: the newer one.
            query: that it was captured of.

        """
        found = []
        for old in self._kept.of(query.kind):
            of_the_same = (old.states, old.settings) == (captured.states, captured.settings)
            if old.name == captured.name or not of_the_same or old.gain > captured.gain + _HARDLY_LESS:
                continue
            own = self._own(old, query)
            if own is not None and self.unfit(captured, own) is None:
                found.append(old)
        return found

    def wants_all(self, query: AskedQuery) -> bool:
        """Whether sketches of all rows would serve instances of a query that has only sketches of one witness."""
        for each in self._kept.of(query.kind):
            own = self._own(each, query) if each.one_witness and each.states == query.states else None
            if own is None:
                continue
            both = own.instance, query.instance
            verdicts = (serves(a, b, _attributes(each), query.facts) for a, b in (both, both[::-1]))
            if any(verdict and not verdict.checks for verdict in verdicts):
                return True
        return False

    def refuse(self, captured: Capture) -> None:
        """Do not use a capture in this session."""
        self._refused.add(captured.name)

    def _unserved(self, captured: Capture, query: AskedQuery) -> str | None:
        """Why a capture of this state does not serve a query."""
        if captured.settings != self._settings.now():
            return "the sketch was captured under other settings"
        return self._unproven(captured, query)

    def _up_to_date(self, captured: Capture, query: AskedQuery) -> Capture:
        """The captured sketches, with the fragments of rows added since, if they then serve their own query."""
        if not _is_older(captured, query) or captured.name in self._refused:
            return captured
        own = self._own(captured, query)
        more = appended(captured, own, self._tables) if own is not None else None
        if own is None or more is None or self._unserved(as_grown(captured, own, more), own) is not None:
            return captured
        found = grown(captured, query, more, self._tables)
        if not is_worth_it(found, query):  # it is worth another one
            return captured
        kept = self._kept.put(found)
        self._kept.drop(captured)
        return kept

    def _own(self, captured: Capture, query: AskedQuery) -> AskedQuery | None:
        """The query that something was captured of, as if it were asked now, like another one of its kind."""
        read = self._reader.statement(captured.sql, captured.args)
        if isinstance(read, str):
            return None
        return replace(query, sql=captured.sql, args=captured.args, statement=read[0], instance=read[1])

    def _unproven(self, captured: Capture, query: AskedQuery) -> str | None:
        read = self._reader.statement(captured.sql, captured.args)
        if isinstance(read, str):
            return read
        _, instance = read
        same = instance.bindings == query.bindings
        if not same and not all(map(is_plain, query.bindings)):
            return "it has literals that may be read in two ways"
        kind = self._kind(captured, instance, query)
        if not same and self._tried.is_in_vain(kind):
            return "its literals differ from those of the captured instance as others do that it does not serve"
        verdict = self._verdict(captured, instance, query)
        if verdict.checks and not same:
            return "whether rows tie at the edge of its LIMIT was seen of another instance"
        self._tried.note(kind, proven=verdict.safe)
        return None if verdict else f"the sketch does not serve it: {verdict.why}"

    def _kind(self, captured: Capture, instance: Instance, query: AskedQuery) -> str:
        """Of what kind a proof is."""
        how = signs(instance.bindings, query.bindings)
        return repr((query.kind, query.states, _attributes(captured), captured.rows, captured.one_witness, how))

    def _verdict(self, captured: Capture, instance: Instance, query: AskedQuery) -> Proof:
        attributes = _attributes(captured)
        key = repr((captured.name, captured.has_grown, attributes, query.sql, query.args))
        facts, verdict = self._proven.get(key, (None, None))
        if verdict is None or facts != query.facts:
            verdict = serves(
                instance, query.instance, attributes, query.facts, rows=captured.rows, one_witness=captured.one_witness
            )
            if verdict and captured.has_grown:
                ((table, column),) = attributes.items()
                verdict = grows(query.instance.statement, table, column, query.facts)
            self._proven[key] = query.facts, verdict
            if len(self._proven) > _REMEMBERED:
                self._proven.popitem(last=False)
        self._proven.move_to_end(key)
        return verdict


def _said(captured: Capture, query: AskedQuery) -> str:
    """The savings of sketches for a query that they serve."""
    since = ", though rows were added since its capture" if captured.has_grown else ""
    left = f", {rows_left(captured, query):.0%} of the rows are left" if captured.gain < LEAST_GAIN else ""
    return f"of {captured.size / 2**20:,.0f} MB {captured.gain:.0%} are not read{left}{since}"


def _attributes(captured: Capture) -> dict[str, str]:
    return {each.partition.table: each.partition.column for each in captured.sketches}


def _is_older(captured: Capture, query: AskedQuery) -> bool:
    """Whether a capture is of the same tables as they were before: they do not come back."""
    same = {name for name, _ in captured.states} == {name for name, _ in query.states}
    return same and captured.states != query.states
