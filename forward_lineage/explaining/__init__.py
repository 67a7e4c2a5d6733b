"""Why a saved result changed between two versions, and why a row is missing from it. docs/why.md tells both.

`compare` matches rows of two versions, and attributes differences of sums to base rows. `why_not` follows rows through
the steps of a query to the one that kept them out.
"""
