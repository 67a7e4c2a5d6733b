"""Questions to saved results, answered in this process and not by Spark, wherever the answer is Spark's.

The graph of results, their lineage and their rows are files, and many tables are, too. A condition, a type or a table
whose answer may differ from Spark's raises `NeedsSpark`: the caller then asks Spark. Tables are compared with their
registration as strictly as there.
"""
