"""The door for SQL clients: what comes to Spark's own parser is rewritten in a process that Spark's JVM starts.

Nobody imports this room: `python -m forward_lineage.door` is what the kernel runs (`udafs/scala/door/`).
"""
