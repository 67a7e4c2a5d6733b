"""Where sets are copied and where they are kept apart: what tables say of their rows decides, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from sqlglot import exp

from rewrites.driver import RewrittenQuery, rewrite
from rewrites.environment import Semantics
from rewrites.options import Options
from rewrites.row_estimates import Derived
from rewrites.tables import BaseTable, ColumnFacts
from tests.rewrites.plain_tables import PlainTables, read


@dataclass(frozen=True)
class Told:
    """Statistics as a test tells them: the number of different values of each column."""

    rows: int
    values: dict[str, float] = field(default_factory=dict)

    def column(self, name: str) -> ColumnFacts | None:
        return Derived(self.values[name]) if name in self.values else None

    def distinct(self, names: Sequence[str]) -> float | None:
        known = [self.values[name] for name in names if name in self.values]
        found = 1.0
        for each in known:
            found *= each
        return min(found, self.rows) if known else None


class Sized(PlainTables):
    """`sales` has three million rows, `customers` 100,000, `days` 1,800; `strange` has not been counted."""

    def __init__(self) -> None:
        super().__init__()
        sales = Told(3_000_000, {"customer": 100_000, "day": 1_800, "shop": 12, "ticket": 300_000})
        for name, columns, told in (
            ("sales", ("id", "customer", "day", "shop", "ticket", "amount"), sales),
            ("customers", ("customer", "name", "town"), Told(100_000, {"customer": 100_000, "town": 700})),
            ("days", ("day", "year", "month"), Told(1_800, {"day": 1_800, "year": 5, "month": 60})),
            ("strange", ("customer", "day"), None),
        ):
            self._tables[name] = BaseTable(name, columns, name, columns[0], statistics=told)


TABLES = Sized()
BY_TICKET = "(SELECT customer, ticket, sum(amount) AS a FROM sales GROUP BY customer, ticket) AS g"
BY_CUSTOMER = "(SELECT customer, sum(amount) AS a FROM sales GROUP BY customer) AS g"


def weighed(sql: str, semantics: Semantics = Semantics.DATA, *, weighs: bool = True) -> RewrittenQuery:
    query = read(sql)
    assert isinstance(query, exp.Query)
    return rewrite(query, TABLES, read, Options(semantics, weighs=weighs))


def stages(sql: str) -> int:
    return len(weighed(sql).steps) - 1


@pytest.mark.parametrize(
    "sql",
    [
        # Rows of one group meet each other once.
        "SELECT * FROM (SELECT count(*) FROM strange WHERE day < 3) AS a, (SELECT count(*) FROM strange) AS b",
        # A ticket is of one customer.
        f"SELECT name, a FROM {BY_TICKET} JOIN customers AS c ON g.customer = c.customer",
        f"SELECT name, a FROM customers AS c LEFT JOIN {BY_CUSTOMER} USING (customer)",
        # Few rows are left, and whose they are is known.
        f"SELECT name, a FROM {BY_CUSTOMER.replace('sales', 'sales JOIN days USING (day) WHERE month = 7')}, customers"
        " WHERE customers.customer = g.customer AND town = 'x'",
        # A window over a few groups.
        "SELECT shop, sum(sum(amount)) OVER (PARTITION BY shop) AS s FROM sales JOIN days ON sales.day = days.day"
        " WHERE month = 3 AND year = 2000 GROUP BY shop, sales.day",
        # Years are few in days, and groups are of one: an equality takes its share.
        "WITH y AS (SELECT customer, year, 's' AS way, sum(amount) AS a FROM sales JOIN days USING (day)"
        " GROUP BY customer, year)"
        " SELECT p.customer FROM y AS p JOIN y AS q ON p.customer = q.customer AND p.year = 1 AND q.year = 2"
        " WHERE p.customer < 9",
    ],
)
def test_sets_that_few_rows_meet_are_copied(sql: str) -> None:
    found = weighed(sql)
    assert [str(step).partition(":")[0] for step in found.steps] == ["result"]
    assert "by value, as " in str(found.steps[-1])
    assert len(weighed(sql, weighs=False).steps) > 1  # by its shape it would be a stage


@pytest.mark.parametrize(
    "sql",
    [
        # Each of three million rows would get its group's quarter of a million ids.
        "SELECT s.id FROM sales AS s JOIN (SELECT shop, avg(amount) AS a FROM sales GROUP BY shop) AS g USING (shop)",
        "SELECT s.id FROM sales AS s, (SELECT avg(amount) AS a FROM sales) AS g WHERE s.amount > g.a",
        # Of a running total each row has all that came before.
        "SELECT id, sum(amount) OVER (ORDER BY id) AS r FROM sales",
        "SELECT id, sum(amount) OVER (PARTITION BY shop ORDER BY id) AS r FROM sales LIMIT 10",
        # It is not known how many rows there are, or what is equal to what.
        f"SELECT x.day FROM strange AS x JOIN {BY_CUSTOMER} ON x.customer = g.customer",
        f"SELECT c.name FROM customers AS c JOIN {BY_CUSTOMER} ON c.name = concat('c', g.customer)",
    ],
)
def test_sets_that_many_rows_may_meet_are_kept_apart(sql: str) -> None:
    assert stages(sql.replace(" LIMIT 10", "")) == 1
    if "LIMIT" in sql:  # Spark chooses the rows: see `rewrites.driver`
        assert stages(sql.replace("LIMIT 10", "ORDER BY id LIMIT 10")) == 1


def test_what_becomes_a_stage_anyway_is_one_from_the_first() -> None:
    """Few rows meet a group once, but many meet the rows that come of it: a stage inside does for both."""
    inside = f"SELECT c.town, g.a FROM customers AS c JOIN {BY_CUSTOMER} ON c.customer = g.customer"
    assert stages(inside) == 0
    found = weighed(f"SELECT s.id FROM sales AS s JOIN ({inside}) AS q ON s.amount > q.a")
    assert [step.name for step in found.steps[:-1]] == ["__stage1"]
    assert "set of ids" not in str(found.steps[-1])


def test_a_cte_is_a_stage_everywhere_or_nowhere() -> None:
    cte = "WITH g AS (SELECT customer, sum(amount) AS a FROM sales GROUP BY customer)"
    one = "SELECT c.name AS n FROM customers AS c JOIN g ON c.customer = g.customer"
    other = "SELECT s.shop AS n FROM sales AS s JOIN g ON s.amount > g.a"
    assert stages(f"{cte} {one}") == 0
    found = weighed(f"{cte} {one} UNION ALL {other}")
    assert len(found.steps) == 2
    assert "no stage" not in str(found.steps[-1])


def test_lineage_of_predicates_is_not_estimated() -> None:
    sql = (
        f"SELECT name FROM customers AS c JOIN (SELECT * FROM {BY_TICKET} WHERE EXISTS"
        " (SELECT 1 FROM strange WHERE strange.customer = g.customer)) AS g ON g.customer = c.customer"
    )
    assert len(weighed(sql).steps) == 1
    assert "not known" in str(weighed(sql, Semantics.CONTROL).steps[0])


def test_names_of_columns_may_change_on_the_way() -> None:
    renamed = f"WITH w (who, customer) AS (SELECT customer, a FROM {BY_TICKET}) SELECT b FROM w"
    assert stages(f"{renamed} JOIN customers AS c (a, b, town) ON w.who = c.a") == 0
    assert stages(f"{renamed} JOIN customers AS c (town, b, d) ON w.customer = c.d") == 1  # an amount, and a town


def test_blocks_in_blocks_are_asked_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them reads the one before twice, and has equalities that ask for its values."""
    asked: list[Sequence[str]] = []
    of_table = Told.distinct
    monkeypatch.setattr(Told, "distinct", lambda told, names: [asked.append(names), of_table(told, names)][1])
    grouped = "SELECT a.customer, max(b.amount) AS amount FROM {0} AS a JOIN {0} AS b ON a.customer = b.customer"
    level = grouped + " WHERE a.amount = 1 AND b.amount < 3 GROUP BY a.customer UNION ALL SELECT customer, 1 FROM {0}"
    ctes = [f"c{place} AS ({level.format(f'c{place - 1}' if place else 'sales')})" for place in range(8)]
    weighed(f"WITH {', '.join(ctes)} SELECT c7.customer FROM c7 JOIN customers USING (customer)")
    assert 0 < len(asked) < 1_000


def test_why_is_said() -> None:
    kept = weighed("SELECT s.id FROM sales AS s, (SELECT avg(amount) AS a FROM sales) AS g WHERE s.amount > g.a")
    said = "; by reference, as about 9,000,000,000,000 ids would be copied of 3,000,000 in 1 rows"
    assert str(kept.steps[0]).endswith(said)
    copied = weighed(f"SELECT name, a FROM {BY_TICKET} JOIN customers AS c ON g.customer = c.customer")
    said = (
        "sets of rows that meet others by value, as about 3,000,000 ids would be copied of 3,000,000 in 3,000,000 rows"
    )
    assert str(copied.steps[-1]).endswith(f"\nno stage (line 1, column 29): {said}")


def test_what_is_known_of_rows_is_no_part_of_a_table() -> None:
    table = TABLES.find(["sales"])
    assert table is not None
    assert replace(table, statistics=None) == table


def test_what_windows_see_is_copied_again_by_the_windows_above() -> None:
    """A customer's rows of a month are few; a day's rows, each with those of its customer, are many."""
    of_customers = (
        "SELECT day, sum(amount) OVER (PARTITION BY customer) AS s FROM sales JOIN days USING (day) WHERE month = 7"
    )
    assert stages(of_customers) == 0
    assert stages(f"SELECT s, sum(s) OVER (PARTITION BY day) AS z FROM ({of_customers})") == 2
