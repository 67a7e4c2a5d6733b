"""Follows rows through the blocks of a query, from where they are read to where the last of them is kept out.

A block's joins and conditions are asked in one query: each item is joined LEFT, on the condition that the rows got past
all that came before, and each condition is a column. So a row stops at the first step that it does not get past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.explaining.blocks import (
    Condition,
    Item,
    Step,
    columns_in,
    conjuncts,
    joined_text,
    mentioned,
    own,
    qualified,
    refuse_unfollowed,
    way_through_joins,
)
from forward_lineage.explaining.grounding import INSTEAD, ROW_ID, Grounding, Inner
from forward_lineage.explaining.missing_rows import PassedStep, said
from forward_lineage.explaining.past_tables import NamesThen
from forward_lineage.explaining.saved_rows import comparable
from forward_lineage.frontend import parse, print_sql, rewrite_statement
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import in_backticks, quoted
from forward_lineage.spark.versions import arrow_table
from rewrites.aliases import listed, output_name, table_name
from rewrites.block import has_grouping_sets, is_aggregate
from rewrites.options import Options
from rewrites.refusals import position_of, refuse
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError

MOST_IDS = 1_000
MOST_ROWS = 20_000
_NAMED = "__why_named"
_EXAMPLES = 20
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Wanted:
    """Which rows are followed.

    Attributes:
        table: a base table, in lower case; "": the one whose columns the conditions name.
        ids: of its rows.
        asked: conditions over the columns of the query.

    """

    table: str = ""
    ids: tuple[int, ...] = ()
    asked: tuple[exp.Expr, ...] = ()


@dataclass
class Way:
    """A way that was followed.

    Attributes:
        steps: in order.
        through: whether rows got through.
        table: the base table that they are of.
        ids: of its rows.

    """

    steps: list[PassedStep] = field(default_factory=list)
    through: bool = True
    table: str = ""
    ids: tuple[int, ...] = ()

    def passes(self, step: PassedStep) -> bool:
        """Add a step, and tell whether rows got past."""
        self.steps.append(step)
        self.through = step.survived > 0
        return self.through


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
        if query.args.get("distinct") is False:
            refuse(query, f"{query.key.upper()} ALL is not followed", INSTEAD)
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
            return f"SELECT {columns}, coalesce({asked}, false) AS {_NAMED} FROM ({rewritten.sql})"
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
        block = _Block(select, items, wanted.asked, self.grounding.grounded_tree)
        starts = self._starts(block, items, wanted)
        if not starts:
            raise _does_not_read(name, wanted)
        ways = [self._from(block, start, name, wanted) for start in starts]
        best = next((way for way in ways if way.through), ways[-1])
        return best if len(ways) == 1 or best.through else replace(best, steps=[s for way in ways for s in way.steps])

    def _starts(self, block: _Block, items: Sequence[Item], wanted: Wanted) -> list[int]:
        if wanted.table:
            return [at for at, item in enumerate(items) if self._leads_to(item, wanted.table)]
        for each in block.asked_of_rows:
            names = mentioned(each.node)
            if len(names) == 1 and not each.asks:
                return [at for at, item in enumerate(items) if item.alias.lower() in names]
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
        return [self._item(node, join) for node, join in nodes]

    def _item(self, node: exp.Expr, join: exp.Join | None) -> Item:
        if node.args.get("joins") or not isinstance(node, exp.Table | exp.Subquery) or node.args.get("pivots"):
            refuse(node, "joins in parentheses, VALUES, LATERAL and PIVOT in FROM are not followed", INSTEAD)
        alias = node.alias_or_name
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

    def _from(self, block: _Block, start: int, name: str, wanted: Wanted) -> Way:
        """Follow rows from one item to the end of the block."""
        item = block.items[start]
        mine = [each for each in block.asked_of_rows if mentioned(each.node) == {item.alias.lower()} and not each.asks]
        rest = [each for each in block.asked_of_rows if not any(each is one for one in mine)]
        if isinstance(item.node, exp.Table) and isinstance(meant := self.grounding.meaning(item.node), BaseTable):
            way, marked = self._read(meant, item, name, wanted, mine)
        else:
            way, marked = self._through_inner(item, name, wanted, mine)
        if way.through:
            _Following(self, block, start, replace(item, relation=marked), name, way, rest).run()
        return way

    def _read(
        self, table: BaseTable, item: Item, name: str, wanted: Wanted, asked: Sequence[Condition]
    ) -> tuple[Way, str]:
        """The rows of a base table that are followed, marked."""
        condition = " AND ".join(f"({print_sql(each.node)})" for each in asked)
        if wanted.table:
            listed_ids = ", ".join(f"{each}L" for each in wanted.ids)
            condition = " AND ".join(filter(None, [f"{ROW_ID} IN ({listed_ids})", condition]))
        relation = self.grounding.with_ids(table, item.alias)
        ids = sorted(row[ROW_ID] for row in self._rows(f"SELECT {ROW_ID} FROM {relation} WHERE {condition}"))
        if len(ids) > MOST_IDS:
            raise BadArgumentError(f"that is {len(ids):,} rows of {table.name}", instead="Ask about fewer rows.")
        way = Way(table=table.name.lower(), ids=tuple(ids))
        said_ = " AND ".join(print_sql(each.written or each.node) for each in asked) or f"ids {list(wanted.ids)[:5]}"
        why = "" if ids else f"no row of {table.name} has {said_}"
        asked_for = len(ids) or (len(wanted.ids) if wanted.table else 0)
        way.passes(PassedStep(name, "FROM", table.name, position_of(item.node), asked_for, len(ids), (), why))
        inside = f"{ROW_ID} IN ({', '.join(f'{each}L' for each in ids) or 'NULL'})"
        alias = in_backticks(item.alias)
        return way, f"(SELECT *, coalesce({inside}, false) AS {_NAMED} FROM {relation}) AS {alias}"

    def _through_inner(self, item: Item, name: str, wanted: Wanted, asked: Sequence[Condition]) -> tuple[Way, str]:
        """The rows of a query in FROM that are made of the rows that are followed, marked."""
        inner = self._inner(item.node)
        names = inner.columns or item.columns
        own_names = self._columns(f"({self.grounding.grounded(inner.tree)})")
        back = dict(zip((each.lower() for each in names), own_names, strict=True))
        below = replace(wanted, asked=tuple(_without_alias(each.node, back) for each in asked))
        way = self.follow(inner.tree, inner.name or f"subquery {item.alias}", below)
        if not way.through:
            return way, ""
        rows = self._named_rows(inner.tree, below, way, mark=True)
        renamed = ", ".join(f"{quoted(old)} AS {quoted(new)}" for old, new in zip(own_names, names, strict=True))
        numbered = f"SELECT {renamed}, {_NAMED}, monotonically_increasing_id() AS {ROW_ID} FROM ({rows})"
        return way, f"({numbered}) AS {in_backticks(item.alias)}"


class _Block:
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
        if has_grouping_sets(select.args.get("group")):
            refuse(select.args["group"], "ROLLUP, CUBE and GROUPING SETS are not followed", INSTEAD)

    def _outputs(self) -> dict[str, exp.Expr]:
        found: dict[str, exp.Expr] = {}
        for item in self.select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                only = item.table.lower() if isinstance(item, exp.Column) else ""
                for each in self.items:
                    for name in each.columns if only in ("", each.alias.lower()) else ():
                        column = exp.column(
                            exp.to_identifier(name, quoted=True), exp.to_identifier(each.alias, quoted=True)
                        )
                        found.setdefault(name.lower(), column)
            elif output_name(item):
                found[output_name(item).lower()] = self._qualified(item.unalias())
        return found

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
        """What ORDER BY or GROUP BY means by a number or a name."""
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


class _Following:
    """Rows on their way from one item of a block to its end.

    Args:
        follower: runs queries.
        block: the block.
        start: the place of the item.
        item: the item, its rows marked.
        name: of the query.
        way: what was passed so far.
        asked: what else is asked for of the block's rows.

    """

    def __init__(  # noqa: PLR0917
        self,
        follower: Follower,
        block: _Block,
        start: int,
        item: Item,
        name: str,
        way: Way,
        asked: Sequence[Condition],
    ) -> None:
        self._run, self._columns = follower._rows, follower._columns
        self._block, self._start, self._item, self._name, self._way = block, start, item, name, way
        self._asked = list(asked)
        self._items = [*block.items[:start], item, *block.items[start + 1 :]]

    def run(self) -> None:
        """Follow them, as far as they come."""
        alive = self._through_joins()
        select = self._block.select
        if alive is None:
            return
        if self._block.grouped:
            if not self._through_groups(alive):
                return
        elif select.args.get("qualify") and not self._through_qualify():
            return
        if select.args.get("distinct") and not self._block.grouped:
            outputs = {tuple(comparable(row[f"o{at}"]) for at in range(len(self._block.outputs))) for row in alive}
            at = position_of(select)
            self._way.passes(PassedStep(self._name, "DISTINCT", "DISTINCT", at, len(alive), len(outputs)))
        if select.args.get("limit") or select.args.get("offset"):
            self._through_limit(alive)

    # ------------------------------------------------------------ joins and conditions

    def _through_joins(self) -> Rows | None:
        """Ask all joins and conditions; return the rows that got past all, or None."""
        steps = way_through_joins(self._items, self._start, [*self._block.where, *self._asked])
        rows = self._run(self._joins_sql(steps))
        there = [self._item]
        arrived = len({row["i0"] for row in rows})
        for at, step in enumerate(steps):
            count = len(there) + len(step.joins)
            alive = [row for row in rows if all(row[f"f{each}"] for each in range(at + 1))]
            before = [row for row in rows if all(row[f"f{each}"] for each in range(at))]
            survived = len({tuple(row[f"i{each}"] for each in range(count)) for row in alive})
            there += step.joins
            if not self._way.passes(self._passed(step, at, before if not alive else [], arrived, survived)):
                return None
            arrived = survived
        return [row for row in rows if all(row[f"f{at}"] for at in range(len(steps)))]

    def _joins_sql(self, steps: Sequence[Step]) -> str:
        text = f"(SELECT * FROM {self._item.relation} WHERE {_NAMED}) AS {in_backticks(self._item.alias)}"
        there, prior = [self._item], list[str]()
        for step in steps:
            if step.joins:
                joined = step.joins[0].relation if len(step.joins) == 1 else f"({joined_text(step.joins)})"
                text += f" LEFT JOIN {joined} ON {' AND '.join([f'({step.on})', *prior])}"
                there += step.joins
            if not step.asks:
                prior.append(f"({step.condition})")
        items = [f"{in_backticks(each.alias)}.{ROW_ID} AS i{at}" for at, each in enumerate(there)]
        items += [f"coalesce({step.condition}, false) AS f{at}" for at, step in enumerate(steps)]
        items += [f"{_struct(step.columns)} AS v{at}" for at, step in enumerate(steps)]
        items += [f"{print_sql(key)} AS g{at}" for at, key in enumerate(self._block.keys())]
        if self._block.select.args.get("distinct") and not self._block.grouped:
            items += [f"{print_sql(each)} AS o{at}" for at, each in enumerate(self._block.outputs.values())]
        return f"SELECT {', '.join(items)} FROM {text}"

    def _passed(self, step: Step, at: int, stopped: Rows, arrived: int, survived: int) -> PassedStep:
        values = _different([_named(step.columns, row[f"v{at}"]) for row in stopped])
        why = ""
        if not survived:
            found = said(values)
            if step.joins or step.kind in ("SEMI JOIN", "ANTI JOIN"):
                side = " and ".join(each.alias for each in step.joins) or step.text.split()[2]
                partner = f"{side} has a partner" if step.kind == "ANTI JOIN" else f"{side} has no partner"
                why = f"{partner} for it{f': {found}' if found else ''}"
            else:
                why = f"{found}, asked {step.text}" if found else f"{step.text} is not true"
        return PassedStep(self._name, step.kind, step.text, step.at, arrived, survived, tuple(values), why)

    # ------------------------------------------------------------ groups

    def _through_groups(self, alive: Rows) -> bool:
        block, select = self._block, self._block.select
        keys = block.keys()
        wanted = {tuple(comparable(row[f"g{at}"]) for at in range(len(keys))) for row in alive}
        group = select.args.get("group")
        at = position_of(group) if group is not None else position_of(select)
        text = print_sql(group).strip() if group is not None else "all rows are one group"
        self._way.passes(PassedStep(self._name, "GROUP BY", text, at, len(alive), len(wanted)))
        having = select.args.get("having")
        conditions = [
            Condition("HAVING", block.above_groups(each), each) for each in (conjuncts(having.this) if having else ())
        ] + block.asked_of_groups
        if not conditions:
            return True
        rows = [row for row in self._groups(conditions, keys) if _key(row, len(keys)) in wanted]
        arrived = len(rows)
        for at_, each in enumerate(conditions):
            alive_ = [row for row in rows if all(row[f"f{one}"] for one in range(at_ + 1))]
            stopped = [row for row in rows if all(row[f"f{one}"] for one in range(at_))] if not alive_ else []
            names = _aggregates(each.node)
            values = _different([_named(names, row[f"v{at_}"]) for row in stopped])
            text = print_sql(each.written or each.node)
            why = "" if alive_ else f"{said(values) or 'a group'}, asked {text}"
            step = PassedStep(self._name, each.kind, text, each.at, arrived, len(alive_), tuple(values), why)
            if not self._way.passes(step):
                return False
            arrived = len(alive_)
        return True

    def _groups(self, conditions: Sequence[Condition], keys: Sequence[exp.Expr]) -> Rows:
        items = [f"{print_sql(key)} AS g{at}" for at, key in enumerate(keys)]
        items += [f"coalesce({print_sql(each.node)}, false) AS f{at}" for at, each in enumerate(conditions)]
        items += [f"{_struct(_aggregates(each.node))} AS v{at}" for at, each in enumerate(conditions)]
        return self._run(f"SELECT {', '.join(items)} FROM {self._whole()}{self._grouping(keys)}")

    def _whole(self) -> str:
        """FROM and WHERE of the block, over all rows."""
        where = " AND ".join(f"({print_sql(each.node)})" for each in self._block.where)
        return joined_text(self._items) + (f" WHERE {where}" if where else "")

    def _grouping(self, keys: Sequence[exp.Expr]) -> str:
        return f" GROUP BY {', '.join(map(print_sql, keys))}" if keys else ""

    # ------------------------------------------------------------ ranks and limits

    def _through_qualify(self) -> bool:
        qualify = self._block.select.args["qualify"]
        if self._block.select.args.get("windows"):
            refuse(qualify, "QUALIFY with a WINDOW clause is not followed", INSTEAD)
        node = self._block.above_groups(qualify.this)
        windows = [print_sql(each) for each in own(node) if isinstance(each, exp.Window)]
        columns = tuple(dict.fromkeys([*windows, *columns_in(node)]))
        named = f"{in_backticks(self._item.alias)}.{_NAMED} AS named"
        inner = (
            f"SELECT {named}, coalesce({print_sql(node)}, false) AS f0, {_struct(columns)} AS v0 FROM {self._whole()}"
        )
        rows = self._run(f"SELECT * FROM ({inner}) WHERE named")
        alive = [row for row in rows if row["f0"]]
        values = [] if alive else _different([_named(columns, row["v0"]) for row in rows])
        text = print_sql(qualify.this)
        why = "" if alive else f"{said(values)}, asked {text}"
        step = PassedStep(
            self._name, "QUALIFY", text, position_of(qualify.this), len(rows), len(alive), tuple(values), why
        )
        return self._way.passes(step)

    def _through_limit(self, alive: Rows) -> bool:
        select, block = self._block.select, self._block
        limit, offset = (_number(select.args.get(each)) for each in ("limit", "offset"))
        clause = select.args.get("limit") or select.args["offset"]
        if select.args.get("distinct") or select.args.get("qualify") or not select.args.get("order"):
            refuse(clause, "LIMIT without ORDER BY, or of DISTINCT or QUALIFY, is not followed", INSTEAD)
        order = ", ".join(block.order())
        ranked = f"rank() OVER (ORDER BY {order}) AS first, count(*) OVER (ORDER BY {order}) AS last"
        if block.grouped:
            keys = block.keys()
            names = [f"{print_sql(key)} AS g{at}" for at, key in enumerate(keys)]
            having = select.args.get("having")
            asked = f" HAVING {print_sql(block.above_groups(having.this))}" if having is not None else ""
            rows = self._run(f"SELECT {', '.join([*names, ranked])} FROM {self._whole()}{self._grouping(keys)}{asked}")
            wanted = {_key(row, len(keys)) for row in alive}
            rows = [row for row in rows if _key(row, len(keys)) in wanted]
        else:
            named = f"{in_backticks(self._item.alias)}.{_NAMED} AS named"
            rows = self._run(f"SELECT * FROM (SELECT {named}, {ranked} FROM {self._whole()}) WHERE named")
        until = None if limit is None else limit + (offset or 0)
        inside = [row for row in rows if (until is None or row["first"] <= until) and row["last"] > (offset or 0)]
        values = [] if inside else [{"place": row["first"]} for row in sorted(rows, key=lambda row: row["first"])][:5]
        text = " ".join(print_sql(select.args[each]).strip() for each in ("limit", "offset") if select.args.get(each))
        why = "" if inside else f"it has place {values[0]['place']:,} in the order, asked {text}"
        step = PassedStep(self._name, "LIMIT", text, position_of(clause), len(rows), len(inside), tuple(values), why)
        return self._way.passes(step)


def _does_not_read(name: str, wanted: Wanted) -> BadArgumentError:
    return BadArgumentError(
        f"{name} does not read {wanted.table or 'a table'} behind FROM, so its rows are not in the result",
        instead="Name a table that it reads behind FROM; rows that only decide are not followed.",
    )


def _in(parentheses: exp.Expr) -> exp.Expr:
    inner: exp.Expr = parentheses.this
    return inner


def _folds(node: exp.Expr) -> bool:
    return any(is_aggregate(each) or isinstance(each, exp.Window) for each in own(node))


def _aggregates(node: exp.Expr) -> tuple[str, ...]:
    """The aggregates in an expression, as SQL; or its columns, if there are none."""
    found = [print_sql(each) for each in own(node) if is_aggregate(each)]
    return tuple(dict.fromkeys(found)) or columns_in(node)


def _struct(columns: Sequence[str]) -> str:
    return f"struct({', '.join(f'{each} AS c{at}' for at, each in enumerate(columns))})" if columns else "NULL"


def _named(columns: Sequence[str], values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {each.replace("`", ""): (values or {}).get(f"c{at}") for at, each in enumerate(columns)}


def _different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row:
            found.setdefault(repr(row), row)
    return list(found.values())[:_EXAMPLES]


def _key(row: Mapping[str, Any], keys: int) -> tuple[Any, ...]:
    return tuple(comparable(row[f"g{at}"]) for at in range(keys))


def _number(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    number = clause.expression
    if not isinstance(number, exp.Literal) or not str(number.this).isdigit():
        refuse(clause, "LIMIT of something else than a number is not followed", INSTEAD)
    return int(str(number.this))


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
    return _in(copied)
