"""Views over a join: which is saved, and how views are over it then."""

from __future__ import annotations

import pytest

from forward_lineage.views.joined import over_join
from udafs.errors import LineageError

FROM = "FROM sales AS s JOIN shops AS o ON s.shop = o.id"


def test_a_join_is_saved_with_the_columns_that_views_need() -> None:
    joined = over_join(
        {
            "regions": f"SELECT o.region, count(*) AS n, sum(s.amount) {FROM} GROUP BY o.region ORDER BY n",
            "names": f"SELECT o.name, count(*) AS n {FROM} WHERE s.name <> 'x' AND big GROUP BY 1",
        }
    )
    assert joined is not None and joined.tables == ("sales", "shops")
    assert joined.sql == (
        "SELECT `o`.`region` AS `region`, `s`.`amount` AS `amount`, `o`.`name` AS `o_name`, `big` AS `big`, "
        "`s`.`name` AS `s_name` FROM sales AS s JOIN shops AS o ON s.shop = o.id"
    )
    assert joined.views == {
        "regions": f"SELECT `region` AS `region`, count(*) AS n, sum(`amount`) AS `sum(amount)` FROM {joined.name} "
        "GROUP BY `region` ORDER BY n",
        "names": f"SELECT `o_name` AS `name`, count(*) AS n FROM {joined.name} "
        "WHERE `s_name` <> 'x' AND `big` GROUP BY 1",
    }
    assert joined.name.startswith("joined_sales_shops_")


def test_without_a_join_there_is_none() -> None:
    assert over_join({"a": "SELECT item, count(*) FROM sales GROUP BY item", "b": "saved"}) is None


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("SELECT item, count(*) FROM sales GROUP BY item", "view b is over something else than a"),
        ("SELECT x, count(*) FROM sales JOIN other USING (x) GROUP BY x", "view b is over something else than a"),
        (f"SELECT year(s.day) AS day, count(*) {FROM} GROUP BY day", "GROUP BY day, an alias that may be a column"),
    ],
)
def test_what_is_refused(other: str, says: str) -> None:
    with pytest.raises(LineageError, match=says):
        over_join({"a": f"SELECT o.region, count(*) AS n {FROM} GROUP BY o.region", "b": other})


def test_only_tables_are_joined() -> None:
    with pytest.raises(LineageError, match="joins something else than tables"):
        over_join({"a": "SELECT x, count(*) FROM sales JOIN (SELECT 1 AS x) USING (x) GROUP BY x"})
