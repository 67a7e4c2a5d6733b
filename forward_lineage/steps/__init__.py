"""Steps of an iterative analysis: which must run again, which results are worth keeping. Pure; knows no Spark.

- `step_graph`: steps, what they read, what they cost.
- `execution_plan`: load, compute or prune each step, at the least total cost.
- `keeping`: which results are kept within a budget, and which go.
- `identity`: what a step's result depends on, as a digest; or why that cannot be told.
"""
