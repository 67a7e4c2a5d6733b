"""What a name means: in the block, further out, or nowhere."""

from __future__ import annotations

import pytest
from sqlglot import exp

from rewrites.scope import FromItem, Scope, moved_out, type_of
from rewrites.terms import Kind
from tests.rewrites.plain_tables import read
from udafs.errors import LineageError


def scope(*items: FromItem, outer: Scope | None = None) -> Scope:
    made = Scope(outer)
    made.from_items += items
    return made


def node(sql: str) -> exp.Column:
    found = read(f"SELECT {sql}").find(exp.Column)
    assert found is not None
    return found


T = FromItem("t", ("id", "k", "v"))
U = FromItem("u", ("uid", "k", "w"))
UNKNOWN = FromItem("p", None)
HALF_KNOWN = FromItem("h", ("a", None))


@pytest.mark.parametrize("sql", ["id", "t.id", "T.ID", "`id`", "u.w", "w", "k"])
def test_names_of_the_block(sql: str) -> None:
    here = scope(T, U)
    assert here.resolve(node(sql))
    assert not here.correlated


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("idd", "unknown column idd (line 1, column 8). Did you mean id or uid?"),
        ("t.w", "t has no column w (line 1, column 8). Known here: id, k, v."),
        ("x.id", "unknown relation x in x.id (line 1, column 8). Known here: t, u."),
        ("tt.id", "unknown relation tt in tt.id (line 1, column 8). Did you mean t?"),
        ("zzzzzz", "unknown column zzzzzz (line 1, column 8). Known here: id, k, uid, v, w."),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(sql: str, message: str) -> None:
    here, unknown = scope(T, U), node(sql)
    assert not here.resolve(unknown)
    with pytest.raises(LineageError) as caught:
        here.refuse_unknown(unknown)
    assert str(caught.value) == message


def test_a_name_of_an_outer_block_makes_every_block_on_the_way_correlated() -> None:
    outermost = scope(T)
    middle = scope(U, outer=outermost)
    inner = scope(FromItem("x", ("a",)), outer=middle)
    inner.resolve(node("t.id"))
    assert inner.correlated
    assert middle.correlated
    assert not outermost.correlated


def test_the_nearest_block_wins() -> None:
    outer = scope(T)
    inner = scope(U, outer=outer)
    inner.resolve(node("k"))
    assert not inner.correlated


def test_the_same_alias_further_in_hides_the_outer_one_only_where_it_has_the_column() -> None:
    inner = scope(FromItem("t", ("a",)), outer=scope(T))
    inner.resolve(node("t.a"))
    assert not inner.correlated


def test_a_relation_whose_columns_only_spark_knows_may_have_any() -> None:
    here = scope(UNKNOWN, outer=scope(T))
    here.resolve(node("id"))
    here.resolve(node("p.anything"))
    assert not here.correlated


def test_a_column_without_a_known_name_may_be_the_one() -> None:
    assert HALF_KNOWN.has("a") is True
    assert HALF_KNOWN.has("b") is None
    assert T.has("b") is False
    assert UNKNOWN.has("b") is None


def test_a_field_of_a_struct_column_is_resolved_by_its_column() -> None:
    scope(T).resolve(node("k.city.name"))


def test_aliases_of_the_select_list_are_known() -> None:
    here = scope(T)
    here.aliases = {"total"}
    here.resolve(node("total"))
    assert not here.correlated


@pytest.mark.parametrize("sql", ["current_user", "current_date", "timestampadd(MONTH, 1, id)"])
def test_words_that_are_no_columns(sql: str) -> None:
    scope(T).resolve(node(sql))


def test_lineage_of_a_relation() -> None:
    terms = FromItem("x", ("a",), {"t": Kind.ID, "u": Kind.SET}, nullable=True).lineage()
    assert [(table, term.kind, term.nullable, term.value.sql()) for table, (term,) in terms.items()] == [
        ("t", Kind.ID, True, "x.__dl_t"),
        ("u", Kind.SET, True, "x.__dl_u"),
    ]


def test_a_relation_that_only_decided_has_no_lineage() -> None:
    assert FromItem("x", ("a",), {"t": Kind.ID}, traced=False).lineage() == {}


class TestTypes:
    """A column that is resolved knows its type, where one source may have it and says so."""

    TYPED = FromItem("a", ("id", "k"), types={"id": "bigint", "k": "string"})

    @pytest.mark.parametrize(
        ("sql", "type_name"), [("id", "bigint"), ("a.K", "string"), ("a.k.f", None), ("uid", None)]
    )
    def test_of_the_block(self, sql: str, type_name: str | None) -> None:
        found = node(sql)
        assert scope(self.TYPED, FromItem("u", ("uid",))).resolve(found)
        assert type_of(found) == type_name

    def test_of_a_block_further_out(self) -> None:
        found = node("k")
        assert scope(FromItem("u", ("uid",)), outer=scope(self.TYPED)).resolve(found)
        assert type_of(found) == type_of(moved_out(found)) == "string"

    def test_two_sources_may_have_it(self) -> None:
        found = node("k")
        assert scope(self.TYPED, T).resolve(found)
        assert type_of(found) is None
