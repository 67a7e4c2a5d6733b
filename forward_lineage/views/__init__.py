"""Linked views: several charts over the same base rows; a brush in one updates all others, without a Spark job.

A view is a lineage relation between its bars and the base rows, kept as dense arrays: which bar is a row in, which rows
are in a bar [Psallidas and Wu 2018, §3.1, §6.5.1]. Nothing here but `capture`, `saved` and `opening` knows Spark.

The engine is numpy alone. Measured on 24M rows, two cores: counting by (place, day), 2.3M cells, takes `numpy.add.at`
2 ns a row, DuckDB 126, Polars 400; by one view of 8 to 7,762 bars numpy 2 to 3, DuckDB 7 and more. Bars are small
integers here, so nothing has to be hashed, and hashing is what the others do well.
"""
