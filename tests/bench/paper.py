"""The paper's own figures, to stand beside ours.   [Zhang 2007, §5]

The bars of its Figures 4, 5, 6 and 8 are pictures that give no numbers; what its text says about them is in `FIGURES`.
"""

from __future__ import annotations

from walmart_demo.paper import TABLE_9

__all__ = ["FIGURES", "TABLE_7", "TABLE_8", "TABLE_9"]

FIGURES = {
    "aspj": (
        "bdd costs 387 % over the original on average, 74 % without Q11; set costs 7.96 times the overhead of bdd, "
        "reverse-all 19.44 times; on Q7, Q9 and Q11 reverse-all ran out of memory; reverse-one is comparable to bdd."
    ),
    "spj": "set costs 1.7 % over the original on average, reverse-all 325 %, reverse-one 82 %.",
    "granularity": "bdd is faster than set; no reverse query could be made.",
    "walmart": (
        "bdd costs less than 15 % over the original on every query; Q2 10 %, Q3 and Q4 under 0.5 %; "
        "reverse-one up to 220 %; set is 60 % and 110 % slower than reverse-one on Q5 and Q6."
    ),
}
"""What the text says about the figure of each experiment."""

TABLE_7: dict[str, tuple[int, float, float, float]] = {
    "q3": (11_620, 4.6, 5, 0),
    "q5": (5, 4_285.8, 5, 21.54),
    "q6": (1, 114_160, 6, 33.09),
    "q7": (4, 4_397, 5, 21.83),
    "q9": (175, 6_738.1, 14, 8.87),
    "q10": (37_967, 6.3, 11, 0),
    "q11": (1_048, 32_077, 6_141, 100),
    "q15": (1, 225_955, 5, 99.99),
    "q16": (18_308, 12.06, 13, 5.09),
}
"""Rows, average lineage size, replication factor (of bits of ids, not of ids), clustering factor in percent."""

TABLE_8: dict[str, tuple[int, float, int]] = {
    "q5": (5, 394, 7_880),
    "q6": (1, 364, 1_456),
    "q7": (4, 334, 5_344),
    "q9": (175, 402, 281_400),
    "q15": (1, 91, 364),
}
"""Rows, average lineage size, bytes."""
