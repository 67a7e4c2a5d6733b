"""An independent judge of lineage: annotated relations, interpreted as naively as possible.

Nothing here imports `rewrites`; only the comparison test imports the public API of `forward_lineage`, and
what is done next with frames is that of `forward-lineage check --continue`.

| module | job |
|---|---|
| `algebra` | the query tree: frozen dataclasses |
| `printing` | tree → Spark SQL text |
| `scoping` | which column a name means |
| `expressions` | values of expressions in three-valued logic |
| `interpreter` | tree → annotated relation; its header states the semantics |
| `strategies` | Hypothesis: small tables, queries with every operator |
| `spark_answers` | what Spark answers to many tiny queries |
| `comparison` | verdicts on cases: Spark beside the interpreter |
| `stacked` | queries that stand on groups and windows, where plans are shared |
| `continuations`, `continued` | what is done next with a frame; the same of rows and lineage that are written down |
| `kinds` | types and names that the generator lacks: plain Spark's rows, and witnesses |
| `laws`, `law_trials` | queries written in another way; both ways on Spark |
| `blocks` | a hundred cases that are judged together, and what came out |
| `campaign`, `session` | thousands of them, in processes of their own, resumable: `python -m tests.oracle` |
"""
