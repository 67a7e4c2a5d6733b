"""The facts that a session has about values of expressions in LINEAGE ON: their types, and of some tables the values.

A type often says enough for values to be ids by themselves. It does not for strings, or if two BIGINT do not fit one
id. Then the table is read, once for each version of its registration. A few strings can be listed, and numbers seldom
use the whole of their type. Every row of the query checks that again, and a value that is not there fails it. So
nothing is looked up that could change without another version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from forward_lineage.columns.ranges import pack
from forward_lineage.frontend import print_sql
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import without_stack_traces
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.spark.tables import type_name
from forward_lineage.spark.versions import FAILURES
from forward_lineage.tracing.column_ranges import KnownRanges
from rewrites.domains import Domain, Integers, Listed, fit, integers
from rewrites.granules import Ranges
from rewrites.refusals import refuse
from rewrites.tables import BaseTable

MOST_LISTED = 1024
"""Strings of a column that are written into a query, at most; more take a dictionary, which is joined."""
MOST_BYTES = 16 << 10
"""Bytes of them."""
_SPARKS = "org.apache.spark.sql.catalyst."


class KnownInSession:
    """Tells the domains of expressions over registered tables; see `rewrites.granules.KnownValues`.

    Args:
        tables: the registered tables.
        ranges: of their columns.

    """

    def __init__(self, tables: RegisteredTables, ranges: KnownRanges) -> None:
        self._spark: SparkSession = tables.spark
        self._tables = tables
        self._planner = Planner(tables.spark)
        self._found: dict[tuple[object, ...], tuple[Domain, ...] | None] = {}
        self._ranges = ranges

    def __call__(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> Sequence[Domain] | None:
        """Return the domain of each expression; None where one is not known.

        Raises:
            ChangedError: the table had to be looked at, and is not what was registered.
            NotTracedError: an expression has a function of the user's that may give another value for the same row.

        """
        values = self._values(table, expressions)
        if values is None:
            return None
        self._refuse_chance(table, expressions)
        types = [type_name(field.dataType).upper() for field in values.schema.fields]
        by_type = [integers(each, over, self._is_sparks) for each, over in zip(types, expressions, strict=True)]
        known = [each for each in by_type if each is not None]
        if len(known) == len(types) and fit(known):
            return known
        if any(domain is None and each != "STRING" for domain, each in zip(by_type, types, strict=True)):
            return None
        return self._from_rows(table, expressions, values, by_type)

    def ranges(self, table: BaseTable, column: str, most: int) -> Ranges:
        """Return ranges of a column; see `rewrites.granules.KnowsRanges`."""
        bounds = self._ranges.bounds(table, column, most)
        kind = dict(self._tables.registered(table.name).columns)[column]
        return Ranges(table, column, kind, pack(bounds))

    def _values(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> DataFrame | None:
        """The values in every row; None where Spark refuses them: it says so of the query, too."""
        try:
            with without_stack_traces():
                return self._spark.sql(_selected(table, expressions))
        except AnalysisException:
            return None

    def _refuse_chance(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> None:
        """Refuse what the rules, which know Spark's functions by name, cannot."""
        calls = [call for each in expressions for call in each.find_all(exp.Anonymous)]
        if all(self._is_sparks(call.name) for call in calls):
            return
        self._planner.plan(_selected(table, expressions))
        for function in (path[0] for path in self._planner.chances if len(path) == 1):
            called = next((call for call in calls if call.name.lower() == function), calls[0])
            what = f"{function}, in LINEAGE ON, may have another value for the same row"
            refuse(called, what, "Take an expression that has one value for each row.")

    def _is_sparks(self, function: str) -> bool:
        try:
            with without_stack_traces():
                return self._spark.catalog.getFunction(function).className.startswith(_SPARKS)
        except AnalysisException:
            return False

    def _from_rows(
        self, table: BaseTable, expressions: Sequence[exp.Expr], values: DataFrame, by_type: Sequence[Integers | None]
    ) -> tuple[Domain, ...] | None:
        """Look at the table, unless its rows, or what is made of them, may change unnoticed."""
        manifest = self._watched(table, expressions)
        if manifest is None:
            return None
        key = self._key(manifest, values, expressions)
        if key not in self._found:
            self._tables.check_unchanged([table.name])
            try:
                self._found[key] = _looked_up(values, by_type)
            except FAILURES:  # a value cannot be computed; the query says so if it computes it
                return None
        return self._found[key]

    def _watched(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> Manifest | None:
        """The registration of a table, if changes of its rows, and of what is made of them, are noticed."""
        manifest = self._tables.get(table.name)
        calls = (call.name for each in expressions for call in each.find_all(exp.Anonymous))
        noticed = manifest is not None and not manifest.trusted and all(map(self._is_sparks, calls))
        return manifest if noticed else None

    def _key(self, manifest: Manifest, values: DataFrame, expressions: Sequence[exp.Expr]) -> tuple[object, ...]:
        texts = (print_sql(each.copy()) for each in expressions)
        settings = settings_of_values(self._spark)
        return manifest.name, manifest.version, manifest.relation, values.schema.json(), *settings, *texts


def _selected(table: BaseTable, expressions: Sequence[exp.Expr]) -> str:
    listed = ", ".join(f"{print_sql(each.copy())} AS value_{i}" for i, each in enumerate(expressions))
    return f"SELECT {listed} FROM {table.relation}"


def _looked_up(values: DataFrame, by_type: Sequence[Integers | None]) -> tuple[Domain, ...] | None:
    """Return the domains that the values of a table have; None where they are too many."""
    found: list[Domain] = []
    for column, domain in zip(values.columns, by_type, strict=True):
        known = domain or _listed(values, column)
        if known is None:
            return None
        found.append(known)
    if not fit(found):
        found = _narrowed(values, found)
    return tuple(found) if fit(found) else None


def _listed(values: DataFrame, column: str) -> Listed | None:
    """Return the strings in a column if they are few."""
    distinct = values.selectExpr(f"CAST({column} AS BINARY) AS value").distinct().limit(MOST_LISTED + 2)
    strings = sorted(bytes(row.value) for row in distinct.collect() if row.value is not None)
    few = len(strings) <= MOST_LISTED and sum(map(len, strings)) <= MOST_BYTES
    return Listed(tuple(strings)) if few else None


def _narrowed(values: DataFrame, domains: Sequence[Domain]) -> list[Domain]:
    """Return the domains with bounds that are those of the table, in place of the type's.

    Raises:
        PySparkException: a value is not between those of the type; one of `spark.versions.FAILURES`.

    """
    asked = {column: each for column, each in zip(values.columns, domains, strict=True) if isinstance(each, Integers)}
    ends = [
        f"dl_granule({end}({column}), '{each.type}', {each.least}, {each.most}) AS {end}_{column}"
        for column, each in asked.items()
        for end in ("min", "max")
    ]
    row = values.selectExpr(*ends).first()
    assert row is not None  # a global aggregate
    bounds = {column: (row[f"min_{column}"], row[f"max_{column}"]) for column in asked}
    return [
        _between(each, *bounds[column]) if isinstance(each, Integers) else each
        for column, each in zip(values.columns, domains, strict=True)
    ]


def _between(domain: Integers, first: int, last: int) -> Integers:
    """Return the part of a domain between two places; places of 0 say that there are only NULLs."""
    least = domain.least - 1
    return replace(domain, least=least + max(first, 1), most=least + max(last, 1), of_type=False)
