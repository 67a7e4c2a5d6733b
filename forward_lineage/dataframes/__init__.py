"""The second door: DataFrames, which are written as SQL, so that all that holds for SQL holds for them."""

from forward_lineage.dataframes.written import Frames

__all__ = ["Frames"]
