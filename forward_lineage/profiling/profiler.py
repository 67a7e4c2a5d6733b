"""From constraints as they are written to verdicts, and to saved results of their violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from forward_lineage.frontend.constraints import Attribute, Constraint, read_constraint, slug
from forward_lineage.profiling.capture import Attributes, Tell
from forward_lineage.profiling.checks import Columns, attributes_of, check
from forward_lineage.profiling.understanding import understood
from forward_lineage.profiling.verdict import Verdict
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.store.library.library import check_name
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.computed import Computed
from forward_lineage.store.saving.saver import Saver, Wish
from udafs.errors import BadArgumentError

_NULLS = ("unknown", "equal")


class Profiler:
    """Checks constraints over the tables of a session.

    Args:
        tables: what is registered.
        saver: how results are saved.
        home: the folder of registrations and results.
        bring_up_to_date: lets names of saved results mean their newest versions, whoever saved these.

    """

    def __init__(
        self, tables: RegisteredTables, saver: Saver, home: Path, bring_up_to_date: Callable[[], None]
    ) -> None:
        self._tables, self._saver, self._bring_up_to_date = tables, saver, bring_up_to_date
        self._spark = tables.spark
        self._attributes = Attributes(tables, home)

    def verdicts(
        self, table: str, constraints: str | Iterable[str], nulls: str, save: str | None, tell: Tell
    ) -> list[Verdict]:
        """See `ForwardLineage.dependencies`."""
        if nulls not in _NULLS:
            raise BadArgumentError(f"nulls={nulls!r} is not known", instead=f"Use one of {', '.join(_NULLS)}.")
        read = _read(constraints)
        names = [] if save is None else _names(save, read)
        self._bring_up_to_date()
        columns = self._columns(table, [each for one in read for each in attributes_of(one)], tell)
        found = []
        for each in read:
            tell(f"checking {each.text}")
            found.append(self._verdict(each, columns, nulls_equal=nulls == "equal"))
        for name, verdict in zip(names, found, strict=False):
            tell(f"saving {name}")
            verdict.save(name)
        return found

    def _columns(self, table: str, attributes: Sequence[Attribute], tell: Tell) -> Columns:
        manifest = self._tables.registered(table)
        check_unchanged(self._spark, manifest)
        wanted = understood(self._spark, manifest, self._tables.base_table(manifest), attributes)
        captured = self._attributes.of(manifest, wanted, tell)
        return Columns(manifest, captured, {id(each.attribute): each for each in wanted})

    def _verdict(self, constraint: Constraint, columns: Columns, *, nulls_equal: bool) -> Verdict:
        manifest = columns.manifest
        checked = check(constraint, columns, nulls_equal=nulls_equal)
        return Verdict(
            constraint.text,
            checked.kind,
            manifest.name,
            manifest.version,
            manifest.trusted,
            checked.sql,
            checked.counts,
            checked.found,
            partial(self._schema, checked.sql),
            partial(self._save, manifest),
        )

    def _schema(self, sql: str) -> pa.Schema:
        with spark_errors():
            schema = self._spark.sql(sql).schema
        return to_arrow_schema(schema, timezone="UTC")  # as DataFrame.toArrow has it

    def _save(self, manifest: Manifest, verdict: Verdict, name: str) -> SavedResult:
        computed = Computed(verdict.sql, manifest, verdict.violations, verdict.relation())
        saved = self._saver.save_computed(computed, Wish(name))
        self._bring_up_to_date()
        return saved


def _read(constraints: str | Iterable[str]) -> list[Constraint]:
    texts = [constraints] if isinstance(constraints, str) else list(constraints)
    for each in texts:
        if not isinstance(each, str):
            raise BadArgumentError(f"{each!r} is no constraint", instead='Write it as a text: "zip -> city".')
    if not texts:
        raise BadArgumentError("no constraint is given", instead='Give some: ["zip -> city, state", "key(npi)"].')
    return [read_constraint(each) for each in texts]


def _names(prefix: str, constraints: Sequence[Constraint]) -> list[str]:
    """What the violations are saved as."""
    names = [check_name(f"{prefix}_{slug(each.text)}") for each in constraints]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise BadArgumentError(
            f"{times} constraints would be saved as {name}",
            instead="Save them one by one, with verdict.save(name).",
        )
    return names
