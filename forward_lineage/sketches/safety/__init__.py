"""The sketches that give the answer of all rows, proven; pure, no Spark.   [Niu 2021, §6 and §7]"""
