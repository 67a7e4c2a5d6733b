"""Questions to saved results, answered in this process and not by Spark, wherever the answer is Spark's.

The graph of results, their lineage and their rows are files, and so are many tables. What is not certain to be the same
here, a condition, a type, a table that Spark has to be asked about, raises `NeedsSpark`: the caller then asks Spark.
Whether tables are what was registered is asked as strictly as there.
"""
