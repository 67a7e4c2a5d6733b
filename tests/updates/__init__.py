"""Saved results after edits: what `update` leaves must be what a full run gives, rows and lineage.

The judge is the interpreter of `tests/oracle`, which knows nothing of saving, of ids or of updates.

| module | job |
|---|---|
| `tables` | the oracle's three tables as files and copies, edited and registered again |
| `queries` | small queries with every clause that a proof looks at |
| `rules` | the rules alone, without Spark: `python -m tests.updates.rules` |
| `campaign` | random queries, saved on top of each other; random edits; the verdict on each result |
| `spoiled` | rules that are disabled on purpose, which a campaign must catch |

    python -m tests.updates --cases 1000          # results × edits; --seed N begins elsewhere
    python -m tests.updates --cases 300 --spoil   # each rule disabled, too: all must be caught
    python -m tests.updates --cases 10000 --state campaign.json     # may be stopped, and goes on from there
"""
