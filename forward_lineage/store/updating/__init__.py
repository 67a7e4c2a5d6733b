"""Saved results brought up to date: kept where it is proven that nothing in them changed, else computed again."""
