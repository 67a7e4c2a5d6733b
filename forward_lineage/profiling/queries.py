"""The violations of a constraint in SQL: the query whose rows and lineage they are.   [Smoke, §6.5.2, Q_cd]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.constraints import Attribute, Denial
from forward_lineage.spark.names import quoted, quoted_name


@dataclass(frozen=True)
class GroupedRows:
    """Rows of a table by some attributes.

    Attributes:
        table: its name.
        attributes: what rows of a group have in common.
        names: what the result calls these.
        rows: what it calls the number of rows.
        nulls_equal: whether NULL is a value like others; else rows with one are in no group.

    """

    table: str
    attributes: Sequence[Attribute]
    names: Sequence[str]
    rows: str
    nulls_equal: bool

    def sql(self, items: Sequence[str] = (), condition: str | None = None) -> str:
        """Return a query for the groups.

        Args:
            items: what else is selected.
            condition: which rows are looked at.

        """
        keys = [print_sql(each.tree) for each in self.attributes]
        named = [f"{key} AS {quoted(name)}" for key, name in zip(keys, self.names, strict=True)]
        selected = ", ".join([*named, f"count(*) AS {quoted(self.rows)}", *items])
        known = [] if self.nulls_equal else [f"({key}) IS NOT NULL" for key in keys]
        wanted = " AND ".join([*known, *([condition] if condition else [])])
        where = f" WHERE {wanted}" if wanted else ""
        return f"SELECT {selected} FROM {quoted_name(self.table)}{where} GROUP BY {', '.join(keys)}"


def disagreeing_sql(groups: GroupedRows, counted: Mapping[str, Attribute]) -> str:
    """Return a query for the groups whose rows have several values of an attribute.

    The groups are an inner query, so that what is counted is what rows have, whatever the result calls its columns.

    Args:
        groups: of rows.
        counted: the attributes, by what the result calls the number of values.

    """
    items = []
    for name, each in counted.items():
        value = print_sql(each.tree)
        items.append(f"count(DISTINCT {f'struct({value})' if groups.nulls_equal else value}) AS {quoted(name)}")
    bad = " OR ".join(f"{quoted(name)} > 1" for name in counted)
    return f"SELECT * FROM ({groups.sql(items)}) WHERE {bad}"


def repeated_sql(groups: GroupedRows) -> str:
    """Return a query for the groups of several rows."""
    return f"SELECT * FROM ({groups.sql()}) WHERE {quoted(groups.rows)} > 1"


def missing_sql(
    tables: tuple[str, str],
    sides: tuple[Sequence[Attribute], Sequence[Attribute]],
    names: tuple[Sequence[str], str],
    *,
    nulls_equal: bool,
) -> str:
    """Return a query for what rows of a table have and no row of another one.

    Args:
        tables: their names.
        sides: the attributes of each.
        names: what the result calls the attributes, and the number of rows.
        nulls_equal: whether NULL is a value like others.

    """
    keys, rows = [quoted(name) for name in names[0]], quoted(names[1])
    here, there = (
        ", ".join(f"{print_sql(each.tree)} AS {key}" for each, key in zip(side, keys, strict=True)) for side in sides
    )
    equal = "<=>" if nulls_equal else "="
    same = " AND ".join(f"there.{key} {equal} here.{key}" for key in keys)
    known = "" if nulls_equal else "".join(f"here.{key} IS NOT NULL AND " for key in keys)
    return (
        f"SELECT {', '.join(f'here.{key}' for key in keys)}, count(*) AS {rows} "
        f"FROM (SELECT {here} FROM {quoted_name(tables[0])}) AS here WHERE {known}NOT EXISTS "
        f"(SELECT 1 FROM (SELECT {there} FROM {quoted_name(tables[1])}) AS there WHERE {same}) "
        f"GROUP BY {', '.join(f'here.{key}' for key in keys)}"
    )


def denied_sql(table: str, denial: Denial, shown: Sequence[Attribute], names: tuple[Sequence[str], str]) -> str:
    """Return a query for the rows that have a partner.

    Args:
        table: of both rows.
        denial: what they must not be.
        shown: the attributes of the first row, its columns not qualified.
        names: what the result calls these, and the number of rows.

    """
    first, second = (quoted(row) for row in denial.rows)
    name, condition = quoted_name(table), print_sql(denial.condition.tree)
    keys = [print_sql(each.tree) for each in shown]
    items = ", ".join(f"{key} AS {quoted(shown_as)}" for key, shown_as in zip(keys, names[0], strict=True))
    rows = f"SELECT * FROM {name} AS {first} WHERE EXISTS (SELECT 1 FROM {name} AS {second} WHERE {condition})"
    return f"SELECT {items}, count(*) AS {quoted(names[1])} FROM ({rows}) GROUP BY {', '.join(keys)}"
