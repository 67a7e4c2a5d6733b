"""An independent judge of lineage: annotated relations, interpreted as naively as possible.

Nothing here imports `rewrites`; only the comparison test imports the public API of `forward_lineage`.

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
| `laws`, `law_trials` | queries written in another way; both ways on Spark |
| `blocks` | a hundred cases that are judged together, and what came out |
| `campaign`, `session` | thousands of them, in processes of their own, resumable: `python -m tests.oracle` |
"""
