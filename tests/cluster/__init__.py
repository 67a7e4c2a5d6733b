"""A standalone cluster of Spark's own classes: a master and two workers, and what happens when parts of it die."""
