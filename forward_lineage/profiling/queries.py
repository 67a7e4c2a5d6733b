"""What the violations of a constraint are in SQL: the query whose rows and lineage they are.   [Smoke, §6.5.2, Q_cd]"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.constraints import Attribute
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
