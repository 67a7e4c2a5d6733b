"""Cells of a notebook: what each reads and sets, and which of them use values that are out of date.

Pure: it knows neither IPython nor Spark.  [Macke 2021, chapter 7]

- `free_names`: names that a function reads from outside of itself.
- `cell_flow`: from the text of a cell, which names are live and dead in it, and what each name that it sets comes from.
- `runtime_values`: names that a call reads on, found in the values that there are.
- `value_prints`: whether a value is still what it was, in bounded time.
- `symbols`: names with times and parents, and which of them are stale.
- `highlights`: stale, fresh and refresher cells, and in which order to run them again.
"""
