"""The reads and writes of a run, as datasets: names, columns, column lineage, our own facet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlglot import exp

from forward_lineage.frontend.rewriting import query_of
from forward_lineage.openlineage.columns import Find, column_lineage
from forward_lineage.openlineage.events import EventDataset, Written, columns_facet
from forward_lineage.openlineage.facet import KEY, facet_of_result, facet_of_table
from forward_lineage.openlineage.naming import Name, of_catalog_table, of_place, of_registration
from forward_lineage.openlineage.scopes import Made, Unknown
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.tables import type_name
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.tracing.statements import TracedStatement
from udafs.errors import LineageError

_OF_A_FRAME = "saved from a DataFrame, which may have been projected since lineage.sql"

Inputs = Mapping[str, Sequence[EventDataset]]
"""What a run reads: table → its datasets, of which one that lies under several paths has several."""


def all_of(inputs: Inputs) -> list[EventDataset]:
    """Return the datasets of all tables."""
    return [each for of in inputs.values() for each in of]


class Datasets:
    """Describes what runs of a session have read and written.

    Args:
        tables: the session's.
        home: where results are.
        namespace: of what lies nowhere.

    """

    def __init__(self, tables: RegisteredTables, home: str, namespace: str) -> None:
        self._tables, self._home, self._namespace = tables, home, namespace

    def result(self, name: str) -> EventDataset:
        """Return the dataset that a saved result is, whatever its version."""
        return EventDataset(_of_result(self._home, name))

    def read(self, tables: Iterable[TracedTable]) -> Inputs:
        """Return the datasets that a save reads."""
        return {table.name: self._inputs(table) for table in tables}

    def read_by(self, traced: TracedStatement) -> Inputs:
        """Return the datasets that a command reads."""
        rewritten = traced.rewritten
        manifests = [self._tables.registered(each) for each in (*rewritten.tables, *rewritten.decided_by)]
        return {each.name: self._of_registration(each, each.version) for each in manifests}

    def of_saved(self, saved: SavedResult, inputs: Inputs, tree: Callable[[], exp.Expr] | None, find: Find) -> Written:
        """Describe a save.

        Args:
            saved: what was saved.
            inputs: what it has read.
            tree: gives its query; None: it was a DataFrame.
            find: what names mean in the query.

        """
        wanted = [name for name, _ in saved.columns]
        lineage = self._columns(tree, find, wanted)
        facets, unknown = columns_facet(lineage, {name: [each.name for each in of] for name, of in inputs.items()})
        facets[KEY] = facet_of_result(saved, self._home, unknown)
        output = EventDataset(_of_result(self._home, saved.name), saved.columns, str(saved.version), facets)
        return Written(all_of(inputs), output, saved.rows, saved.size, len(saved.row_files))

    def of_command(self, traced: TracedStatement, inputs: Inputs, name: str, find: Find) -> Written:
        """Describe what a CREATE TABLE … AS or INSERT has written into a table."""
        spark, manifests = self._tables.spark, [self._tables.registered(each) for each in traced.rewritten.tables]
        schema = spark.table(quoted_name(name)).schema
        users = [field for field in schema.fields if field.name != LINEAGE_COLUMN]
        lineage = self._of_filled(traced, find, [field.name for field in users])
        facets, unknown = columns_facet(lineage, {table: [each.name for each in of] for table, of in inputs.items()})
        if len(users) < len(schema.fields):
            made_of = [(each.name, each.version, each.provider.value, each.trusted) for each in manifests]
            facets[KEY] = facet_of_table(traced.semantics, made_of, name, unknown)
        columns = [(field.name, type_name(field.dataType)) for field in schema.fields]
        output = EventDataset(of_catalog_table(name, spark, self._namespace), columns, "", facets)
        return Written(all_of(inputs), output)

    # ------------------------------------------------------------ parts

    def _inputs(self, table: TracedTable) -> list[EventDataset]:
        if table.is_result:
            return [EventDataset(_of_result(self._home, table.name), self._columns_now(table.name), str(table.version))]
        manifest = table.registration()
        return [] if manifest is None else self._of_registration(manifest, table.version)

    def _of_registration(self, manifest: Manifest, version: int) -> list[EventDataset]:
        if manifest.provider is Provider.RESULT:
            return [EventDataset(_of_result(self._home, manifest.name), manifest.columns, "")]
        names: Sequence[Name] = of_registration(manifest, self._tables.spark, self._namespace)
        return [EventDataset(name, manifest.columns, str(version)) for name in names]

    def _columns_now(self, name: str) -> tuple[tuple[str, str], ...]:
        known = self._tables.get(name)
        return () if known is None else known.columns

    @staticmethod
    def _columns(tree: Callable[[], exp.Expr] | None, find: Find, wanted: Sequence[str]) -> dict[str, Made]:
        if tree is None:
            return dict.fromkeys(wanted, Unknown(_OF_A_FRAME))
        try:
            return column_lineage(tree(), find, wanted)
        except LineageError as error:  # BACKWARD and FORWARD, which the front end's tree does not have, among others
            return dict.fromkeys(wanted, Unknown(error.what))

    def _of_filled(self, traced: TracedStatement, find: Find, users: list[str]) -> dict[str, Made]:
        """Of an INSERT only what is certain: that its rows fill all columns, in their order, and nothing was there."""
        tree = traced.statement.tree
        if isinstance(tree, exp.Insert):
            if isinstance(tree.this, exp.Schema) or tree.args.get("by_name") or tree.args.get("partition"):
                return dict.fromkeys(users, Unknown("INSERT with a list of columns, BY NAME or PARTITION"))
            return self._columns(lambda: _named(query_of(tree.copy()), users), find, users)
        return self._columns(lambda: query_of(tree.copy()), find, users)


def _named(query: exp.Query, names: Sequence[str]) -> exp.Expr:
    """A query whose columns have other names, by position."""
    columns = [exp.to_identifier(name, quoted=True) for name in names]
    inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("q"), columns=columns))
    return exp.Select(expressions=[exp.Star()]).from_(inner)


def _of_result(home: str, name: str) -> Name:
    return of_place(f"{home.rstrip('/')}/results/{name.lower()}")
