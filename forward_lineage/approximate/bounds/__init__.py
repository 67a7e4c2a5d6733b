"""Intervals for COUNT, AVG and SUM of rows drawn without replacement; pure: numpy, no Spark, no tables.

    moments ─► hoeffding, bernstein ─► range_trim ─► means (size known, or Theorem 6.3) ─► sums
    draws ─► betting, which is valid at any time      counts      error_budget: how a probability is divided

A *bounder* gives the lower limit of a mean. The upper limit is the lower limit of the mirrored values.
"""
