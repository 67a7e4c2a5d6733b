"""The paper's own figures, to be printed beside ours."""

from __future__ import annotations

TABLE_9: dict[str, tuple[int, int, int]] = {
    "q1": (14_898, 1, 14_898),
    "q2": (14_898, 2, 29_796),
    "q3": (12_376, 3, 37_128),
    "q4": (12_376, 4, 49_504),
    "q5": (130, 11_248, 1_462_254),
    "q6": (121, 2_034, 246_156),
    "q7": (3_293, 405, 1_335_824),
    "q8": (7_608, 946, 1_343_557),
}
"""Rows, average and total lineage size of each query.   [Zhang 2007, Table 9]"""
