"""The histograms closest to a target, from a part of the rows: HistSim and FastMatch.   [Macke 2021, chapter 5]

distance_tests (pure)  block_reading ─► histsim ─► matcher ─► matches
"""
