"""Forms on disk, and back.

    HOME/workloads/<result>/<digest of what they are of>/    views.json, sealed, written last; one raw file an array

They are kept like the arrays of views (`columns.keeping`) and may be deleted at any time. Their questions are then
answered from the captured lineage. Files of form n: ``<n>.run``, ``<n>.starts``, ``<n>.order``, ``<n>.counts``;
``<n>.attribute<i>``, ``<n>.key<i>`` the different values, ``<n>.codes<i>`` of key i; of column i ``<n>.total<i>``,
``<n>.valid<i>``, ``<n>.least<i>``, ``<n>.most<i>``, ``<n>.values<i>``, and ``<n>.type<i>``, an empty table of its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from forward_lineage.columns.array_cache import ArrayReader, Shelf, Writer
from forward_lineage.storage.derived import digest
from forward_lineage.storage.fields import made
from forward_lineage.storage.homes import Home, folder_of
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.workloads.form_builder import FormPlan, Made
from forward_lineage.workloads.forms import Form, Kind, Sums
from udafs.errors import DamagedError

FORMAT = 1
_ROOM = "workloads"


@dataclass(frozen=True)
class FormEntry:
    """The purpose of a form; the fields are those of `Plan`."""

    table: str
    kind: str
    attributes: tuple[str, ...]
    keys: tuple[str, ...]
    calls: tuple[tuple[str, tuple[str, ...]], ...]
    fixed: tuple[str, ...]


@dataclass(frozen=True)
class Entries:
    """The meaning of the arrays in a folder.

    Attributes:
        settings: of the session that made them, on which values of expressions may depend.
        version: of each table.
        forms: what they are for.
        refused: what could not be made, in words, and why.

    """

    settings: tuple[str, ...]
    versions: tuple[tuple[str, int], ...]
    forms: tuple[FormEntry, ...]
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class KeptForms:
    """Forms of one version of a result; see `Entries`."""

    settings: tuple[str, ...]
    versions: dict[str, int]
    forms: tuple[Made, ...]
    refused: tuple[tuple[str, str], ...] = ()


class FormShelf:
    """The forms of a home.

    Args:
        home: where registrations and results are.

    """

    def __init__(self, home: Home) -> None:
        self._home = folder_of(home)

    def keep(
        self,
        saved: SavedResult,
        forms: Sequence[Made],
        versions: dict[str, int],
        settings: tuple[str, ...],
        refused: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Write the forms of a version of a result; those of other versions go.

        Raises:
            SetupError: the home cannot be written.

        """
        shelf = self._shelf(saved.name)
        with shelf.making(), shelf.writing(_versions(saved)) as writer:
            for number, each in enumerate(forms):
                _write(writer, number, each.form)
            listed = tuple(
                FormEntry(
                    each.plan.table,
                    each.form.kind,
                    each.plan.attributes,
                    each.plan.keys,
                    tuple((text, tuple(sorted(functions))) for text, functions in each.plan.calls.items()),
                    each.plan.fixed,
                )
                for each in forms
            )
            writer.finish(asdict(Entries(settings, tuple(versions.items()), listed, refused)))

    def find(self, saved: SavedResult) -> KeptForms | None:
        """Return the forms of a version of a result; None: there are none, or they are damaged."""
        reader = self._shelf(saved.name).find(_versions(saved))
        if reader is None:
            return None
        try:
            said = made(Entries, reader.described)
            forms = tuple(_read(reader, number, each) for number, each in enumerate(said.forms))
        except (ValueError, KeyError, TypeError, DamagedError, pa.ArrowException):
            return None
        return KeptForms(said.settings, dict(said.versions), forms, said.refused)

    def forget(self, name: str) -> None:
        """Remove the forms of a result."""
        self._shelf(name).forget()

    def _shelf(self, name: str) -> Shelf:
        return Shelf(self._home, _ROOM, name.lower())


def _versions(saved: SavedResult) -> str:
    return digest(FORMAT, saved.name, saved.version, saved.data)


def _write(writer: Writer, number: int, form: Form) -> None:
    arrays = {"run": form.run, "starts": form.starts, "order": form.order, "counts": form.counts}
    for place, codes in enumerate(form.codes):
        arrays[f"codes{place}"] = codes
    tables = {f"attribute{place}": values for place, values in enumerate(form.attributes.values())}
    tables |= {f"key{place}": values for place, values in enumerate(form.keys.values())}
    for place, sums in enumerate(form.measures.values()):
        same = sums.least is sums.total
        arrays |= {f"total{place}": sums.total, f"valid{place}": sums.valid}
        arrays |= {} if same else {f"least{place}": sums.least}
        arrays |= {} if same or sums.most is sums.least else {f"most{place}": sums.most}
        tables[f"type{place}"] = pa.array([], sums.kind)
        if sums.values is not None:
            tables[f"values{place}"] = sums.values
    for name, array in arrays.items():
        if array is not None:
            writer.put(f"{number}.{name}", array)
    for name, column in tables.items():
        writer.put_table(f"{number}.{name}", pa.table({"v": column}))


def _read(reader: ArrayReader, number: int, said: FormEntry) -> Made:
    def column(name: str) -> pa.Array:
        found = reader.table(f"{number}.{name}").column(0)
        return pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)

    calls = {text: frozenset(functions) for text, functions in said.calls}
    plan = FormPlan(said.table, said.attributes, said.keys, calls, said.fixed, _kind(said.kind))
    measures = {}
    for place, (text, functions) in enumerate(calls.items()):
        total = reader.get(f"{number}.total{place}")
        ends = bool(functions & {"min", "max"})
        least = reader.get(f"{number}.least{place}") if ends else None
        least = total if ends and least is None else least
        most = reader.get(f"{number}.most{place}") if ends else None
        values = column(f"values{place}") if reader.get(f"{number}.values{place}") is not None else None
        valid = reader.get(f"{number}.valid{place}")
        measures[text] = Sums(
            column(f"type{place}").type, total, valid, least, least if ends and most is None else most, values
        )
    form = Form(
        _kind(said.kind),
        {text: column(f"attribute{place}") for place, text in enumerate(said.attributes)},
        {text: column(f"key{place}") for place, text in enumerate(said.keys)},
        tuple(reader[f"{number}.codes{place}"] for place in range(len(said.keys))),
        measures,
        reader.get(f"{number}.counts"),
        reader[f"{number}.run"],
        reader[f"{number}.starts"],
        reader.get(f"{number}.order"),
    )
    return Made(plan, form)


def _kind(said: str) -> Kind:
    if said == "cube":
        return "cube"
    if said == "partition":
        return "partition"
    raise ValueError("no such form")
