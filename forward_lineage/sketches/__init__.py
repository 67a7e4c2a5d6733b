"""Sketches: which ranges of a column hold all that a query needs.   [Niu 2021]"""
