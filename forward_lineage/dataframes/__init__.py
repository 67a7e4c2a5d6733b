"""The second door: DataFrames, which are written as SQL, so that all that holds for SQL holds for them."""
