"""How expressions are read: sqlglot's parser, without what it does for other databases.

Nothing is translated: a function call keeps the name and arguments the user wrote. Operators bind as in Spark's
grammar. A tree may have one form for several spellings (`x::INT` is a cast). Then the spelling is noted in the node's
`meta["written"]`, and `VerbatimGenerator` can print the user's own words back for comparison.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from forward_lineage.frontend.literals import LiteralParser
from forward_lineage.frontend.nodes import KeywordCall, PathExtract, UnaryPlus, UnsignedRightShift
from rewrites.rules.generated_rows import CALL_IT_FOR_EACH_ROW

_WORDS_IN_CALLS = {"FOR", "FROM", "IN", "PLACING"}
_TRIM_SIDES = {"BOTH", "LEADING", "TRAILING"}
_ENDS_AN_ARGUMENT = {TokenType.COMMA, TokenType.DOT, TokenType.R_PAREN}
_COMPUTED = "Write the name itself; or trace what Spark makes of it: lineage.trace(spark.sql(…, args=…))."
_CALLS_WITH_WORDS = {"EXTRACT", "OVERLAY", "POSITION", "SUBSTR", "SUBSTRING", "TRIM"}
_BEHIND_A_TABLE = {TokenType.DISTRIBUTE_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY, TokenType.WITH}


class ExpressionParser(LiteralParser):
    """Operators, calls and columns of sqlglot's Spark parser, without translation."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CAST": lambda self: self._parse_cast(True),
        "TRY_CAST": lambda self: self._parse_cast(False, safe=True),
    }
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": lambda self: self._parse_case()}
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    BRACKETS: ClassVar[frozenset[TokenType]] = frozenset({TokenType.L_BRACKET})
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        TokenType.DOT: None,
        TokenType.DCOLON: lambda self, this, to: self._written(exp.Cast(this=this, to=to), "::"),
    }
    COLUMN_POSTFIX_TOKENS: ClassVar[frozenset[TokenType]] = SparkParser.COLUMN_POSTFIX_TOKENS | {TokenType.COLON}
    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **{t: SparkParser.UNARY_PARSERS[t] for t in (TokenType.NOT, TokenType.TILDE)},
        TokenType.DASH: lambda self: self._parse_minus(),
        TokenType.PLUS: lambda self: self.expression(UnaryPlus(this=self._parse_unary())),
    }
    RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
        TokenType.BETWEEN: lambda self, this: self._parse_between(this),
        TokenType.IN: lambda self, this: self._parse_in(this),
        TokenType.IS: lambda self, this: self._parse_is(this),
        TokenType.LIKE: lambda self, this: self._parse_pattern(exp.Like, this),
        TokenType.ILIKE: lambda self, this: self._parse_pattern(exp.ILike, this),
        TokenType.RLIKE: lambda self, this: self._parse_pattern(exp.RegexpLike, this),
    }
    COMPARISONS: ClassVar[dict[TokenType, type[exp.Binary]]] = {**SparkParser.EQUALITY, **SparkParser.COMPARISON}
    BIT_LEVELS: ClassVar[tuple[tuple[TokenType, type[exp.Binary]], ...]] = (
        (TokenType.PIPE, exp.BitwiseOr),
        (TokenType.CARET, exp.BitwiseXor),
        (TokenType.AMP, exp.BitwiseAnd),
    )
    TERM: ClassVar[dict[TokenType, Any]] = {
        TokenType.PLUS: exp.Add,
        TokenType.DASH: exp.Sub,
        TokenType.DPIPE: exp.DPipe,
    }

    # Operators, from the weakest to the strongest: `predicate` and `valueExpression` of Spark's grammar

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """A value, with at most one predicate (``IN``, ``LIKE``, ``IS``, …) behind it."""
        this = self._parse_comparison()
        index = self._index
        negated = self._match(TokenType.NOT)
        if this is None or not self._match_set(self.RANGE_PARSERS):
            self._retreat(index)
            return this
        this = self.RANGE_PARSERS[self._prev.token_type](self, this)
        return self._negate_range(this) if negated else this

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        this = this or self._parse_bitwise()
        while not self._is_shift() and self._match_set(self.COMPARISONS):
            operator = self.COMPARISONS[self._prev.token_type]
            this = self.expression(operator(this=this, expression=self._parse_bitwise()))
        return this

    def _parse_bitwise(self, level: int = 0) -> exp.Expr | None:
        if level == len(self.BIT_LEVELS):
            return self._parse_shift()
        token, operator = self.BIT_LEVELS[level]
        this = self._parse_bitwise(level + 1)
        while self._match(token):
            this = self.expression(operator(this=this, expression=self._parse_bitwise(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while length := self._is_shift():
            right = UnsignedRightShift if length == 3 else exp.BitwiseRightShift
            operator = exp.BitwiseLeftShift if self._curr.token_type is TokenType.LT else right
            self._advance(length)
            this = self.expression(operator(this=this, expression=self._parse_term()))
        return this

    def _is_shift(self) -> int:
        """Number of tokens of a shift operator (``<<``, ``>>``, ``>>>``) that stands here, or 0."""
        first, following = self._curr, self._tokens[self._index + 1 : self._index + 3]
        if first.token_type not in (TokenType.LT, TokenType.GT) or not following:
            return 0
        length = 1
        for token in following:
            if token.token_type is not first.token_type or token.start != first.start + length:
                break
            length += 1
        return length if length == 2 or (length == 3 and first.token_type is TokenType.GT) else 0

    def _parse_pattern(self, operator: type[exp.Binary], this: exp.Expr) -> exp.Expr | None:
        return self._parse_escape(self.expression(operator(this=this, expression=self._parse_comparison())))

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_comparison()
        if not self._match(TokenType.AND):
            self.raise_error("Expected AND after BETWEEN")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_comparison()))

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        negated = bool(self._match(TokenType.NOT))
        if self._match_text_seq("DISTINCT", "FROM"):
            operator = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self._written(operator(this=this, expression=self._parse_comparison()), "IS")
        truth: exp.Expr | None = None
        if self._match_text_seq("UNKNOWN"):
            truth = exp.Var(this="UNKNOWN")
        elif self._match_set((TokenType.NULL, TokenType.TRUE, TokenType.FALSE)):
            truth = self.PRIMARY_PARSERS[self._prev.token_type](self, self._prev)
        if truth is None:
            self.raise_error("Expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS")
        return self.expression(exp.Is(this=this, expression=truth, negate=negated or None))

    def _parse_minus(self) -> exp.Expr | None:
        """``-x``; the sign of a number is part of it, and binds tighter than ``::``."""
        index = self._index
        if self._curr.token_type in (TokenType.NUMBER, TokenType.DOT):
            number = self._parse_primary()
            if number is not None and self._match(TokenType.DCOLON, advance=False):
                return self._parse_column_ops(self.expression(exp.Neg(this=number)))
            self._retreat(index)
        return self.expression(exp.Neg(this=self._parse_unary()))

    # Calls and paths

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._next.token_type is TokenType.L_PAREN and self._curr.text.upper() in _CALLS_WITH_WORDS:
            index = self._index
            call = self._parse_call_with_words()
            if call:
                return self._parse_window(call)
            self._retreat(index)
        first = self._curr
        if first.token_type is TokenType.EXISTS and (exists := self._try_parse(self._parse_exists_predicate)):
            return exists
        if first.token_type is TokenType.VAR and first.text.upper() == "IDENTIFIER" and self._next.text == "(":
            self._refuse("a name that is computed (IDENTIFIER)", first, _COMPUTED)
        call = super()._parse_function_call(*args, **kwargs)
        if call and first.text.upper() == "TABLE" and self._curr.token_type in _BEHIND_A_TABLE:
            self._refuse("a table as argument of a function", first, CALL_IT_FOR_EACH_ROW)
        if call and first.text.upper() == "TRANSFORM":
            self._refuse_script(first)
        return call

    def _refuse_script(self, first: Token) -> None:
        if self._curr.token_type in (TokenType.USING, TokenType.ROW):
            self._refuse("SELECT TRANSFORM … USING (a script)", first, "Lineage cannot follow rows through a script.")

    def _parse_exists_predicate(self) -> exp.Expr | None:
        """``EXISTS ((SELECT …) INTERSECT …)``, which is no call of the function `exists`, as one of an array is."""
        self._advance()
        parenthesised = self._parse_primary()
        if isinstance(parenthesised, exp.Subquery):
            return self.expression(exp.Exists(this=parenthesised.this))
        return None

    def _parse_function_args(self, alias: bool = False) -> list[exp.Expr]:
        if self._tokens[self._index - 2].text.upper() != "STRUCT":
            return super()._parse_function_args(alias)
        return self._parse_csv(self._parse_named_argument)  # struct(a b): AS may be left out

    def _parse_named_argument(self) -> exp.Expr | None:
        argument = self._parse_lambda(alias=True)
        return argument if argument is None or isinstance(argument, exp.Alias) else self._parse_alias(argument)

    def _parse_call_with_words(self) -> exp.Expr | None:
        """``TRIM(BOTH 'x' FROM y)``, ``EXTRACT(YEAR FROM d)``, …; None when the call has no such words."""
        name = self._curr
        kind = name.text.upper()
        self._advance(2)
        words = [self._parse_side() if kind == "TRIM" else ""]
        arguments = [self._parse_before_words(kind)]
        while self._match(TokenType.COMMA) or self._match_texts(_WORDS_IN_CALLS):
            words.append(self._prev.text.upper())
            arguments.append(self._parse_bitwise())
        if not _WORDS_IN_CALLS & set(words) or not self._match(TokenType.R_PAREN):
            return None
        return self.expression(KeywordCall(this=name.text, expressions=arguments, words=words), name)

    def _parse_side(self) -> str:
        word = self._curr.text.upper() if self._curr.token_type is TokenType.VAR else ""
        if word not in _TRIM_SIDES or self._next.token_type in _ENDS_AN_ARGUMENT:
            return ""
        self._advance()
        return word

    def _parse_before_words(self, kind: str) -> exp.Expr | None:
        if self._curr.token_type is TokenType.FROM:  # TRIM(BOTH FROM x)
            return exp.Var(this="")
        return self._parse_var(any_token=True) if kind == "EXTRACT" else self._parse_bitwise()

    def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
        negated = super()._negate_range(this)
        if isinstance(negated, exp.Not):
            negated.meta["written"] = "infix"  # x NOT IN (…)
        return negated

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        this = super()._parse_column_ops(this)
        while this and self._match(TokenType.COLON):
            this = super()._parse_column_ops(self._parse_path(this))
        return this

    def _parse_path(self, this: exp.Expr) -> exp.Expr:
        """``v:a.b[0]['c']`` of a variant or a JSON string; the path is kept as text."""
        first = self._curr
        if not self._parse_path_index():
            self._advance()
        while self._parse_path_index() or self._match(TokenType.DOT):
            if self._prev.token_type is TokenType.DOT:
                self._advance()
        return self.expression(PathExtract(this=this, path=self._text(first, self._prev)))

    def _parse_path_index(self) -> bool:
        if not self._match(TokenType.L_BRACKET):
            return False
        bracket = self._prev
        constant = self._match_set((TokenType.STRING, TokenType.NUMBER, TokenType.STAR))
        if not constant or not self._match(TokenType.R_BRACKET):
            self._refuse("a path with a computed index", bracket, "Use variant_get(v, path, type).")
        return True
