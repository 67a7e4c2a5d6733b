"""The calls about approximate answers: aggregates of a part of the rows, in intervals that are proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.approximate.approximator import Asked
from forward_lineage.approximate.matching.matcher import AskedMatch, counted
from forward_lineage.approximate.matching.matches import Matches
from forward_lineage.approximate.occurrences import Membership, Occurrence
from forward_lineage.approximate.scramble import Scramble
from forward_lineage.session.components import Parts
from forward_lineage.views.linked import LinkedViews


class ApproximateCalls:
    """The calls of `ForwardLineage` about approximate answers. docs/approximate.md describes them."""

    _parts: Parts

    def scramble(self, table: str, *, columns: Sequence[str], groups: Sequence[str] = ()) -> Scramble:
        """Put columns of a registered table in random order, so that `approximate` can stop early.

        The order comes from the entropy of the system. The scramble stays in memory, for this session; another one of
        the same table takes its place.   [Macke 2021, §6.4.1]

        Args:
            table: a registered table or a saved result.
            columns: those that queries add up, or compare in WHERE.
            groups: those that queries group by. An index says which rows belong to each value.

        Returns:
            the scramble: `base_rows()`, `positions_of("item")` and `positions_of_blocks()` are lineage relations.

        Raises:
            LineageError: there is no such table or column; a column has a type that cannot be in a scramble; the table
                is not what was registered.

        Examples:
            >>> lineage.scramble("sales", columns=["amount"], groups=["item"])
            Scramble(sales, 3 rows, columns amount, item, groups item)

        """
        return self._parts.approximator.scramble(table, columns, groups)

    def approximate(
        self,
        sql: str,
        error: float | None = 0.05,
        *,
        relative: bool = True,
        rows: int | None = None,
        confidence: float = 1 - 1e-15,
        bounder: str = "betting",
        progress: Callable[[str], None] | None = None,
    ) -> ApproximateAnswer:
        """Answer an aggregate query from as few rows of its table's scramble as make it certain.

        All intervals of the answer hold together with the probability `confidence`. Nothing is assumed of the values.
        Rows are read until the error of each aggregate of the select list is small enough. HAVING is decided for each
        group. ORDER BY an aggregate is certain, with LIMIT the choice of the groups. Ctrl-C returns the intervals so
        far.   [Macke 2021, chapter 6; Waudby-Smith and Ramdas 2020]

        Args:
            sql: SELECT of keys, and of AVG, SUM and COUNT of columns, FROM a table with a scramble. It may have WHERE
                and GROUP BY. HAVING compares an aggregate with a number. ORDER BY has keys, or one aggregate.
            error: the greatest error: a part of the true value, or with ``relative=False`` the width of an interval;
                None: only HAVING and ORDER BY count.
            relative: which of the two.
            rows: read so many rows of each group instead, and look once.
            confidence: over 0 and below 1.
            bounder: ``"betting"``, or of the thesis ``"bernstein+rt"``, ``"bernstein"``, ``"hoeffding+rt"``,
                ``"hoeffding"``.
            progress: a function that is called with a text after each round.

        Returns:
            the answer: `rows` with estimates and intervals, `certified`, `backward(row)`: the ids of the rows read.

        Raises:
            LineageError: the query is malformed or of another form; the message says where. The table has no scramble,
                or it changed since.

        Examples:
            >>> sales = lineage.scramble("sales", columns=["amount"], groups=["item"])
            >>> answer = lineage.approximate("SELECT item, AVG(amount) AS a FROM sales GROUP BY item ORDER BY item")
            >>> [(row["item"], row["a_low"], row["a"], row["a_high"]) for row in answer.rows]
            [('binder', 55.0, 55.0, 55.0), ('pencil', 30.0, 30.0, 30.0)]
            >>> answer.certified, answer.backward(0), answer.stale()
            (True, LineageSet({1, 3}), None)

        """
        asked = Asked(error, relative, rows, confidence, bounder, progress or _nothing)
        return self._parts.approximator.answer(sql, asked)

    def matching(
        self,
        table: str | LinkedViews,
        *,
        candidates: str,
        histogram: str,
        target: Mapping[Any, float] | Sequence[float] | None = None,
        like: object = None,
        k: int = 10,
        error: float = 0.04,
        confidence: float = 0.99,
        least: float = 0.0008,
        where: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Matches:
        """Find the values of a column whose rows, counted by another column, look most like a target.

        Rows are read until both of these hold with the probability `confidence`. No candidate with `least` of the rows
        is closer to the target by `error` than one of the answer. Each histogram of the answer is off by less than
        `error`. Distances are ℓ₁, between 0 and 2.   [Macke 2021, chapter 5]

        Args:
            table: with a scramble that has both columns among its groups; or linked views, which count exactly.
            candidates: the column whose values are compared; of linked views the name of one.
            histogram: the column whose values are the bars; of linked views the name of one. NULL is a bar, too.
            target: a weight for each bar, by bar or in ascending order. Bars that it does not name have the weight 0.
            like: a candidate whose histogram is the target instead. All of its rows are read.
            k: how many candidates are wanted.
            error: the distance that does not matter, over 0.
            confidence: over 0 and below 1.
            least: candidates with a smaller share of the table's rows may be left out.
            where: a condition on columns of the scramble, as SQL.
            progress: a function that is called with a text now and then.

        Returns:
            the answer: `rows`, the closest first; `certified`; `backward(row)`: the ids of the rows read.

        Raises:
            LineageError: there is no such column or candidate; an argument cannot be; the table has no scramble, or it
                changed since.

        Examples:
            >>> sales = lineage.scramble("sales", columns=[], groups=["item", "amount"])
            >>> found = lineage.matching("sales", candidates="item", histogram="amount", target={40: 1, 70: 1}, k=1)
            >>> found.rows[0]["item"], found.rows[0]["distance"], found.backward(0)
            ('binder', 0.0, LineageSet({1, 3}))

        """
        asked = AskedMatch(candidates, histogram, target, like, k, error, confidence, least, where)
        if isinstance(table, LinkedViews):
            return counted(table, asked)
        return self._parts.approximator.matching(table, asked, progress or _nothing)

    def occurs(self, table: str, values: Mapping[str, object]) -> Occurrence:
        """Tell whether a tuple of values occurs in a table. The answer is exact.

        A filter of the columns says no, which is proven, or the tuple is looked up: in the files that may have it. The
        filter is made when it is first needed, and kept in the home. One of another version of the table is not used.
        [Macke 2021, chapter 4]

        Args:
            table: a registered table or a saved result.
            values: by column; None stands for any value, NULL included. A value is compared as `=` does in SQL.

        Returns:
            the answer, which is true in ``if`` where the tuple occurs; `row` is the id of a row that has it.

        Raises:
            LineageError: there is no such table or column; a value is of another type; the table is not what was
                registered.

        Examples:
            >>> lineage.occurs("sales", {"item": "pencil", "amount": None})
            Occurrence(occurs=True, row=2, how='looked up by Spark')
            >>> bool(lineage.occurs("sales", {"item": "pencil", "amount": 50}))
            False

        """
        return self._parts.occurrences.occurs(table, values)

    def membership(self, table: str, columns: Sequence[str], *, learned: bool = False) -> Membership:
        """Make the filter that `occurs` uses for some columns, and for any part of them.

        It is a bitmap of all tuples that there could be, or a binary fuse filter of those that occur, whichever is
        smaller. The latter finds 1 % of other tuples, too.

        Args:
            table: a registered table or a saved result.
            columns: ten at most.
            learned: try a learned filter, too, which is used if it is smaller and faster; needs scikit-learn.

        Raises:
            LineageError: as for `occurs`; scikit-learn is missing; the table is on trust, so nobody knows when it
                changes.

        Examples:
            >>> lineage.membership("sales", ["item", "amount"])
            Membership(sales(amount, item), fuse, 19.56 bits a key)

        """
        return self._parts.occurrences.membership(table, columns, learned=learned)


def _nothing(_: str) -> None:
    """Nobody wants to know."""
