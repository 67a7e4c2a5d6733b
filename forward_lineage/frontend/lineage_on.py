"""`LINEAGE ON a, f(b), …`: where the clause stands in a statement, what it lists, and what its ids are decoded with.

The clause is ours, not Spark's: it may stand at the end of a statement. It is found among tokens, so that the words in
a string, a comment or a quoted name are never taken for it. SQL that is valid without it keeps its meaning: an alias
`lineage` before the ON of a join stays an alias.   [Zhang 2007, §4.3, variable granularity]

The tables that the expressions mean are found in `rewrites.lineage_on`, and `rewrites.granules` makes granules of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.lexing import Token, blank, position_at, with_depth
from forward_lineage.frontend.parsing import read_fragment, read_tree
from rewrites.granules import Granules
from rewrites.rules.base_tables import read_from
from udafs.errors import WrongSqlError

_ENDS_A_RELATION = {"ON", "USING", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SELECT", "FROM", "WINDOW", "QUALIFY"}
_LAST_CLAUSE = "LINEAGE ON is the last clause of a statement; each item is an expression over one base table's columns."


@dataclass(frozen=True)
class GranuleDictionary:
    """How the ids of one table are decoded under LINEAGE ON.

    Attributes:
        expressions: the expressions of the clause over this table, as SQL.
        dictionary: Spark SQL for the relation (value_1, …, value_k, __id) of the table's granules.
        values: where ids are values themselves, for each expression Spark SQL over `__id` that says which one an id
            stands for; () where it takes the dictionary, whose ids are then the numbers from 0.

    """

    expressions: tuple[str, ...]
    dictionary: str
    values: tuple[str, ...] = ()


def dictionary_of(granules: Granules) -> GranuleDictionary:
    """Return what decodes the ids of some granules, as text."""
    expressions = tuple(print_sql(expression) for expression in granules.expressions)
    source = read_from(granules.table, read_fragment)
    values = tuple(print_sql(value) for value in granules.values())
    return GranuleDictionary(expressions, print_sql(granules.dictionary(source)), values)


def described_granules(granules: Mapping[str, GranuleDictionary]) -> dict[str, Any]:
    """Return what the metadata of `DL` keeps of how ids are read, by table, as JSON-able data.

    Returns:
        of each table its ``expressions``, and either a ``dictionary``, or ``values`` and ``entries``: see
        `GranuleDictionary`. A dictionary of ids with gaps has another name, so that releases that take ids for places
        in it do not read one as such.

    """
    return {table: _described(dictionary) for table, dictionary in granules.items()}


def _described(granules: GranuleDictionary) -> dict[str, Any]:
    if not granules.values:
        return {"expressions": granules.expressions, "dictionary": granules.dictionary}
    return {"expressions": granules.expressions, "values": granules.values, "entries": granules.dictionary}


# Where the clause stands


def find_clause(sql: str, words: list[Token]) -> int | None:
    """Return which token of a statement begins its LINEAGE ON clause; None when it has none.

    Args:
        sql: the user's text.
        words: its tokens, without blanks and comments.

    Raises:
        WrongSqlError: nothing stands before it, or LINEAGE may as well be the alias of a relation that is joined.

    """
    for index in _places(words):
        if index == 0:
            at = position_at(sql, words[0].start)
            raise WrongSqlError("LINEAGE ON without a query before it", at=at, instead="Put it behind a query.")
        if not _may_be_an_alias(words[:index]):
            return index
        if not _qualifies_a_column(words[index:]):
            raise WrongSqlError(
                "LINEAGE ON after a join without a condition: LINEAGE could also be the alias of the joined table",
                at=position_at(sql, words[index].start),
                instead="Write AS LINEAGE if it is the alias; else give the join a condition, or write CROSS JOIN.",
            )
    return None


def _places(words: list[Token]) -> Iterator[int]:
    """Where LINEAGE ON stands outside all brackets, and the word before does not make LINEAGE a name."""
    places = [i for i, token in enumerate(words[:-1]) if token.word == "LINEAGE" and words[i + 1].word == "ON"]
    depths = [depth for _, depth in with_depth(words)] if places else []
    for index in places:
        a_name = index > 0 and (words[index - 1].word == "AS" or words[index - 1].text == ".")
        if depths[index] == 0 and not a_name:
            yield index


def _qualifies_a_column(words: list[Token]) -> bool:
    return any(a.word == "LINEAGE" and b.text == "." for a, b in itertools.pairwise(words))


def _may_be_an_alias(before: list[Token]) -> bool:
    """Whether a word after these tokens may be the alias of a relation that was just joined and may take an ON."""
    depth = 0
    relation: list[str] = []
    for index in range(len(before) - 1, -1, -1):
        token = before[index]
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0 or (depth == 0 and (token.word in _ENDS_A_RELATION or token.text == ",")):
            return False
        if depth == 0 and token.word == "JOIN":
            side = {t.word for t in before[max(0, index - 3) : index]}
            return not side & {"CROSS", "NATURAL"} and _has_no_alias(relation[::-1])
        if depth == 0 or token.text == ")":
            relation.append("(" if token.text == "(" else token.text)
    return False


def _has_no_alias(relation: list[str]) -> bool:
    # name.name, name(…), (…), LATERAL (…): two names side by side would be a relation and its alias.
    names = [text for text in relation if text.upper() not in ("LATERAL", "TABLESAMPLE", "AS")]
    pairs = itertools.pairwise(names)
    return "AS" not in map(str.upper, relation) and not any(a not in ".(" and b not in ".()" for a, b in pairs)


# What it lists


def read_clause(sql: str, readable: str, clause: list[Token]) -> tuple[exp.Expr, ...]:
    """Return the expressions of a clause.

    Args:
        sql: the user's text.
        readable: the same with comments blanked out.
        clause: the tokens of the clause, from LINEAGE on.

    Raises:
        WrongSqlError: there is none, or something else than expressions over columns.

    """
    listed = clause[2:]
    if not listed:
        raise WrongSqlError(
            "LINEAGE ON without an expression",
            at=position_at(sql, clause[0].start),
            instead="Name columns of base tables, or write LINEAGE ON () to trace nothing.",
        )
    if is_one_group(listed) and listed[1].word not in ("SELECT", "WITH"):
        listed = listed[1:-1]
    return tuple(_expression(sql, readable, item) for item in items_of(sql, listed, "LINEAGE ON")) if listed else ()


def is_one_group(tokens: list[Token]) -> bool:
    """Whether the first token is a parenthesis that the last one closes."""
    inside = [depth for _, depth in with_depth(tokens)][1:-1]
    return bool(tokens) and tokens[0].text == "(" and tokens[-1].text == ")" and all(inside)


def items_of(sql: str, listed: list[Token], called: str) -> list[list[Token]]:
    """Return the tokens of each item of a list, which has commas between its items.

    Raises:
        WrongSqlError: an item is empty; `called` is what the list is.

    """
    items: list[list[Token]] = [[]]
    for token, depth in with_depth(listed):
        if token.text == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    if not all(items):
        what = f"{called} with an empty place in its list"
        raise WrongSqlError(what, at=position_at(sql, listed[0].start), instead="Leave out the comma.")
    return items


def _expression(sql: str, readable: str, item: list[Token]) -> exp.Expr:
    start, end = item[0].start, item[-1].end
    try:
        tree = read_tree(sql, blank(readable[:start]) + readable[start:end], exp.Condition)
    except WrongSqlError as error:
        raise WrongSqlError(error.what, at=error.at, instead=_LAST_CLAUSE) from None
    if tree.find(exp.Placeholder, exp.Parameter):
        raise WrongSqlError(
            f"LINEAGE ON with a parameter, in `{sql[start:end]}`: it says what ids mean as long as they are kept",
            at=position_at(sql, start),
            instead="Write the value itself.",
        )
    if isinstance(tree, exp.Star | exp.Tuple | exp.Alias) or tree.find(exp.Query):
        raise WrongSqlError(
            f"LINEAGE ON cannot take `{sql[start:end]}`",
            at=position_at(sql, start),
            instead="Each item is an expression over the columns of one base table.",
        )
    return tree
