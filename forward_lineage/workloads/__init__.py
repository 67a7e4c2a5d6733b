"""Questions that are known beforehand: what they need is captured, partitioned or added up when a result is saved."""
