"""Our own rewriting rules, spoilt one place at a time: does anything notice?

    python -m tests.mutations.rules --count 240 --seed 0

makes that many mutants of the sources in `rewrites/`, each in a process of its own, and says which survive.

| module | job |
|---|---|
| `sites` | what is changed: every place of every kind, on Python's own trees |
| `importing` | a process in which one module is a mutant |
| `probes` | texts that the rules write: of the golden fixtures, of random queries |
| `paths` | which functions of the rules a text, or a file of tests, goes through |
| `tested` | the tests of the rules, those that go through what was changed |
| `running` | a mutant's verdict: golden texts, then the tests of the rules, then texts that Spark must judge |
| `explained` | survivors that are the same program in another way, and why |
| `judging` | what Spark makes of the texts of mutants that nothing else noticed |
"""
