"""Row ids people can rely on: what identifies the rows of a table, since when, and how a change is noticed.

id(t) is a non-negative BIGINT, unique within its table and stable while the table does not change [Zhang 2007, §3].
docs/row-ids.md states the contract.
"""
