"""The queries of tpch_queries/ written with the DataFrame API, a function each.

A predicate's subquery is a subquery here, too (`exists`, `scalar`, `isin` of a DataFrame), so that lineage under
"control" can be equal to that of the SQL. What has `outer()` in it is analysed where the subquery stands, so that
PySpark takes `select` of an aggregate behind it, and not `agg`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

import tpch_queries
from tests.forward_lineage.dataframes.tpch_frames import chain, from_q12, to_q11
from tests.forward_lineage.dataframes.tpch_frames.terms import Tables

_MADE = {**vars(to_q11), **vars(from_q12), **vars(chain)}

#: By name of the query; each takes a function that gives a table by its name.
FRAMES: Mapping[str, Callable[[Tables], DataFrame]] = {name: _MADE[name] for name in tpch_queries.names()}

#: EXISTS and scalar subqueries that are DataFrames came with Spark 4.0.
WITH_SUBQUERIES = ("q2", "q4", "q11", "q15", "q17", "q20", "q21", "q22")
#: IN of a DataFrame came with Spark 4.1.
WITH_IN = ("q16", "q18", "q20")
