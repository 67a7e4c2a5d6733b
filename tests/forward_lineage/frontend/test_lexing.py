"""Tokens against the rules of Spark's lexer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import rewrite_sql, without_request
from forward_lineage.frontend.lexing import SparkLexer, blank, lex, meaningful, position_at, without_comments
from tests.forward_lineage.frontend.plans import statements
from udafs.errors import LineageError, Position


@pytest.mark.parametrize(
    ("sql", "tokens"),
    [
        ("a.b+1", ["a", ".", "b", "+", "1"]),
        ("1L 2.5BD .5 1e3 1e-3D 5. 1a 2nd", ["1L", "2.5BD", ".5", "1e3", "1e-3D", "5.", "1a", "2nd"]),
        ("'it''s' 'it\\'s' \"a\"\"b\" r'\\' x'1F'", ["'it''s'", "'it\\'s'", '"a""b"', "r'\\'", "x", "'1F'"]),
        ("`a``b`.`c.d`", ["`a``b`", ".", "`c.d`"]),
        ("a<=>b<>c!=d==e<=f>=g", ["a", "<=>", "b", "<>", "c", "!=", "d", "==", "e", "<=", "f", ">=", "g"]),
        ("a||b -> c => d::e |> f", ["a", "||", "b", "->", "c", "=>", "d", "::", "e", "|>", "f"]),
        ("array<array<int>>", ["array", "<", "array", "<", "int", ">", ">"]),
        ("a -- b\nc", ["a", "c"]),
        ("a -- b \\\n still\nc", ["a", "c"]),
        ("a /* b /* c */ d */ e", ["a", "e"]),
        ("/*+ HINT(a) */ b", ["/*+", "HINT", "(", "a", ")", "*/", "b"]),
        ("größe 名前", ["größe", "名前"]),
        ("a--b", ["a"]),
        ("'a\nb' `c\nd`", ["'a\nb'", "`c\nd`"]),
    ],
)
def test_words_and_literals_are_cut_as_spark_cuts_them(sql: str, tokens: list[str]) -> None:
    assert [token.text for token in meaningful(lex(sql))] == tokens


@pytest.mark.parametrize("sql", list(statements()))
def test_tokens_join_to_the_text(sql: str) -> None:
    tokens = lex(sql)
    assert "".join(token.text for token in tokens) == sql
    assert all(sql[token.start : token.end] == token.text for token in tokens)


@given(st.text(alphabet="ab1.'\"`/*-+\\\n ;(),<>=|é$", max_size=40))
def test_any_text_is_cut_or_refused(sql: str) -> None:
    try:
        tokens = lex(sql)
    except LineageError as error:
        assert error.at is not None
    else:
        assert "".join(token.text for token in tokens) == sql
        assert len(without_comments(tokens)) == len(sql)


def test_comments_are_blanked_in_place() -> None:
    sql = "a /* x\n y */ b -- z\nc '-- s'"
    assert without_comments(lex(sql)) == "a     \n      b     \nc '-- s'"
    assert blank("x\r\ny") == " \r\n "


def test_positions_count_from_one() -> None:
    assert position_at("a\nbc", 0) == Position(1, 1)
    assert position_at("a\nbc", 3) == Position(2, 2)


@pytest.mark.parametrize(
    ("sql", "what", "at"),
    [
        ("SELECT 'a", "a string", Position(1, 8)),
        ("SELECT\n  `a", "a quoted name", Position(2, 3)),
        ('"a', "a string", Position(1, 1)),
        ("a /* b /* c */", "a comment", Position(1, 3)),
    ],
)
def test_what_is_not_closed_is_told_by_its_place(sql: str, what: str, at: Position) -> None:
    with pytest.raises(LineageError, match=f"{what} that begins here is not closed") as error:
        lex(sql)
    assert error.value.at == at


def test_a_statement_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many look at its words."""
    cut: list[str] = []
    tokens = SparkLexer.get_tokens

    def noting(lexer: SparkLexer, sql: str) -> Iterator[tuple[object, str]]:
        cut.append(sql)
        return tokens(lexer, sql)

    monkeypatch.setattr(SparkLexer, "get_tokens", noting)
    catalog = Catalog()
    catalog.register("t", columns=["k"], key="k")
    sql = "SELECT count(*) AS cut_once FROM t"
    rewrite_sql(without_request(sql), catalog)
    assert cut.count(sql) == 1
