"""Golden fixtures: one file an operator, each case executed in Spark under both semantics.

A file in `fixtures/` is a list of cases:

    === title: what the case shows
    SELECT …                      the user's SQL
    --- args                      optional: JSON, the values of :name and ? parameters
    --- rewritten                 the SQL that runs; `--- rewritten data`, `--- rewritten control` where they differ
    --- rows [in order]           value | value | table{id, …} table{…}; likewise `--- rows data`, `--- rows control`
    --- refused                   in place of the two above: the whole message

A section `--- bug` says why a case fails today. Rows and messages are written by hand, from the rule table in
docs/semantics.md; `python -m tests.golden.update` refreshes the rewritten SQL and nothing else.
"""
