"""The call about views: charts over the same base rows, ready to be brushed."""

from __future__ import annotations

from collections.abc import Mapping

from forward_lineage.session.parts import Parts
from forward_lineage.views.linked import LinkedViews


class ViewCalls:
    """The call of `ForwardLineage` about views. docs/views.md describes them."""

    _parts: Parts

    def views(self, views: Mapping[str, str], *, table: str | None = None) -> LinkedViews:
        """Link views over the same base rows, so that a brush in one updates all others in milliseconds.

        What is needed of every base row is read once, and kept under `home` as arrays that are mapped into memory. They
        are of one version of the table: after a `refresh`, the next call makes them again.   [Psallidas and Wu 2018]

        Args:
            views: for each view, by its name, either a query ``SELECT keys, count | sum | avg FROM table [WHERE …]
                GROUP BY keys [ORDER BY …]``, all over one registered table (which may be a saved result), or the name
                of a saved result, whose rows then are the bars.
            table: the table that links saved results; may be left out when all were made of one base table only, or
                when there are queries.

        Returns:
            the views: `brush` says what chosen bars of one leave of the others, `hand` gives a hand that remembers.

        Raises:
            LineageError: a query is of another form, the message says where; Spark refuses it; the table is not what
                was registered, or the views have no table in common; sums might leave 64 bits.

        """
        return self._parts.opening.views(views, table)
