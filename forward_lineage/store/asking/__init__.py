"""Questions to saved results: backward, forward, impact, staleness, through every step of a pipeline."""
