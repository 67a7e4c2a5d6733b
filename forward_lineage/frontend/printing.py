"""How trees are printed as Spark SQL: nothing is rewritten for another database or an older Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.generators.spark import SparkGenerator

from forward_lineage.frontend.nodes import (
    LEVELS,
    KeywordCall,
    PathExtract,
    PipeStep,
    TypedLiteral,
    UnaryPlus,
    UnsignedRightShift,
)
from forward_lineage.frontend.pipes import PIPED
from rewrites.lineage_functions import DL_STAR_EXCEPT
from udafs.versions import STAR_EXCEPT_SINCE, installed

# Nodes that sqlglot rewrites on printing: for older Sparks (QUALIFY becomes a subquery), or into functions.
_REWRITTEN_BY_SQLGLOT = {exp.CTE, exp.Create, exp.From, exp.Pivot, exp.Select, exp.Table, exp.TryCast, exp.With}


class FaithfulGenerator(SparkGenerator):
    """Prints nodes as they were read."""

    VERBATIM: ClassVar[bool] = False
    HAS_STAR_EXCEPT: ClassVar[bool] = installed() >= STAR_EXCEPT_SINCE
    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()
    TABLESAMPLE_SEED_KEYWORD = "REPEATABLE"
    TABLESAMPLE_WITH_METHOD = True
    # In the order of Spark's grammar.
    AFTER_HAVING_MODIFIER_TRANSFORMS: ClassVar[dict[str, Any]] = {
        part: SparkGenerator.AFTER_HAVING_MODIFIER_TRANSFORMS[part]
        for part in ("windows", "qualify", "cluster", "distribute", "sort")
    }

    def prepend_ctes(self, expression: exp.Expr, sql: str) -> str:
        """Put the WITH clause of a query before its text."""
        if self.VERBATIM:
            written = expression.meta.get("written")
            if written in ("TABLE", "VALUES"):
                sql = sql.replace("SELECT * FROM ", "TABLE " if written == "TABLE" else "", 1)
            depth = expression.meta.get("parentheses", 0)
            sql = f"{'(' * depth}{sql}{')' * depth}"
        return super().prepend_ctes(expression, sql)

    def after_limit_modifiers(self, expression: exp.Expr) -> list[str]:
        """Text behind LIMIT; the sample of a subquery stands before its alias."""
        return [] if isinstance(expression, exp.Subquery) else super().after_limit_modifiers(expression)

    def star_sql(self, expression: exp.Star) -> str:
        """Print a star; where Spark does not read EXCEPT, as a function of the kernel's."""
        return super().star_sql(expression) if self._is_read(expression) else self._star_except("*", expression)

    def column_sql(self, expression: exp.Column) -> str:
        """Print a column, or a star with what stands before its point."""
        star = expression.this
        if not isinstance(star, exp.Star) or self._is_read(star):
            return super().column_sql(expression)
        table = ".".join(self.sql(part) for part in expression.parts[:-1])
        return self._star_except(f"{table}.*", star)

    def _is_read(self, star: exp.Star) -> bool:
        return self.HAS_STAR_EXCEPT or self.VERBATIM or not star.args.get("except_")

    def _star_except(self, star: str, node: exp.Star) -> str:
        texts = [star, *(self.sql(column) for column in node.args["except_"])]
        return f"{DL_STAR_EXCEPT}({', '.join(self.sql(exp.Literal.string(text)) for text in texts)})"

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        """Print a query in parentheses. As sqlglot does, but the sample stays in the tree."""
        if self.VERBATIM and expression.meta.get("written") == "implied":
            return self.sql(expression, "this")
        alias = self.sql(expression, "alias")
        behind = f"{self.sql(expression, 'sample')}{f'{sep}{alias}' if alias else ''}"
        pivots = self.expressions(expression, key="pivots", sep="", flat=True)
        return self.prepend_ctes(expression, self.query_modifiers(expression, self.wrap(expression), behind, pivots))


class VerbatimGenerator(FaithfulGenerator):
    """Prints a tree with the spellings the user chose, where the tree has one form for several."""

    VERBATIM = True

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
        """Print a node, or an argument of it; a query that was written with pipes has these."""
        node = expression.args.get(key) if key and isinstance(expression, exp.Expr) else expression
        if not isinstance(node, exp.Query) or PIPED not in node.meta:
            return str(super().sql(expression, key, comment))
        query, steps = node.meta[PIPED]
        return self.prepend_ctes(node, "".join([self.sql(query), *map(self.sql, steps)]))

    def select_sql(self, expression: exp.Select) -> str:
        """Print a select; one that was written with FROM first begins with it."""
        written = expression.meta.get("written", "").split()
        if written[:1] != ["FROM"]:
            return super().select_sql(expression)
        rest = expression.copy()
        rest.meta["written"] = ""
        with_, from_, joins = (rest.args.pop(part, None) for part in ("with_", "from_", "joins"))
        laterals = rest.args.pop("laterals", None) or []
        views = int(written[1])
        rest.set("laterals", laterals[views:])
        before = [from_, *(joins or []), *laterals[:views]]
        sql = "".join(self.sql(part) for part in before)
        if written[2:] != ["alone"]:
            sql = f"{sql} {self.sql(rest)}"
        return f"{self.sql(with_)} {sql}" if with_ else sql


_Print = Callable[[Any, Any], str]


def _as_written(otherwise: _Print) -> _Print:
    return lambda self, e: e.meta.get("written") or otherwise(self, e)


def _operator(symbol: str) -> _Print:
    return lambda self, e: self.binary(e, symbol)


def _cast(self: FaithfulGenerator, cast: exp.Cast) -> str:
    if self.VERBATIM and cast.meta.get("written") == "::":
        return f"{self.sql(cast, 'this')}::{self.sql(cast, 'to')}"
    return self.cast_sql(cast)


def _not(self: FaithfulGenerator, negation: exp.Not) -> str:
    inner = negation.this
    if negation.meta.get("written") == "infix" and isinstance(inner, exp.In | exp.Between | exp.RegexpLike):
        left = self.sql(inner, "this")  # the operator is the first word behind the left side
        return f"{left} NOT{self.sql(inner)[len(left) :]}"
    return self.not_sql(negation)


def _keyword_call(self: FaithfulGenerator, call: KeywordCall) -> str:
    text = f"{call.name}("
    for index, (word, argument) in enumerate(zip(call.args["words"], call.expressions, strict=True)):
        if word:
            text += word if index == 0 or word == "," else f" {word}"
        shown = self.sql(argument)
        text += f"{' ' if word and shown else ''}{shown}"
    return f"{text})"


def _file_format(self: FaithfulGenerator, provider: exp.FileFormatProperty) -> str:
    # The name as the user wrote it; sqlglot prints it in capitals.
    return f"{'STORED AS' if provider.args.get('hive_format') else 'USING'} {self.sql(provider, 'this')}"


def _property(self: FaithfulGenerator, property_: exp.Property) -> str:
    return f"{self.sql(property_, 'this')}{property_.meta.get('written', '=')}{self.sql(property_, 'value')}"


def _hint(self: FaithfulGenerator, hint: exp.Hint) -> str:
    return "".join(f" /*+ {self.sql(text)} */" for text in hint.expressions)


def _join(self: FaithfulGenerator, join: exp.Join) -> str:
    if join.meta.get("written") == "JOIN" and not join.args.get("kind"):
        return f"{self.seg('JOIN')} {self.sql(join, 'this')}"  # without a condition, yet not a comma
    return self.join_sql(join)


def _values(self: FaithfulGenerator, values: exp.Values) -> str:
    alias = self.sql(values, "alias")
    sql = self.query_modifiers(values, f"VALUES {self.expressions(values, flat=True)}")
    pivots = self.expressions(values, key="pivots", sep="", flat=True)
    return f"{sql}{f' AS {alias}' if alias else ''}{pivots}"


def _table_alias(self: FaithfulGenerator, alias: exp.TableAlias) -> str:
    columns = self.expressions(alias, key="columns", flat=True)
    return f"{self.sql(alias, 'this')}{f'({columns})' if columns else ''}"


def _ordered(self: FaithfulGenerator, ordered: exp.Ordered) -> str:
    nulls = ordered.meta.get("written")
    if nulls is None:
        return self.ordered_sql(ordered)
    desc = ordered.args.get("desc")
    return f"{self.sql(ordered, 'this')}{' DESC' if desc else ' ASC' if desc is False else ''} {nulls}"


def _group(self: FaithfulGenerator, group: exp.Group) -> str:
    sql = self.group_sql(group)
    return sql.replace("ALL", group.meta["written"], 1) if group.args.get("all") and "written" in group.meta else sql


def _window(self: FaithfulGenerator, window: exp.Window) -> str:
    sql = self.window_sql(window)
    if self.VERBATIM and window.meta.get("written") == "()":
        name = self.sql(window, "alias")
        return f"{sql.removesuffix(name)}({name})"
    return sql


def _window_frame(self: FaithfulGenerator, frame: exp.WindowSpec) -> str:
    if frame.args.get("end"):
        return self.windowspec_sql(frame)
    bound = f"{self.sql(frame, 'start')} {self.sql(frame, 'start_side')}".rstrip()
    return f"{self.sql(frame, 'kind')} {bound}"


def _cte(self: FaithfulGenerator, cte: exp.CTE) -> str:
    levels = cte.args.get(LEVELS)
    if levels is None:
        return self.cte_sql(cte)
    return f"{self.sql(cte, 'alias')} MAX RECURSION LEVEL {self.sql(levels)} AS {self.wrap(cte)}"


def _pipe_step(self: FaithfulGenerator, step: PipeStep) -> str:
    word, query = step.name, step.args.get("query")
    if isinstance(query, exp.Select) and word in ("ORDER", "tail"):
        text = self.query_modifiers(query, "")
    elif isinstance(query, exp.SetOperation):
        text = f"{word}{'' if query.args.get('distinct') else ' ALL'} {self.sql(query, 'expression')}"
    elif query is not None:
        text = self.sql(query)
    else:
        text = f"{word} {self.expressions(step, flat=True)}"
        if groups := self.expressions(step, key="group", flat=True):
            text += f" GROUP BY {groups}"
    return f"{'' if word == 'tail' else ' |>'} {text}"


FaithfulGenerator.TRANSFORMS = {
    **{node: print_ for node, print_ in SparkGenerator.TRANSFORMS.items() if node not in _REWRITTEN_BY_SQLGLOT},
    exp.CTE: _cte,
    KeywordCall: _keyword_call,
    PipeStep: _pipe_step,
    PathExtract: lambda self, e: f"{self.sql(e, 'this')}:{e.args['path']}",
    TypedLiteral: lambda self, e: e.this,
    UnaryPlus: lambda self, e: f"+{self.sql(e, 'this')}",
    UnsignedRightShift: _operator(">>>"),
    exp.BitwiseLeftShift: _operator("<<"),
    exp.BitwiseRightShift: _operator(">>"),
    exp.Cast: _cast,
    exp.DataType: lambda self, e: e.args.get("kind") or self.datatype_sql(e),
    exp.FileFormatProperty: _file_format,
    exp.Group: _group,
    exp.Hint: _hint,
    exp.ILike: lambda self, e: self.ilike_sql(e),
    exp.IntDiv: _operator("DIV"),
    exp.Join: _join,
    exp.Literal: _as_written(lambda self, e: self.literal_sql(e)),
    exp.Not: _not,
    exp.NullSafeEQ: lambda self, e: self.binary(e, "IS NOT DISTINCT FROM" if e.meta.get("written") else "<=>"),
    exp.NullSafeNEQ: lambda self, e: self.binary(e, "IS DISTINCT FROM"),
    exp.Ordered: _ordered,
    exp.Property: _property,
    exp.RegexpLike: _operator("RLIKE"),
    exp.TableAlias: _table_alias,
    exp.Values: _values,
    exp.Window: _window,
    exp.WindowSpec: _window_frame,
}
VerbatimGenerator.TRANSFORMS = FaithfulGenerator.TRANSFORMS
