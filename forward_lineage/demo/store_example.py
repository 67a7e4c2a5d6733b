"""The store example of the paper: three tables and two of its queries.   [Zhang 2007, Tables 1-3, §2.1, §2.2]"""

from __future__ import annotations

from pyspark.sql import SparkSession

from forward_lineage.session import ForwardLineage

# The third store chain is "Macy's".
STORE = """
SELECT * FROM VALUES
  (1, 'Target', 'Palo Alto', 'CA'), (2, 'Target', 'Albany', 'NY'),
  (3, 'Macy\\'s', 'San Francisco', 'CA'), (4, 'Macy\\'s', 'New York City', 'NY') AS store(s_id, s_name, city, state)
"""
ITEM = """
SELECT * FROM VALUES
  (1, 'binder', 'stationery'), (2, 'pencil', 'stationery'), (3, 'shirt', 'clothing'), (4, 'pants', 'clothing'),
  (5, 'pot', 'kitchenware') AS item(i_id, i_name, category)
"""
SALES = """
SELECT * FROM VALUES
  (1, 1, 1, 4, 1000), (2, 1, 2, 1, 3000), (3, 1, 4, 30, 600), (4, 2, 1, 5, 800), (5, 2, 2, 2, 2000), (6, 2, 4, 35, 800),
  (7, 3, 3, 45, 1500), (8, 3, 4, 60, 600), (9, 4, 3, 50, 2100), (10, 4, 4, 70, 1200), (11, 4, 5, 30, 200)
  AS sales(t_id, s_id, i_id, price, num)
"""
Q1 = """SELECT d.s_name, i.i_name
FROM store d, item i, sales s
WHERE d.s_id = s.s_id
  AND i.i_id = s.i_id
  AND i.category = 'stationery'"""
Q4 = """SELECT temp_tab.s_name, sum(total) AS units
FROM (
  SELECT d.s_name, i.category, sum(s.num) AS total
  FROM item i, store d, sales s
  WHERE s.s_id = d.s_id AND i.i_id = s.i_id
  GROUP BY d.s_name, i.category
  HAVING total > 5000
) AS temp_tab
GROUP BY temp_tab.s_name"""


def register_store_example(spark: SparkSession, lineage: ForwardLineage) -> None:
    """Make the paper's three tables as temporary views, identified by their keys."""
    for name, rows, key in (("store", STORE, "s_id"), ("item", ITEM, "i_id"), ("sales", SALES, "t_id")):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows}")
        lineage.register(name, key=key)
