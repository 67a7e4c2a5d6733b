"""Safety of sketches beside brute force: random queries, tables, attributes, partitions.

`python -m tests.sketches_brute --cases 10000 --seed 1` judges as many cases as one has time for.
"""
