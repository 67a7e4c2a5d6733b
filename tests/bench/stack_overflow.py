"""A data set shaped as Stack Overflow's, which the paper on sketches measures, for a small machine.   [Niu 2022, §9.1]

The archive has 12.5 million users, 35.9 million badges, 75.9 million comments and 48.5 million posts. Here there are as
many of each in proportion, and who wrote how much is skewed as it is there: the most active user has about a thousandth
of the rows (the paper's S-Q5 asks for users with 50 thousand comments, of 75.9 million), one user in a hundred has
four tenths. Files are written in the order of the user, as a lake clusters what is asked by user; the paper has an
index.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

TABLES = ("users", "badges", "comments", "posts")
USERS, BADGES, COMMENTS, POSTS = 12.5e6, 35.9e6, 75.9e6, 48.5e6
_DAYS = 4_000  # from 2010 to 2020
_EVEN = 100  # of the most active users have about as much each
_DRAWN = 1_000_000_007

QUERIES = {
    "S-Q1": "SELECT u_id, u_displayname, count(*) AS cnt FROM posts, users WHERE p_owneruserid = u_id"
    " GROUP BY u_id, u_displayname ORDER BY cnt DESC, u_id LIMIT 10",
    "S-Q2": "SELECT u_id, u_displayname, p_id, p_favoritecount FROM posts, users WHERE p_owneruserid = u_id"
    " ORDER BY p_favoritecount DESC, p_id LIMIT 10",
    "S-Q3": "SELECT u_id, u_displayname, count(*) AS cnt FROM comments, users WHERE c_userid = u_id"
    " GROUP BY u_id, u_displayname ORDER BY cnt DESC, u_id LIMIT 10",
    "S-Q4": "SELECT u_id, u_displayname, count(*) AS cnt FROM badges, users WHERE b_userid = u_id"
    " GROUP BY u_id, u_displayname ORDER BY cnt DESC, u_id LIMIT 10",
    "S-Q5": "SELECT u_id, u_displayname, count(*) AS cnt FROM comments, users WHERE c_userid = u_id"
    " GROUP BY u_id, u_displayname HAVING count(*) BETWEEN {low} AND {high}",
}
"""The paper's first five queries; of S-Q5 the bounds are those of the size."""
WANTED = (47_945, 52_973)
"""The bounds of S-Q5, for the whole archive."""

PAPER = {"S-Q1": 0.03, "S-Q2": 0.03, "S-Q3": 0.02, "S-Q4": 0.02, "S-Q5": 0.02}
"""Use ÷ plain at 10,000 ranges: the paper says 96.9 to 98.85 % less (§9.3), not which query has what."""


def write_tables(spark: SparkSession, folder: Path, share: float) -> None:
    """Write the four tables.

    Args:
        spark: a session.
        folder: gets a folder of Parquet files for each.
        share: how many of the archive's rows there are, from 0 to 1.

    """
    users = int(USERS * share)
    drawn = f"pmod(xxhash64(id, {{seed}}), {_DRAWN}) / {_DRAWN}D"
    user = f"CAST({_EVEN} * (pow({users / _EVEN + 1}D, {drawn}) - 1) AS BIGINT)"
    # The most active are not neighbours, as they are not in the archive.
    scattered = f"pmod({user} * 7919, {users})"
    date = f"date_add(DATE'2010-01-01', pmod(hash(id, {{date}}), {_DAYS}))"
    spark.sql(
        f"SELECT id AS u_id, concat('user ', id) AS u_displayname, CAST(pmod(hash(id), 5000) AS INT) AS u_reputation"
        f" FROM range({users})"
    ).write.parquet(str(folder / "users"))
    for table, rows, columns, owner in (
        ("badges", BADGES, "concat('badge ', pmod(id, 90)) AS b_name", "b_userid"),
        ("comments", COMMENTS, "CAST(pmod(hash(id, 5), 30) AS INT) AS c_score", "c_userid"),
        ("posts", POSTS, "CAST(pow(pmod(hash(id, 9), 99991) / 99991.0, 9) * 9000 AS INT) AS p_favoritecount",
         "p_owneruserid"),
    ):  # fmt: skip
        letter, seed = owner[0], len(table)
        spark.sql(
            f"SELECT id AS {letter}_id, {scattered.format(seed=seed)} AS {owner},"
            f" {date.format(date=seed + 1)} AS {letter}_creationdate, {columns} FROM range({int(rows * share)})"
        ).sort(owner).write.option("parquet.block.size", 16 << 20).parquet(str(folder / table))
