"""The second door: DataFrames, whose plans are written as SQL, for which everything else holds."""

from forward_lineage.dataframes.written import sql_of

__all__ = ["sql_of"]
