"""Table formats whose rows have ids of their own: Delta row tracking, Iceberg row lineage.

`delta` and `iceberg` read a version of a table from its log; `reading` finds out how its Parquet files are read, each
row with the id that the format gives it; `provider` makes a registration of that; `versions` says if it still holds.
"""
