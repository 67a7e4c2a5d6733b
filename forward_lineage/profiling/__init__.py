"""Data profiling: which constraints hold in a table, which values violate them, and in which rows.

A violation is a group of rows, so violations and rows are a lineage relation: that of the query which finds them.
[Psallidas and Wu 2018, §6.5.2] Attributes are captured once, as a number for each row, and serve all constraints.
Nothing here but `capture` and `profiler` knows Spark.
"""
