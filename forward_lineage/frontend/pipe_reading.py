"""How pipe syntax is read: each operator is a step, which can be printed back; the tree is the SELECT they mean."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from forward_lineage.frontend.expressions import ExpressionParser
from forward_lineage.frontend.nodes import PipeStep
from forward_lineage.frontend.pipes import PIPED, piped

_SET_OPERATIONS = {TokenType.EXCEPT, TokenType.INTERSECT, TokenType.UNION}
_ORGANISING = {
    TokenType.CLUSTER_BY,
    TokenType.DISTRIBUTE_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
    TokenType.ORDER_BY,
    TokenType.SORT_BY,
    TokenType.WINDOW,
}


class PipeParser(ExpressionParser):
    """``query |> operator |> operator``."""

    PIPE_STEP_PARSERS: ClassVar[dict[str, Any]] = {
        "AGGREGATE": lambda self: self._parse_pipe_aggregate(),
        "AS": lambda self: self._parse_pipe_list("AS", self._parse_id_var, several=False),
        "DROP": lambda self: self._parse_pipe_list("DROP", self._parse_id_var),
        "EXTEND": lambda self: self._parse_pipe_list("EXTEND", self._parse_expression),
        "SET": lambda self: self._parse_pipe_list("SET", self._parse_pipe_assignment),
        "WHERE": lambda self: self._parse_pipe_list("WHERE", self._parse_disjunction, several=False),
    }

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        # Of a relation in FROM pipes stand within its parentheses; those behind it are of the whole query.
        in_from = kwargs.get("table") or args[1:2] == (True,)
        query = super()._parse_select(*args, **(kwargs | {"consume_pipe": False} if in_from else kwargs))
        if isinstance(query, exp.Values) and self._curr.token_type is TokenType.PIPE_GT and not in_from:
            return self._parse_pipe_syntax_query(self._values_to_select(query))
        return query

    def _parse_pipe_syntax_query(self, query: exp.Query) -> exp.Query | None:
        result: Any = query
        while self._curr.token_type is TokenType.PIPE_GT:
            steps = []
            while self._match(TokenType.PIPE_GT):
                steps.append(self._parse_pipe_step())
            result = self._parse_set_operations(self._with_steps(result, steps))
        if self._curr.token_type in _ORGANISING:  # of the whole, behind the last operator
            result = self._with_steps(result, [self._parse_pipe_organisation("tail")])
        return result  # type: ignore[no-any-return]

    def _with_steps(self, query: exp.Query, steps: list[PipeStep]) -> exp.Query:
        written = (query.copy(), [step.copy() for step in steps])
        result = piped(query, steps)
        result.meta.pop("written", None)
        result.meta[PIPED] = written
        return result

    def _parse_pipe_step(self) -> PipeStep:
        first = self._curr
        parse = self.PIPE_STEP_PARSERS.get(first.text.upper()) if first.token_type is not TokenType.IDENTIFIER else None
        if parse is not None:
            self._advance()
            step: PipeStep = parse(self)
            return step
        if first.token_type is TokenType.SELECT:
            return self._parse_pipe_select(first)
        if first.token_type in _SET_OPERATIONS:
            return self._parse_pipe_set_operation(first)
        if first.token_type in _ORGANISING:
            return self._parse_pipe_organisation("")
        return self._parse_pipe_source(first)

    def _parse_pipe_select(self, first: Token) -> PipeStep:
        select = self._parse_select_query(parse_set_operation=False)
        if not isinstance(select, exp.Select) or select.args.get("from_") or select.args.get("joins"):
            self._refuse("a FROM behind |> SELECT", first, "Leave it out: the rows come from before |>.")
        return PipeStep(this="SELECT", query=select)

    def _parse_pipe_aggregate(self) -> PipeStep:
        values = [] if self._curr.token_type is TokenType.GROUP_BY else self._parse_expressions()
        first = self._curr
        groups = self._parse_expressions() if self._match(TokenType.GROUP_BY) else []
        if number := next((each for each in groups if isinstance(each, exp.Literal) and not each.is_string), None):
            self._refuse(f"GROUP BY {number.name} in pipe syntax, the number of a column", first, "Write its name.")
        if not values and not groups:
            self.raise_error("Expected something to aggregate", self._prev)
        return PipeStep(this="AGGREGATE", expressions=values, group=groups)

    def _parse_pipe_list(self, word: str, parse: Any, *, several: bool = True) -> PipeStep:
        items = self._parse_csv(parse) if several else [parse()]
        if not items or items[0] is None:
            self.raise_error(f"Expected something after {word}", self._prev)
        return PipeStep(this=word, expressions=items)

    def _parse_pipe_assignment(self) -> exp.Expr | None:
        column = self._parse_id_var()
        if column is None or not self._match(TokenType.EQ):
            self.raise_error("Expected column = value after SET", self._curr)
        return self.expression(exp.EQ(this=column, expression=self._parse_disjunction()))

    def _parse_pipe_set_operation(self, first: Token) -> PipeStep:
        operation = self.parse_set_operation(exp.Select())
        if operation is None or operation.args.get("by_name") or operation.args.get("side"):
            self._refuse("a set operation BY NAME", first, "List the columns of both sides in the same order.")
        return PipeStep(this=operation.key.upper(), query=operation)

    def _parse_pipe_organisation(self, word: str) -> PipeStep:
        return PipeStep(this=word or "ORDER", query=self._parse_query_modifiers(exp.Select()))

    def _parse_pipe_source(self, first: Token) -> PipeStep:
        """Parse what changes FROM: a sample, PIVOT, a join."""
        if first.token_type is TokenType.TABLE_SAMPLE:
            return PipeStep(this="TABLESAMPLE", query=self._parse_table_sample())
        if first.token_type in (TokenType.PIVOT, TokenType.UNPIVOT):
            return PipeStep(this="PIVOT", query=self._parse_pivot())
        join = None if first.token_type is TokenType.COMMA else self._parse_join()
        if join is None:
            what = f"an operator of pipe syntax that is not known (|> {first.text})"
            self._refuse(what, first, "Write this part as SELECT … FROM ….")
        return PipeStep(this="JOIN", query=join)
