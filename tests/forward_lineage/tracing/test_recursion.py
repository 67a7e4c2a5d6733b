"""WITH RECURSIVE, compared with recursion that is unrolled by hand, level by level, over rows that carry their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, NotTracedError
from tests.forward_lineage.conftest import rows_with_lineage
from tests.shared_state import drop_views
from tests.tiers import every_day

pytestmark = pytest.mark.since("4.1", "WITH RECURSIVE")

STAFF = [
    (1, None, "ann", 90),
    (2, 1, "bob", 70),
    (3, 1, "cat", 60),
    (4, 2, "dan", 50),
    (5, 4, "eve", 40),
    (6, 2, "bob", 70),
]
PARTS = [
    (11, "car", "wheel", 4),
    (12, "car", "engine", 1),
    (13, "wheel", "bolt", 5),
    (14, "engine", "bolt", 20),
    (15, "bolt", "steel", 2),
    (16, "bike", "wheel", 2),
]
EDGES = [
    (21, "a", "b", 3),
    (22, "b", "c", 4),
    (23, "a", "c", 9),
    (24, "c", "d", 1),
    (25, "c", "a", 2),
    (26, "b", "d", None),
]
PRICES = [(31, "steel", 7), (32, "bolt", 1), (33, "ann", 5), (34, "dan", 6), (35, "dan", 8), (36, "c", 2)]
TABLES = {
    "staff": ("id INT, boss INT, name STRING, pay INT", STAFF),
    "parts": ("id INT, whole STRING, part STRING, n INT", PARTS),
    "edges": ("id INT, a STRING, b STRING, w INT", EDGES),
    "prices": ("id INT, thing STRING, price INT", PRICES),
}


class Row(NamedTuple):
    """A row and the base rows that it is made of."""

    values: tuple[Any, ...]
    ids: frozenset[tuple[str, int]] = frozenset()


Rows = list[Row]


def table(name: str) -> Rows:
    return [Row(values, frozenset({(name, values[0])})) for values in TABLES[name][1]]


def made(rows: Rows, values: Callable[[Any], tuple[Any, ...]], where: Callable[[Any], bool] = lambda row: True) -> Rows:
    """SELECT values FROM rows WHERE …"""
    return [Row(values(row.values), row.ids) for row in rows if where(row.values)]


def joined(left: Rows, right: Rows, on: Callable[[Any, Any], bool], outer: int = 0) -> Rows:
    """The rows of a join, with the pair as values; `outer`: how many NULLs stand for a row that is not there."""
    found = []
    for one, other in product(left, right):
        if on(one.values, other.values):
            found.append(Row((one.values, other.values), one.ids | other.ids))
    if outer:
        found += [
            Row((one.values, (None,) * outer), one.ids)
            for one in left
            if not any(on(one.values, each.values) for each in right)
        ]
    return found


def grouped(
    rows: Rows, key: Callable[[Any], tuple[Any, ...]], value: Callable[[Sequence[Any]], tuple[Any, ...]]
) -> Rows:
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(key(row.values), []).append(row)
    return [
        Row((*by, *value([row.values for row in group])), frozenset().union(*(row.ids for row in group)))
        for by, group in groups.items()
    ]


def levels(anchor: Rows, step: Callable[[Rows], Rows]) -> Rows:
    """All rows of a recursion."""
    every, last = list(anchor), anchor
    while last:
        last = step(last)
        every += last
    return every


def plus(row: Row, more: Rows) -> Row:
    return Row(row.values, row.ids.union(*(each.ids for each in more)))


class Shape(NamedTuple):
    """A statement, its rows unrolled; under control those that are made of more, or whether it is refused."""

    sql: str
    rows: Callable[[], Rows]
    control: Callable[[], Rows] | None = None
    refused: bool = False


def below(staff: Rows | None = None) -> Rows:
    """Everybody below somebody without a boss, and how far."""
    people = table("staff") if staff is None else staff
    return levels(
        made(people, lambda s: (s[0], s[2], 0), lambda s: s[1] is None),
        lambda last: made(joined(last, people, lambda t, s: s[1] == t[0]), lambda p: (p[1][0], p[1][2], p[0][2] + 1)),
    )


TREE = """WITH RECURSIVE tree AS (SELECT id, name, 0 AS depth FROM staff WHERE boss IS NULL
    UNION ALL SELECT s.id, s.name, tree.depth + 1 FROM tree JOIN staff s ON s.boss = tree.id) """
PATHS = """WITH RECURSIVE paths(a, b, hops) AS (SELECT a, b, 1 FROM edges
    UNION ALL SELECT paths.a, edges.b, hops + 1 FROM paths JOIN edges ON edges.a = paths.b WHERE hops < 3) """


def paths() -> Rows:
    return levels(
        made(table("edges"), lambda e: (e[1], e[2], 1)),
        lambda last: made(
            joined(last, table("edges"), lambda p, e: e[1] == p[1] and p[2] < 3),
            lambda p: (p[0][0], p[1][2], p[0][2] + 1),
        ),
    )


def explosion() -> Rows:
    return levels(
        made(table("parts"), lambda p: (p[2], p[3]), lambda p: p[1] == "car"),
        lambda last: made(
            joined(last, table("parts"), lambda t, p: p[1] == t[0]), lambda p: (p[1][2], p[0][1] * p[1][3])
        ),
    )


EXPLOSION = """WITH RECURSIVE needs AS (SELECT part, n FROM parts WHERE whole = 'car'
    UNION ALL SELECT parts.part, needs.n * parts.n FROM needs JOIN parts ON parts.whole = needs.part) """


def paid(*, control: bool) -> Rows:
    """Who is below whom as long as there is a price for the name of the one above."""
    people, prices = table("staff"), table("prices")

    def asked(rows: Rows) -> Rows:
        found = [(row, [p for p in prices if p.values[1] == row.values[1]]) for row in rows]
        return [plus(row, matches) if control else row for row, matches in found if matches]

    return levels(
        made(people, lambda s: (s[0], s[2]), lambda s: s[1] in (None, 2)),
        lambda last: made(joined(asked(last), people, lambda t, s: s[1] == t[0]), lambda p: (p[1][0], p[1][2])),
    )


def counting() -> Rows:
    return levels([Row((1,))], lambda last: made(last, lambda n: (n[0] + 1,), lambda n: n[0] < 5))


NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5) "

SHAPES: dict[str, Shape] = {
    "hierarchy": Shape(TREE + "SELECT * FROM tree", below),
    "star in the step": Shape(
        "WITH RECURSIVE up AS (SELECT * FROM staff WHERE id = 5 UNION ALL SELECT s.* FROM up, staff s WHERE s.id"
        " = up.boss) SELECT * FROM up",
        lambda: levels(
            made(table("staff"), lambda s: s, lambda s: s[0] == 5),
            lambda last: made(joined(last, table("staff"), lambda u, s: s[0] == u[1]), lambda p: p[1]),
        ),
    ),
    "filter above": Shape(
        TREE + "SELECT name FROM tree WHERE depth > 1", lambda: made(below(), lambda t: (t[1],), lambda t: t[2] > 1)
    ),
    "aggregate above": Shape(
        TREE + "SELECT depth, count(*) AS n, max(name) AS last FROM tree GROUP BY depth",
        lambda: grouped(below(), lambda t: (t[2],), lambda group: (len(group), max(t[1] for t in group))),
    ),
    "aggregate of all": Shape(
        TREE + "SELECT count(*) AS n FROM tree", lambda: grouped(below(), lambda t: (), lambda group: (len(group),))
    ),
    "DISTINCT above": Shape(
        TREE + "SELECT DISTINCT name FROM tree", lambda: grouped(below(), lambda t: (t[1],), lambda group: ())
    ),
    "joined with itself": Shape(
        TREE + "SELECT x.name, y.name AS other FROM tree x JOIN tree y ON x.depth = y.depth AND x.id < y.id",
        lambda: made(joined(below(), below(), lambda x, y: x[2] == y[2] and x[0] < y[0]), lambda p: (p[0][1], p[1][1])),
    ),
    "joined with a table above": Shape(
        TREE + "SELECT tree.name, price FROM tree JOIN prices ON thing = name",
        lambda: made(joined(below(), table("prices"), lambda t, p: p[1] == t[1]), lambda p: (p[0][1], p[1][2])),
    ),
    "joined with groups above": Shape(
        TREE + "SELECT tree.id, dear FROM tree JOIN (SELECT thing, max(price) AS dear FROM prices GROUP BY thing) ON"
        " thing = name",
        lambda: made(
            joined(
                below(),
                grouped(table("prices"), lambda p: (p[1],), lambda g: (max(p[2] for p in g),)),
                lambda t, g: g[0] == t[1],
            ),
            lambda p: (p[0][0], p[1][1]),
        ),
    ),
    "a running total above": Shape(
        TREE + "SELECT id, sum(depth) OVER (ORDER BY id) AS s FROM tree",
        lambda: [
            plus(Row((row.values[0], sum(t.values[2] for t in before)), row.ids), before)
            for row in below()
            for before in [[t for t in below() if t.values[0] <= row.values[0]]]
        ],
    ),
    "paths of a graph with cycles": Shape(PATHS + "SELECT * FROM paths", paths),
    "the lightest path": Shape(
        PATHS + "SELECT a, b, min(hops) AS hops FROM paths GROUP BY a, b",
        lambda: grouped(paths(), lambda p: p[:2], lambda group: (min(p[2] for p in group),)),
    ),
    "a path that is kept in an array": Shape(
        "WITH RECURSIVE walks AS (SELECT b AS at, array(a, b) AS seen FROM edges WHERE a = 'a' UNION ALL SELECT"
        " edges.b,"
        " array_append(seen, edges.b) FROM walks JOIN edges ON edges.a = at AND NOT array_contains(seen, edges.b))"
        " SELECT at, array_join(seen, '') AS seen FROM walks",
        lambda: made(
            levels(
                made(table("edges"), lambda e: (e[2], (e[1], e[2])), lambda e: e[1] == "a"),
                lambda last: made(
                    joined(last, table("edges"), lambda w, e: e[1] == w[0] and e[2] not in w[1]),
                    lambda p: (p[1][2], (*p[0][1], p[1][2])),
                ),
            ),
            lambda w: (w[0], "".join(w[1])),
        ),
    ),
    "bill of materials": Shape(EXPLOSION + "SELECT * FROM needs", explosion),
    "sums of a bill of materials": Shape(
        EXPLOSION + "SELECT part, sum(n) AS n FROM needs GROUP BY part HAVING sum(n) > 1",
        lambda: [
            r for r in grouped(explosion(), lambda t: t[:1], lambda g: (sum(t[1] for t in g),)) if r.values[1] > 1
        ],
    ),
    "two tables in the step": Shape(
        "WITH RECURSIVE c AS (SELECT part, n, 0 AS cost FROM parts WHERE whole = 'car' UNION ALL SELECT p.part,"
        " c.n * p.n, price"
        " FROM c JOIN parts p ON p.whole = c.part LEFT JOIN prices ON thing = p.part) SELECT * FROM c",
        lambda: levels(
            made(table("parts"), lambda p: (p[2], p[3], 0), lambda p: p[1] == "car"),
            lambda last: made(
                joined(
                    made(
                        joined(last, table("parts"), lambda t, p: p[1] == t[0]), lambda p: (p[1][2], p[0][1] * p[1][3])
                    ),
                    table("prices"),
                    lambda t, q: q[1] == t[0],
                    outer=3,
                ),
                lambda p: (*p[0], p[1][2]),
            ),
        ),
        refused=True,  # the price of a part may be another one, and the rules keep no names of columns through a union
    ),
    "another table in the anchor": Shape(
        "WITH RECURSIVE r(x) AS (SELECT thing FROM prices UNION ALL SELECT part FROM r JOIN parts ON whole = x)"
        " SELECT x FROM r",
        lambda: levels(
            made(table("prices"), lambda p: (p[1],)),
            lambda last: made(joined(last, table("parts"), lambda r, p: p[1] == r[0]), lambda p: (p[1][2],)),
        ),
    ),
    "no table in the anchor": Shape(
        "WITH RECURSIVE r(x, n) AS (SELECT 'car', 1L UNION ALL SELECT part, r.n * parts.n FROM r JOIN parts ON"
        " whole = x) SELECT * FROM r",
        lambda: levels(
            [Row(("car", 1))],
            lambda last: made(
                joined(last, table("parts"), lambda r, p: p[1] == r[0]), lambda p: (p[1][2], p[0][1] * p[1][3])
            ),
        ),
    ),
    "no table in the step": Shape(
        "WITH RECURSIVE r AS (SELECT name, pay FROM staff UNION ALL SELECT name, pay - 40 FROM r WHERE pay > 40)"
        " SELECT * FROM r",
        lambda: levels(
            made(table("staff"), lambda s: s[2:]),
            lambda last: made(last, lambda r: (r[0], r[1] - 40), lambda r: r[1] > 40),
        ),
    ),
    "numbers that a table is joined with": Shape(
        NUMBERS + "SELECT n, name FROM numbers JOIN staff ON id = n",
        lambda: made(joined(counting(), table("staff"), lambda n, s: s[0] == n[0]), lambda p: (p[0][0], p[1][2])),
    ),
    "Fibonacci of a row": Shape(
        "WITH RECURSIVE f AS (SELECT 0 AS x, price AS y FROM prices WHERE id < 33 UNION ALL SELECT y, x + y FROM"
        " f WHERE y < 30) SELECT * FROM f",
        lambda: levels(
            made(table("prices"), lambda p: (0, p[2]), lambda p: p[0] < 33),
            lambda last: made(last, lambda f: (f[1], f[0] + f[1]), lambda f: f[1] < 30),
        ),
    ),
    "a recursion that reads another": Shape(
        NUMBERS.rstrip()
        + ", r AS (SELECT id, 1 AS n FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, r.n + 1 FROM r JOIN numbers"
        " ON numbers.n = r.n + 1 JOIN staff s ON s.boss = r.id) SELECT * FROM r",
        lambda: made(below(), lambda t: (t[0], t[2] + 1)),
    ),
    "a CTE in front": Shape(
        "WITH RECURSIVE low AS (SELECT boss, max(pay) AS pay FROM staff GROUP BY boss), r AS (SELECT id, pay"
        " FROM staff WHERE boss IS NULL"
        " UNION ALL SELECT s.id, low.pay FROM r JOIN staff s ON s.boss = r.id JOIN low ON low.boss = r.id)"
        " SELECT * FROM r",
        lambda: levels(
            made(table("staff"), lambda s: (s[0], s[3]), lambda s: s[1] is None),
            lambda last: made(
                joined(
                    joined(last, table("staff"), lambda r, s: s[1] == r[0]),
                    grouped(table("staff"), lambda s: (s[1],), lambda g: (max(s[3] for s in g),)),
                    lambda p, low: low[0] == p[0][0],
                ),
                lambda p: (p[0][1][0], p[1][1]),
            ),
        ),
        refused=True,
    ),
    "two queries that begin": Shape(
        "WITH RECURSIVE r AS (SELECT name AS x FROM staff UNION ALL SELECT whole FROM parts UNION ALL SELECT"
        " part FROM r JOIN parts ON whole = x)"
        " SELECT x FROM r",
        lambda: levels(
            [*made(table("staff"), lambda s: (s[2],)), *made(table("parts"), lambda p: (p[1],))],
            lambda last: made(joined(last, table("parts"), lambda r, p: p[1] == r[0]), lambda p: (p[1][2],)),
        ),
    ),
    "read in a set operation": Shape(
        TREE + "SELECT name FROM tree UNION SELECT thing FROM prices",
        lambda: grouped(
            [*made(below(), lambda t: (t[1],)), *made(table("prices"), lambda p: (p[1],))],
            lambda r: r,
            lambda group: (),
        ),
    ),
    "EXISTS in the step": Shape(
        "WITH RECURSIVE r AS (SELECT id, name FROM staff WHERE boss IS NULL OR boss = 2 UNION ALL SELECT s.id,"
        " s.name FROM r JOIN staff s"
        " ON s.boss = r.id WHERE EXISTS (SELECT 1 FROM prices WHERE thing = r.name)) SELECT * FROM r",
        lambda: paid(control=False),
        lambda: paid(control=True),
    ),
    "IN above": Shape(
        "SELECT thing FROM prices WHERE thing IN (" + TREE + "SELECT name FROM tree)",
        lambda: made(table("prices"), lambda p: (p[1],), lambda p: p[1] in {t.values[1] for t in below()}),
        lambda: [
            plus(Row((p.values[1],), p.ids), below())
            for p in table("prices")
            if p.values[1] in {t.values[1] for t in below()}
        ],
    ),
    "a scalar subquery of it": Shape(
        TREE + "SELECT price, (SELECT max(depth) FROM tree WHERE name = thing) AS depth FROM prices",
        lambda: [
            plus(Row((p.values[2], max((t.values[2] for t in same), default=None)), p.ids), same)
            for p in table("prices")
            for same in [[t for t in below() if t.values[1] == p.values[1]]]
        ],
    ),
}


@pytest.fixture(scope="module")
def company(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    lineage = ForwardLineage(spark, tmp_path_factory.mktemp("company") / "home")
    for name, (schema, rows) in TABLES.items():
        spark.createDataFrame(rows, schema).createOrReplaceTempView(name)
        lineage.register(name, key="id")
    yield lineage
    drop_views(spark)


def in_order(rows: Iterable[tuple[tuple[Any, ...], Mapping[str, Sequence[int]]]]) -> list[Any]:
    """Rows with the ids of each table that has some, sorted."""
    return sorted(
        ([values, sorted((name, sorted(found)) for name, found in ids.items() if found)] for values, ids in rows),
        key=repr,
    )


def unrolled(rows: Rows) -> list[Any]:
    return in_order((row.values, {name: [id_ for of, id_ in row.ids if of == name] for name in TABLES}) for row in rows)


def traced(lineage: ForwardLineage, sql: str, semantics: str) -> list[Any]:
    return in_order(rows_with_lineage(lineage.sql(sql, semantics=semantics)))


DAILY = (
    "hierarchy",
    "joined with groups above",
    "EXISTS in the step",
    "IN above",
)


@pytest.mark.parametrize(
    ("shape", "semantics"),
    every_day(
        product(SHAPES, ("data", "control")),
        lambda case: case[0] in DAILY and case[1] == ("control" if "EXISTS" in case[0] else "data"),
    ),
)
def test_each_row_is_made_of_what_it_was_derived_from(company: ForwardLineage, shape: str, semantics: str) -> None:
    sql, rows, control, _ = SHAPES[shape]
    if semantics == "control" and SHAPES[shape].refused:
        with pytest.raises(NotTracedError, match="may come in once base rows are gone"):
            company.sql(sql, semantics=semantics)
        return
    wanted = (control or rows)() if semantics == "control" else rows()
    assert traced(company, sql, semantics) == unrolled(wanted)
