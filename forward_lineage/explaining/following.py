"""Follows rows through the blocks of a query, from where they are read to where the last of them is kept out.

A block's joins and conditions are asked in one query: each item is joined LEFT, on the condition that the rows got past
all that came before, and each condition is a column. So a row stops at the first step that it does not get past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.explaining.block_way import NAMED, BlockWay, Rows, Way
from forward_lineage.explaining.blocks import (
    Condition,
    Item,
    own,
    refuse_unfollowed,
)
from forward_lineage.explaining.grounding import INSTEAD, ROW_ID, Grounding, Inner
from forward_lineage.explaining.missing_rows import PassedStep, said
from forward_lineage.explaining.past_tables import NamesThen
from forward_lineage.explaining.resolved_block import ResolvedBlock
from forward_lineage.frontend import parse, print_sql, rewrite_statement
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import in_backticks, quoted
from forward_lineage.spark.versions import arrow_table
from rewrites.aliases import listed, table_name
from rewrites.options import Options
from rewrites.refusals import position_of, refuse
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError

MOST_IDS = 1_000
MOST_ROWS = 20_000
_EXAMPLES = 20


@dataclass(frozen=True)
class Wanted:
    """The rows to follow.

    Attributes:
        table: a base table, in lower case; "": the one whose columns the conditions name.
        ids: of its rows.
        asked: conditions over the columns of the query.

    """

    table: str = ""
    ids: tuple[int, ...] = ()
    asked: tuple[exp.Expr, ...] = ()


class Follower:
    """Follows rows through queries over tables as they were.

    Args:
        spark: a session with the kernel.
        names: what names meant.

    """

    def __init__(self, spark: SparkSession, names: NamesThen) -> None:
        self._spark, self._names = spark, names
        self.grounding = Grounding(names)

    # ------------------------------------------------------------ queries

    def follow(self, query: exp.Expr, name: str, wanted: Wanted) -> Way:
        """Follow rows through an inlined query.

        Raises:
            NotTracedError: it has a part that rows are not followed through; says where.
            BadArgumentError: it does not read the table, or no condition tells which rows are meant.

        """
        if isinstance(query, exp.Subquery) and not query.args.get("pivots"):
            return self.follow(query.this, name, wanted)
        if isinstance(query, exp.SetOperation):
            return self._set_operation(query, name, wanted)
        if not isinstance(query, exp.Select):
            refuse(query, f"{query.key.upper()} is not followed", INSTEAD)
        return self._select(query, name, wanted)

    def reads(self, node: exp.Expr, table: str) -> bool:
        """Tell whether a query reads a base table, through views too."""
        found = [node] if isinstance(node, exp.Table) else list(node.find_all(exp.Table))
        for each in found:
            if not table_name(each):
                continue
            meant = self.grounding.meaning(each)
            if self.reads(meant.tree, table) if isinstance(meant, Inner) else meant.name.lower() == table:
                return True
        return False

    def _set_operation(self, query: exp.SetOperation, name: str, wanted: Wanted) -> Way:
        if query.args.get("limit") or query.args.get("offset") or query.args.get("by_name"):
            refuse(query, "LIMIT, OFFSET or BY NAME of a set operation is not followed", INSTEAD)
        sides = [query.this, query.expression]
        if isinstance(query, exp.Union):
            asked = [wanted, replace(wanted, asked=self._moved(wanted.asked, sides))]
            ways = [
                self.follow(side, name, each)
                for side, each in zip(sides, asked, strict=True)
                if not wanted.table or self.reads(side, wanted.table)
            ]
            if not ways:
                raise _does_not_read(name, wanted)
            best = next((way for way in ways if way.through), ways[-1])
            return replace(best, steps=[step for way in ways if way is not best for step in way.steps] + best.steps)
        if wanted.table and not self.reads(query.this, wanted.table):
            refuse(query, f"rows of {wanted.table} only decide here: they stand behind {query.key.upper()}", INSTEAD)
        if query.args.get("distinct") is False:
            refuse(query, f"{query.key.upper()} ALL is not followed", INSTEAD)
        way = self.follow(query.this, name, wanted)
        if way.through:
            self._compare_sides(query, name, wanted, way)
        return way

    def _moved(self, asked: Sequence[exp.Expr], sides: Sequence[exp.Expr]) -> tuple[exp.Expr, ...]:
        """Conditions over the columns of the left side as those over the columns of the right one, by position."""
        if not asked:
            return ()
        left, right = (self._columns(f"({self.grounding.grounded(side)})") for side in sides)
        to = dict(zip((each.lower() for each in left), right, strict=False))
        found = []
        for each in asked:
            copied = exp.paren(each.copy())
            for column in copied.find_all(exp.Column):
                if column.name.lower() in to:
                    column.set("this", exp.to_identifier(to[column.name.lower()], quoted=True))
            found.append(copied.this)
        return tuple(found)

    def _compare_sides(self, query: exp.SetOperation, name: str, wanted: Wanted, way: Way) -> None:
        left = self._named_rows(query.this, wanted, way)
        right = self.grounding.grounded(query.expression)
        names = self._columns(f"({self.grounding.grounded(query.this)})")
        others = self._columns(f"({right})")
        same = " AND ".join(f"l.{quoted(a)} <=> r.{quoted(b)}" for a, b in zip(names, others, strict=True))
        rows = self._rows(
            f"SELECT l.*, EXISTS (SELECT 1 FROM ({right}) AS r WHERE {same}) AS __there FROM ({left}) AS l"
        )
        except_ = isinstance(query, exp.Except)
        kept = [row for row in rows if bool(row["__there"]) is not except_]
        examples = [{each: row[each] for each in names} for row in rows if row not in kept][:_EXAMPLES]
        why = "" if kept else f"{'an' if except_ else 'no'} equal row is on the right side: {said(examples)}"
        kind = query.key.upper()
        at = position_of(query.expression)
        way.passes(PassedStep(name, kind, kind, at, len(rows), len(kept), tuple(examples) if not kept else (), why))

    def _named_rows(self, query: exp.Expr, wanted: Wanted, way: Way, *, mark: bool = False) -> str:
        """The rows of a query that are made of the rows that are followed; or all, with a mark."""
        statement = parse(print_sql(query))
        options = Options(by_reference=False, chosen=(self._table_called(way.table),))
        rewritten = rewrite_statement(statement, self._names, options)
        columns = ", ".join(map(quoted, self._columns(f"({self.grounding.grounded(query)})")))
        ids = ", ".join(f"{each}L" for each in way.ids)
        named = f"arrays_overlap(dl_ids(DL.{quoted(rewritten.tables[0])}), array({ids}))"
        asked = " AND ".join([named, *(f"({print_sql(each)})" for each in wanted.asked)])
        if mark:
            return f"SELECT {columns}, coalesce({asked}, false) AS {NAMED} FROM ({rewritten.sql})"
        return f"SELECT {columns} FROM ({rewritten.sql}) WHERE {asked}"

    def _table_called(self, name: str) -> str:
        found = self._names.then.get(name)
        return name if found is None else found.name

    # ------------------------------------------------------------ Spark

    def _rows(self, sql: str) -> Rows:
        with spark_errors():
            found = arrow_table(self._spark.sql(f"SELECT * FROM ({sql}) LIMIT {MOST_ROWS + 1}"))
        if found.num_rows > MOST_ROWS:
            raise BadArgumentError(f"more than {MOST_ROWS:,} rows are to be followed", instead="Ask about fewer rows.")
        rows: Rows = found.to_pylist()
        return rows

    def _columns(self, relation: str) -> tuple[str, ...]:
        with spark_errors():
            return tuple(self._spark.sql(f"SELECT * FROM {relation}").columns)

    # ------------------------------------------------------------ a block

    def _select(self, select: exp.Select, name: str, wanted: Wanted) -> Way:
        refuse_unfollowed(select)
        items = self._items(select)
        if not items:
            raise _does_not_read(name, wanted)
        block = ResolvedBlock(select, items, wanted.asked, self.grounding.grounded_tree)
        starts = self._starts(block, items, wanted)
        if not starts:
            raise _does_not_read(name, wanted)
        ways = [self._from(block, start, name, wanted) for start in starts]
        best = next((way for way in ways if way.through), ways[-1])
        return best if len(ways) == 1 or best.through else replace(best, steps=[s for way in ways for s in way.steps])

    def _starts(self, block: ResolvedBlock, items: Sequence[Item], wanted: Wanted) -> list[int]:
        if wanted.table:
            return [at for at, item in enumerate(items) if self._leads_to(item, wanted.table)]
        for at, item in enumerate(items):
            if any(block.tells(each, item) for each in block.asked_of_rows):
                return [at]
        raise BadArgumentError(
            "the condition names no column that is a column of one table, so it does not say which rows are missing",
            instead="Ask about a column of a table, or give table= and ids=.",
        )

    def _leads_to(self, item: Item, table: str) -> bool:
        node = item.node
        if isinstance(node, exp.Table):
            meant = self.grounding.meaning(node)
            return self.reads(meant.tree, table) if isinstance(meant, Inner) else meant.name.lower() == table
        return self.reads(node, table)

    def _items(self, select: exp.Select) -> list[Item]:
        clause = select.args.get("from_")
        nodes = [] if clause is None else [(clause.this, None)]
        nodes += [(join.this, join) for join in select.args.get("joins") or ()]
        names = iter(_names_of([node for node, _ in nodes]))
        return [self._item(node, join, next(names)) for node, join in nodes]

    def _item(self, node: exp.Expr, join: exp.Join | None, alias: str) -> Item:
        if node.args.get("joins") or not isinstance(node, exp.Table | exp.Subquery) or node.args.get("pivots"):
            refuse(node, "joins in parentheses, VALUES, LATERAL and PIVOT in FROM are not followed", INSTEAD)
        if isinstance(node, exp.Table) and isinstance(meant := self.grounding.meaning(node), BaseTable):
            if listed(node):
                refuse(node, "a list of column names behind a table is not followed", INSTEAD)
            return Item(alias, self.grounding.with_ids(meant, alias), meant.columns, node, join)
        inner = self._inner(node)
        text = f"({self.grounding.grounded(inner.tree)})"
        columns = inner.columns or self._columns(text)
        return Item(alias, _numbered(text, columns, alias), columns, node, join)

    def _inner(self, node: exp.Expr) -> Inner:
        if isinstance(node, exp.Table):
            found = self.grounding.meaning(node)
            assert isinstance(found, Inner), "base tables were told apart"
            return replace(found, columns=listed(node) or found.columns)
        return Inner(node.this, listed(node), str(node.meta.get("cte", "")))

    def _from(self, block: ResolvedBlock, start: int, name: str, wanted: Wanted) -> Way:
        """Follow rows from one item to the end of the block."""
        item = block.items[start]
        mine = [each for each in block.asked_of_rows if block.tells(each, item)]
        rest = [each for each in block.asked_of_rows if not any(each is one for one in mine)]
        if isinstance(item.node, exp.Table) and isinstance(meant := self.grounding.meaning(item.node), BaseTable):
            way, marked, found = self._read(meant, item, name, wanted, mine)
        else:
            (way, marked), found = self._through_inner(item, name, wanted, mine), None
        if way.through:
            BlockWay(self._rows, block, start, replace(item, relation=marked), name, way, rest, found).run()
        return way

    def _read(
        self, table: BaseTable, item: Item, name: str, wanted: Wanted, asked: Sequence[Condition]
    ) -> tuple[Way, str, Callable[[Sequence[int]], str]]:
        """The rows of a base table that are followed, marked; and what is done when their ids are known.

        They are found by the query of the joins: to look for them before costs as much again.
        """
        condition = " AND ".join(f"({print_sql(each.node)})" for each in asked)
        if wanted.table:
            listed_ids = ", ".join(f"{each}L" for each in wanted.ids)
            condition = " AND ".join(filter(None, [f"{ROW_ID} IN ({listed_ids})", condition]))
        relation = self.grounding.with_ids(table, item.alias)
        way = Way(table=table.name.lower())
        said_ = " AND ".join(print_sql(each.written or each.node) for each in asked) or f"ids {list(wanted.ids)[:5]}"
        alias = in_backticks(item.alias)

        def marked(inside: str) -> str:
            return f"(SELECT *, coalesce({inside}, false) AS {NAMED} FROM {relation}) AS {alias}"

        def found(ids: Sequence[int]) -> str:
            if len(ids) > MOST_IDS:
                raise BadArgumentError(f"that is {len(ids):,} rows of {table.name}", instead="Ask about fewer rows.")
            way.ids = tuple(ids)
            why = "" if ids else f"no row of {table.name} has {said_}"
            asked_for = len(ids) or (len(wanted.ids) if wanted.table else 0)
            way.passes(PassedStep(name, "FROM", table.name, position_of(item.node), asked_for, len(ids), (), why))
            return marked(f"{ROW_ID} IN ({', '.join(f'{each}L' for each in ids) or 'NULL'})")

        return way, marked(condition), found

    def _through_inner(self, item: Item, name: str, wanted: Wanted, asked: Sequence[Condition]) -> tuple[Way, str]:
        """The rows of a query in FROM that are made of the rows that are followed, marked."""
        inner = self._inner(item.node)
        names = inner.columns or item.columns
        own_names = self._columns(f"({self.grounding.grounded(inner.tree)})")
        back = dict(zip((each.lower() for each in names), own_names, strict=True))
        below = replace(wanted, asked=tuple(_without_alias(each.node, back) for each in asked))
        way = self.follow(inner.tree, inner.name or f"subquery {item.node.alias}".strip(), below)
        if not way.through:
            return way, ""
        rows = self._named_rows(inner.tree, below, way, mark=True)
        renamed = ", ".join(f"{quoted(old)} AS {quoted(new)}" for old, new in zip(own_names, names, strict=True))
        numbered = f"SELECT {renamed}, {NAMED}, monotonically_increasing_id() AS {ROW_ID} FROM ({rows})"
        return way, f"({numbered}) AS {in_backticks(item.alias)}"


def _names_of(nodes: Sequence[exp.Expr]) -> list[str]:
    """The names of items of FROM; a query without one gets one that no other has."""
    taken = {node.alias_or_name.lower() for node in nodes}
    free = (name for name in chain(["subquery"], (f"subquery_{at}" for at in count(2))) if name not in taken)
    return [node.alias_or_name or next(free) for node in nodes]


def _does_not_read(name: str, wanted: Wanted) -> BadArgumentError:
    return BadArgumentError(
        f"{name} does not read {wanted.table or 'a table'} behind FROM, so its rows are not in the result",
        instead="Name a table that it reads behind FROM; rows that only decide are not followed.",
    )


def _numbered(text: str, columns: Sequence[str], alias: str) -> str:
    inner = f"SELECT {', '.join(map(quoted, columns))}, monotonically_increasing_id() AS {ROW_ID}"
    names = ", ".join(map(quoted, columns))
    return f"({inner} FROM {text} AS t({names})) AS {in_backticks(alias)}"


def _without_alias(node: exp.Expr, back: Mapping[str, str]) -> exp.Expr:
    """A condition over an item as one over its query's output."""
    copied = exp.paren(node.copy())
    for column in [each for each in own(copied) if isinstance(each, exp.Column)]:
        column.set("table", None)
        column.set("this", exp.to_identifier(back[column.name.lower()], quoted=True))
    inner: exp.Expr = copied.this
    return inner
