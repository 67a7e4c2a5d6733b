"""How queries are read: sqlglot's parser, without what it does for other databases.

A tree may have one form for several spellings (`TABLE t` is a select, `OVER (w)` is `OVER w`). Then the spelling is
noted in the node's `meta["written"]`, and `VerbatimGenerator` can print the user's own words back for comparison.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from forward_lineage.frontend.literals import AFTER_A_NAME, SUFFIXED_NUMBER
from forward_lineage.frontend.nodes import LEVELS
from forward_lineage.frontend.pipe_reading import PipeParser
from udafs.errors import Position, WrongSqlError

# Words that begin, end or join clauses; every other word is a mere name to the parser, types and functions included.
_CLAUSE_WORDS = """
    ALL AND ANTI ANY AS ASC BETWEEN CASE COLLATE COMMENT CREATE CROSS CUBE DEFAULT DESC DISTINCT DIV ELSE END ESCAPE
    EXCEPT EXISTS FALSE FILTER FOR FORMAT FROM FULL GLOBAL HAVING ILIKE IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN
    LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NULL OFFSET ON OR ORDINALITY OUTER OVER OVERWRITE PARTITION PERCENT PIVOT
    QUALIFY RANGE RECURSIVE REGEXP REPLACE RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SET SOME TABLE TABLESAMPLE TEMP
    TEMPORARY THEN TRUE UNION UNPIVOT USING VALUES VIEW WHEN WHERE WINDOW WITH
"""
_CLAUSE_PHRASES = """
    CLUSTER BY,DISTRIBUTE BY,GROUP BY,GROUPING SETS,ORDER BY,PARTITION BY,PARTITIONED BY,SORT BY
"""
_OPERATORS = "!= -> :: <= <=> <> == => >= |> || /*+"
_PHRASES_AND_WORDS = {*_CLAUSE_WORDS.split(), *_CLAUSE_PHRASES.strip().split(","), *_OPERATORS.split()}
KEYWORDS = {word for phrase in _PHRASES_AND_WORDS for word in phrase.split()}
"""The words of the parser's grammar, in capitals; its operators too."""

_DIGITS = frozenset("0123456789")
_NAME_WITH_DIGIT = re.compile(r"\d+e", re.IGNORECASE)
_MAY_PRECEDE_A_COLUMN = {TokenType.COMMA, TokenType.L_PAREN, TokenType.SELECT, TokenType.WHERE}
_QUERY_BEGINS = {TokenType.FROM, TokenType.SELECT, TokenType.TABLE, TokenType.VALUES, TokenType.WITH}
_CLAUSES = {
    TokenType.CLUSTER_BY,
    TokenType.DISTRIBUTE_BY,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.LIMIT,
    TokenType.OFFSET,
    TokenType.ORDER_BY,
    TokenType.QUALIFY,
    TokenType.SORT_BY,
    TokenType.WHERE,
    TokenType.WINDOW,
}


class FaithfulTokenizer(Spark.Tokenizer):
    """sqlglot's tokens with Spark's keywords only; comments are expected to be blanked out before."""

    KEYWORDS: ClassVar[dict[str, Any]] = {
        word: token for word, token in Spark.Tokenizer.KEYWORDS.items() if word in _PHRASES_AND_WORDS
    }
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()
    TOKENS_PRECEDING_HINT: ClassVar[set[TokenType]] = {TokenType.SELECT, TokenType.HINT}

    def tokenize(self, sql: str) -> list[Token]:
        """Cut `sql` into tokens; numbers with a suffix are numbers, not names, and some keywords are names."""
        tokens = super().tokenize(sql)
        kinds = [TokenType.SENTINEL, *(token.token_type for token in tokens), TokenType.SENTINEL]
        around = zip(tokens, kinds, kinds[2:], [*kinds[3:], TokenType.SENTINEL], strict=False)
        return [_as_spark_reads_it(sql, token, *kinds_around) for token, *kinds_around in around]


def _as_spark_reads_it(sql: str, token: Token, before: TokenType, after: TokenType, then: TokenType) -> Token:
    kind = token.token_type
    if kind is TokenType.VAR:
        return _number_or_name(token) if token.text[0] in _DIGITS else token
    if kind in (TokenType.HEX_STRING, TokenType.BIT_STRING) and sql[token.start] == "0":
        return _retyped(token, TokenType.VAR, sql[token.start : token.end + 1])  # 0x1F
    if (
        (kind is TokenType.NUMBER and _NAME_WITH_DIGIT.fullmatch(token.text))  # 1e
        or (before is TokenType.DOT and kind is not TokenType.IDENTIFIER and token.text[:1].isalpha())  # t.order
        or (kind is TokenType.ALL and before in _MAY_PRECEDE_A_COLUMN and after in AFTER_A_NAME)  # a column called all
        or (kind is TokenType.ALL and before is TokenType.GROUP_BY and after is TokenType.COMMA)
        or (kind is TokenType.WINDOW and not _begins_window_clause(after, then))  # window(ts, '1 day'), window.start
    ):
        return _retyped(token, TokenType.VAR, token.text)
    return token


def _begins_window_clause(after: TokenType, then: TokenType) -> bool:
    """Whether `WINDOW w AS` follows."""
    return then is TokenType.ALIAS and after is not TokenType.L_PAREN and after not in AFTER_A_NAME


def _number_or_name(token: Token) -> Token:
    if SUFFIXED_NUMBER.fullmatch(token.text):
        return _retyped(token, TokenType.NUMBER, token.text)
    if "." in token.text:
        at = Position(token.line, token.col - len(token.text) + 1)
        what = f"a number that runs into a name (`{token.text}`)"
        raise WrongSqlError(what, at=at, instead="Put a blank between them, or the name in backticks.")
    return token


def _retyped(token: Token, token_type: TokenType, text: str) -> Token:
    return Token(token_type, text, token.line, token.col, token.start, token.end, token.comments)


def _leftmost(query: Any) -> Any:
    while isinstance(query, exp.SetOperation):
        query = query.this
    return query


class FaithfulParser(PipeParser):
    """Queries of sqlglot's Spark parser, without translation."""

    # Behind GROUP BY ALL an expression may follow to sqlglot; a parenthesis makes no function of these.
    FUNC_TOKENS: ClassVar[set[TokenType]] = PipeParser.FUNC_TOKENS - {TokenType.UNION, TokenType.OFFSET}
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: parse for token, parse in SparkParser.QUERY_MODIFIER_PARSERS.items() if token in _CLAUSES
    }
    QUERY_MODIFIER_TOKENS: ClassVar[set[TokenType]] = _CLAUSES
    ADD_JOIN_ON_TRUE = False
    SUPPORTS_TABLE_QUERY = True
    SUPPORTS_DIRECTED_JOIN = False

    def _parse_hint(self) -> exp.Hint | None:
        texts = []
        while self._match(TokenType.HINT):
            texts.append(exp.Var(this=(self._prev_comments or [""])[0].strip()))
        return self.expression(exp.Hint(expressions=texts)) if texts else None

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._curr
        if first.token_type is TokenType.FROM:
            return self._parse_query_from_first()
        if first.token_type is TokenType.WITH:
            return self._parse_query_with_ctes()
        query = super()._parse_select_query(*args, **kwargs)
        if isinstance(query, exp.Select):
            self._check_select(query, first)
        if query and first.token_type is TokenType.TABLE:
            _leftmost(query).meta["written"] = "TABLE"
        return query

    def _check_select(self, query: exp.Select, first: Token) -> None:
        distinct = query.args.get("distinct")
        if distinct and distinct.args.get("on"):
            # To Spark, ON (a) * FROM t is a product of a call of `on` and a column called FROM.
            self._refuse("DISTINCT ON", first, "Spark has none; use row_number() and QUALIFY.")
        if not query.expressions:
            self.raise_error("Expected something to select", first)

    def _parse_query_from_first(self) -> exp.Expr | None:
        """``FROM t SELECT a WHERE b``: the same tree as with SELECT first."""
        first = self._curr
        from_ = self._parse_from()
        joins = list(self._parse_joins())
        laterals = list(iter(self._parse_lateral, None))
        alone = self._curr.token_type in (TokenType.SENTINEL, TokenType.R_PAREN, TokenType.PIPE_GT)
        select = exp.Select(expressions=[exp.Star()]) if alone else self._parse_select_behind_from(first)
        select.set("from_", from_)
        select.set("joins", joins or None)
        select.set("laterals", [*laterals, *(select.args.get("laterals") or [])] or None)
        select.meta["written"] = f"FROM {len(laterals)}{' alone' if alone else ''}"
        if self._match(TokenType.SELECT, advance=False):
            self._refuse("several SELECTs from one FROM", self._curr, "Write them with UNION ALL.")
        return select

    def _parse_select_behind_from(self, first: Token) -> exp.Select:
        if self._curr.token_type is TokenType.INSERT:
            self._refuse("several INSERTs from one FROM", first, "Write them as statements of their own.")
        if self._curr.token_type is not TokenType.SELECT:
            self._refuse("a query that begins with FROM and has no SELECT", first, "Write SELECT * FROM ….")
        select = self._parse_select()
        if isinstance(select, exp.SetOperation):
            # Spark takes FROM t SELECT a UNION SELECT b for two selects from t, the first with a column called UNION.
            self._refuse("a set operation in a query that begins with FROM", first, "Write SELECT … FROM …, twice.")
        if not isinstance(select, exp.Select) or select.args.get("from_") or select.args.get("joins"):
            self._refuse("a second FROM in a query that begins with FROM", first, "Write SELECT … FROM ….")
        return select

    def _parse_query_with_ctes(self) -> exp.Expr | None:
        with_ = self._parse_with()
        first = self._curr
        query = self._parse_statement()
        depth = 0
        while isinstance(query, exp.Subquery) and query.is_wrapper and not query.args.get("with_"):
            query, depth = query.this, depth + 1
        if query is None or "with_" not in query.arg_types or query.args.get("with_"):
            self._refuse("WITH before something that is no query of its own", first, "Write one WITH for all.")
        query.set("with_", with_)
        if depth:
            query.meta["parentheses"] = depth
        return query

    def _parse_cluster(self) -> Any:
        # sqlglot takes what stands behind CLUSTER BY for mere names; in Spark they are expressions.
        return self._parse_sort(exp.Cluster, TokenType.CLUSTER_BY)

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        first = self._index
        group = super()._parse_group(skip_group_by_token)
        if group and group.args.get("all"):  # it may be a column of that name
            token = self._tokens[first + (not skip_group_by_token)]
            group.meta["written"] = self._text(token, token)
        if group and not any(group.args.values()):
            self.raise_error("Expected something to group by", self._prev)
        return group

    def _parse_ordered(self, parse_method: Any = None) -> exp.Ordered | None:
        ordered = super()._parse_ordered(parse_method)
        word = ordered.this if ordered else None
        if isinstance(word, exp.Column) and not word.table and word.name.upper() == "ALL" and not word.this.quoted:
            word.replace(exp.var(word.name))  # all columns, or the one of that name
        if ordered and self._tokens[self._index - 2].text.upper() == "NULLS":
            ordered.meta["written"] = f"NULLS {self._prev.text.upper()}"
        return ordered

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        window = super()._parse_window(this, alias)
        if (
            isinstance(window, exp.Window)
            and window is not this
            and window.args.get("alias")
            and not alias
            and not any(window.args.get(part) for part in ("partition_by", "order", "spec"))
            and self._prev.token_type is TokenType.R_PAREN
        ):
            window.meta["written"] = "()"  # OVER (w), the same as OVER w
        return window

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        if self._curr.token_type is not TokenType.VALUES or self._next.token_type in AFTER_A_NAME:
            return None  # a column called values
        self._advance()
        rows = self._parse_csv(self._parse_disjunction)
        if not rows:
            self.raise_error("Expected a row after VALUES", self._prev)
        return self.expression(exp.Values(expressions=rows, alias=self._parse_table_alias()))

    def _values_to_select(self, values: exp.Values) -> exp.Select:
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=values))
        for key in exp.QUERY_MODIFIERS:
            if modifier := values.args.get(key):
                values.set(key, None)
                select.set(key, modifier)
        select.meta["written"] = "VALUES"
        return select

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        # sqlglot takes function calls only; in Spark they are expressions: PIVOT (avg(x) + 1 AS y FOR …).
        aggregation = self._parse_disjunction()
        if aggregation is None:
            self.raise_error("Expected an aggregate function in PIVOT")
        return self._parse_alias(aggregation)

    def _parse_cte(self) -> exp.CTE | exp.FunctionSpecification | None:
        following = [token.token_type for token in self._tokens[self._index + 1 : self._index + 3]]
        if len(following) == 2 and following[0] is TokenType.L_PAREN and following[1] in _QUERY_BEGINS:
            # WITH t (SELECT …), without AS
            alias = exp.TableAlias(this=self._parse_id_var())
            return self.expression(exp.CTE(this=self._parse_wrapped(self._parse_statement), alias=alias))
        return self._parse_bounded_cte() or super()._parse_cte()

    def _parse_bounded_cte(self) -> exp.CTE | None:
        index = self._index
        alias = self._parse_table_alias(self.ID_VAR_TOKENS)
        if alias is None or not self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            self._retreat(index)
            return None
        levels = self._parse_number()
        self._match(TokenType.ALIAS)
        cte = self.expression(exp.CTE(this=self._parse_wrapped(self._parse_statement), alias=alias))
        cte.set(LEVELS, levels)
        return cte

    def _parse_subquery(self, this: exp.Expr | None, parse_alias: bool = True) -> exp.Subquery | None:
        if not this:
            return None
        subquery = exp.Subquery(this=this, pivots=self._parse_pivots(), sample=self._parse_table_sample())
        if parse_alias:
            subquery.set("alias", self._parse_table_alias())
        return self._written(subquery, "()")

    def _parse_set_operations(self, this: exp.Expr | None) -> exp.Expr | None:
        query = super()._parse_set_operations(this)
        operation = query
        while isinstance(operation, exp.SetOperation):
            # INTERSECT binds tighter than UNION and EXCEPT; sqlglot puts it into parentheses the user did not write.
            operand = operation.expression
            if isinstance(operand, exp.Subquery) and not operand.meta.get("written"):
                operand.meta["written"] = "implied"
            operation = operation.this
        return query

    def _parse_join(
        self,
        skip_join_token: bool = False,
        parse_bracket: bool = False,
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        comma = self._curr.token_type is TokenType.COMMA
        join = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        if join and comma:
            join.set("kind", None)
        elif join and not any(join.args.get(part) for part in ("method", "side", "kind", "on", "using")):
            join.meta["written"] = "JOIN"  # not a comma
        return join
