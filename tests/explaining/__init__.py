"""Are the reasons that `compare` and `why_not` give the reasons? Judged by SQLite, which knows nothing of lineage.

Tables, edits and queries are generated (`cases`). `sums` tries the arithmetic alone, without Spark, by the thousand.
Parts must add up to the difference, and undoing the named changes must give the old row back. `campaign` does the same
from end to end. It also asks SQLite how many rows arrive and get past at each step that `why_not` names.

    python -m tests.explaining sums --cases 2000
    python -m tests.explaining compare --cases 2000
    python -m tests.explaining why-not --cases 2000
"""
