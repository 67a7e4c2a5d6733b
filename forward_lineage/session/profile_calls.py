"""The call about constraints: does the data say what it should?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from forward_lineage.profiling.verdict import Verdict
from forward_lineage.session.components import Parts


class ProfileCalls:
    """The call of `ForwardLineage` about constraints. docs/profiling.md describes them."""

    _parts: Parts

    def dependencies(
        self,
        table: str,
        constraints: str | Iterable[str],
        *,
        nulls: Literal["unknown", "equal"] = "unknown",
        save: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[Verdict]:
        """Check which constraints hold in a table. For those that do not, list the values and rows that violate them.

        Each attribute is read once, as a number for each row. It is kept under `home` for all later constraints, until
        the table changes.   [Psallidas and Wu 2018, §6.5.2]

        Args:
            table: a registered table or a saved result.
            constraints: ``"zip -> city, state"``: rows that agree on the left agree on each attribute on the right.
                ``"key(a, b)"``: no two rows agree on all. ``"state in states(code)"``: another table has each value.
                ``"not (members < 0)"``, ``"not (t.npi = u.npi and t.zip <> u.zip)"``: no row, no two rows are so.
                Attributes are columns, or expressions over columns.
            nulls: ``"unknown"``: values with a NULL in them are not compared, as in SQL's own constraints; ``"equal"``:
                NULL is a value like others.
            save: save the violations of each constraint as a result, ``<save>_<constraint>``, e.g.
                ``checks_zip_city_state``, with letters, digits and _ only.
            progress: a function that is called with a text at each step.

        Returns:
            a verdict for each constraint: whether it `holds`, and its `violations` as an Arrow table, most rows first.
            It has the ids of the `rows` of each, the `values` in them, the `partners` of them, and `save`.

        Raises:
            LineageError: a constraint is malformed, the message says where; there is no such table or column; the table
                is not what was registered.

        Examples:
            >>> key, unique = lineage.dependencies("sales", ["key(t_id)", "key(item)"])
            >>> key.holds, unique.holds
            (True, False)
            >>> unique.violations.to_pylist(), unique.rows(0)
            ([{'item': 'binder', 'rows': 2}], LineageSet({1, 3}))

        """
        return self._parts.profiler.verdicts(table, constraints, nulls, save, progress or _nothing)


def _nothing(_: str) -> None:
    """Nobody wants to know."""
