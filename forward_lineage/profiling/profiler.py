"""From the texts of constraints to verdicts, and to saved results of their violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from forward_lineage.frontend.constraints import (
    Constraint,
    Denial,
    Dependency,
    Inclusion,
    Key,
    read_constraint,
    slug,
)
from forward_lineage.profiling.agreement import DependencyCheck, KeyCheck
from forward_lineage.profiling.attribute_arrays import Attributes, Tell, WantedAttribute
from forward_lineage.profiling.constraint_check import Check, Checked, Columns
from forward_lineage.profiling.denials import denial_check
from forward_lineage.profiling.inclusions import InclusionCheck
from forward_lineage.profiling.understanding import check_denial, understood
from forward_lineage.profiling.verdict import Verdict
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.versions import arrow_schema
from forward_lineage.store.library.library import check_name
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.local_rows import Computed
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
        """Check which constraints hold in a table; list the values and rows that violate the others."""
        if nulls not in _NULLS:
            raise BadArgumentError(f"nulls={nulls!r} is not known", instead=f"Use one of {', '.join(_NULLS)}.")
        read = _read(constraints)
        names = [] if save is None else _names(save, read)
        self._bring_up_to_date()
        manifest = self._tables.registered(table)
        checks = [_check(each, manifest) for each in read]
        columns = self._columns(manifest, checks, [each for each in read if isinstance(each, Denial)], tell)
        found = []
        for constraint, check in zip(read, checks, strict=True):
            tell(f"checking {constraint.text}")
            others = None if check.others is None else columns[check.others[0]]
            checked = check.run(columns[""], others, nulls_equal=nulls == "equal")
            found.append(self._verdict(constraint, checked, manifest))
        for name, verdict in zip(names, found, strict=False):
            tell(f"saving {name}")
            verdict.save(name)
        return found

    def _columns(
        self, manifest: Manifest, checks: Sequence[Check], denials: Sequence[Denial], tell: Tell
    ) -> dict[str, Columns]:
        """The attributes that checks need: of their table under the empty name, of others under their names."""
        asked = {"": (manifest, [attribute for check in checks for attribute in check.attributes])}
        for check in checks:
            if check.others is not None:
                name, attributes = check.others
                asked.setdefault(name, (self._tables.registered(name), []))[1].extend(attributes)
        wanted = {}
        for name, (table, attributes) in asked.items():
            check_unchanged(self._spark, table)
            wanted[name] = understood(self._spark, table, self._tables.base_table(table), attributes)
        for denial in denials:
            check_denial(self._spark, manifest, denial)
        return {name: self._captured(asked[name][0], each, tell) for name, each in wanted.items()}

    def _captured(self, manifest: Manifest, wanted: Sequence[WantedAttribute], tell: Tell) -> Columns:
        captured = self._attributes.of(manifest, wanted, tell)
        return Columns(manifest, captured, {id(each.attribute): each for each in wanted})

    def _verdict(self, constraint: Constraint, checked: Checked, manifest: Manifest) -> Verdict:
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
        return arrow_schema(schema, "UTC")  # as DataFrame.toArrow has it

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


def _check(constraint: Constraint, manifest: Manifest) -> Check:
    match constraint:
        case Dependency():
            return DependencyCheck(constraint)
        case Key():
            return KeyCheck(constraint)
        case Inclusion():
            return InclusionCheck(constraint)
        case Denial():
            return denial_check(constraint, manifest)


def _names(prefix: str, constraints: Sequence[Constraint]) -> list[str]:
    """The name under which the violations are saved."""
    names = [check_name(f"{prefix}_{slug(each.text)}") for each in constraints]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise BadArgumentError(
            f"{times} constraints would be saved as {name}",
            instead="Save them one by one, with verdict.save(name).",
        )
    return names
