"""A SELECT with its names resolved: what its output, its conditions, its groups and its order are over FROM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from forward_lineage.explaining.blocks import Condition, Item, conjuncts, mentioned, own, qualified
from forward_lineage.explaining.grounding import INSTEAD
from forward_lineage.frontend import print_sql
from rewrites.aliases import output_name
from rewrites.block import has_grouping_sets, is_aggregate
from rewrites.refusals import refuse
from udafs.errors import BadArgumentError


class ResolvedBlock:
    """A SELECT with its names resolved.

    Args:
        select: the block.
        items: FROM.
        asked: conditions over its output.
        ground: puts tables as they were into subqueries.

    Attributes:
        outputs: name in lower case → qualified expression.
        where: the parts of WHERE.
        asked_of_rows: what is asked for that rows of FROM tell.
        asked_of_groups: what is asked for that aggregates tell.
        grouped: whether it makes groups.

    """

    def __init__(
        self,
        select: exp.Select,
        items: Sequence[Item],
        asked: Sequence[exp.Expr],
        ground: Callable[[exp.Expr], exp.Expr],
    ) -> None:
        self.select, self.items, self._ground = select, items, ground
        self._twice: set[str] = set()
        self.outputs = self._outputs()
        where = select.args.get("where")
        self.where = [
            Condition("WHERE", self._qualified(each), each) for each in (conjuncts(where.this) if where else ())
        ]
        found = [Condition("asked", self.over_outputs(each), each) for each in asked]
        self.asked_of_rows = [each for each in found if not _folds(each.node)]
        self.asked_of_groups = [each for each in found if _folds(each.node)]
        for each in self.asked_of_groups:
            if each.node.find(exp.Window):
                raise BadArgumentError(
                    "the condition asks about a window", instead="Ask about a column of a table, or give ids=."
                )
        self.grouped = bool(select.args.get("group") or select.args.get("having")) or any(
            is_aggregate(node) for item in select.expressions for node in own(item)
        )
        if self.grouped and select.args.get("qualify"):
            refuse(select.args["qualify"], "QUALIFY over groups is not followed", INSTEAD)
        if has_grouping_sets(select.args.get("group")):
            refuse(select.args["group"], "ROLLUP, CUBE and GROUPING SETS are not followed", INSTEAD)

    def tells(self, asked: Condition, item: Item) -> bool:
        """Tell whether what is asked for says which rows of an item are meant, before it is joined.

        An outer join may put NULLs in place of its rows. Then a condition that holds of NULL says nothing of them.
        """
        if asked.asks or mentioned(asked.node) != {item.alias.lower()}:
            return False
        return not self._is_padded(item) or _holds_of_no_null(asked.node)

    def _is_padded(self, item: Item) -> bool:
        at = next(at for at, each in enumerate(self.items) if each.alias == item.alias)
        return item.how in ("LEFT", "FULL") or any(each.how in ("RIGHT", "FULL") for each in self.items[at + 1 :])

    def _outputs(self) -> dict[str, exp.Expr]:
        found: dict[str, exp.Expr] = {}
        for item in self.select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                for name, column in self._columns_of(item.table if isinstance(item, exp.Column) else ""):
                    self._note(found, name, column)
            elif output_name(item):
                self._note(found, output_name(item), self._qualified(item.unalias()))
        return found

    def _columns_of(self, alias: str) -> Iterator[tuple[str, exp.Column]]:
        """Yield the columns that a star stands for: those of one item of FROM, or of all."""
        for each in self.items:
            for name in each.columns if alias.lower() in ("", each.alias.lower()) else ():
                quoted = [exp.to_identifier(part, quoted=True) for part in (name, each.alias)]
                yield name, exp.column(*quoted)

    def _note(self, found: dict[str, exp.Expr], name: str, meant: exp.Expr) -> None:
        if name.lower() in found:
            self._twice.add(name.lower())
        found.setdefault(name.lower(), meant)

    def over_outputs(self, condition: exp.Expr) -> exp.Expr:
        """Return a condition over the output as one over FROM.

        Raises:
            BadArgumentError: it names no column of the output.

        """
        copied = exp.paren(condition.copy())
        for column in [each for each in own(copied) if isinstance(each, exp.Column)]:
            meant = self.outputs.get(column.name.lower())
            if meant is None:
                raise BadArgumentError(
                    f"there is no column {column.name} in the result", instead=f"It has {', '.join(self.outputs)}."
                )
            if column.name.lower() in self._twice:
                raise BadArgumentError(f"several columns are called {column.name}", instead="Ask with table= and ids=.")
            column.replace(exp.paren(meant.copy()) if not isinstance(meant, exp.Column) else meant.copy())
        return _in(copied)

    def keys(self) -> list[exp.Expr]:
        """Return the expressions of GROUP BY, qualified."""
        group = self.select.args.get("group")
        if group is None:
            return []
        items = self.select.expressions
        if group.args.get("all"):
            return [self._qualified(item.unalias()) for item in items if not _folds(item)]
        return [self._meant(each) for each in group.expressions]

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """The expression that ORDER BY or GROUP BY means by a number or a name."""
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            return self._qualified(self.select.expressions[int(str(node.this)) - 1].unalias())
        if isinstance(node, exp.Column) and not node.table:
            has = any(node.name.lower() in {name.lower() for name in item.columns} for item in self.items)
            if not has and node.name.lower() in self.outputs:
                return self.outputs[node.name.lower()].copy()
        return self._qualified(node)

    def above_groups(self, node: exp.Expr) -> exp.Expr:
        """Return an expression of HAVING, QUALIFY or ORDER BY with the names of the select list put in place."""
        copied = exp.paren(self._ground(node))
        for column in [each for each in own(copied) if isinstance(each, exp.Column)]:
            column.replace(self._meant(column))
        return _in(copied)

    def _qualified(self, node: exp.Expr) -> exp.Expr:
        return qualified(self._ground(node) if node.find(exp.Query) else node, self.items)

    def order(self) -> list[str]:
        """Return ORDER BY as SQL over FROM, or over groups."""
        order = self.select.args.get("order")
        found = []
        for each in order.expressions if order is not None else ():
            copied = each.copy()
            inner = copied.this if isinstance(copied, exp.Ordered) else copied
            meant = self._meant(inner) if isinstance(inner, exp.Literal) else self.above_groups(inner)
            if isinstance(copied, exp.Ordered):
                copied.set("this", meant)
            found.append(print_sql(copied if isinstance(copied, exp.Ordered) else meant))
        return found


def _in(parentheses: exp.Expr) -> exp.Expr:
    inner: exp.Expr = parentheses.this
    return inner


def _holds_of_no_null(node: exp.Expr) -> bool:
    """Whether it is a plain comparison, which is never true of NULL."""
    compares = isinstance(
        node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Between | exp.In | exp.Like
    )
    return compares and not node.find(exp.Anonymous, exp.Case, exp.Is, exp.Query)


def _folds(node: exp.Expr) -> bool:
    return any(is_aggregate(each) or isinstance(each, exp.Window) for each in own(node))
