"""TPC-DS, which nobody tuned for: 24 tables and 99 queries, made by DuckDB's extension and kept outside of git.

    folder = generate(scale=0.01)          # data.py: <table>.parquet, made once
    text = query(folder, "q12")            # texts.py: in Spark's dialect

The texts come from the extension, too, so there is none in this folder: it has the helpers that make and read them.
"""
