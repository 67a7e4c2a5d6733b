"""Table formats whose rows have ids of their own: Delta row tracking, Iceberg row lineage.

`delta` and `iceberg` read a version of a table from its log. Then `reading` finds out how its Parquet files are read,
each row with the id that the format gives it. The module `provider` makes a registration of that, and `versions` says
if it still holds.
"""
