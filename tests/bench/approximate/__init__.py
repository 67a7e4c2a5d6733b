"""Campaigns about approximate answers: how often intervals miss, and how many rows they need."""
