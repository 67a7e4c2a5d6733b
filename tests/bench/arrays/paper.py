"""The paper's own figures, to stand beside ours.   [Zhao 2024, Table VII]"""

from __future__ import annotations

from typing import NamedTuple


class PaperSizes(NamedTuple):
    """Megabytes on disk."""

    raw: float
    parquet: float
    parquet_gzip: float
    provrc_gzip: float


TABLE_7: dict[str, PaperSizes] = {
    "negative": PaperSizes(22.66, 5.05, 4.33, 0.0103),
    "addition": PaperSizes(45.33, 10.11, 8.66, 0.0207),
    "aggregate": PaperSizes(20.55, 0.131, 0.0255, 0.0103),
    "repetition": PaperSizes(98.22, 25.20, 14.52, 0.0103),
    "matrix · vector": PaperSizes(39.22, 0.254, 0.048, 0.0207),
    "matrix · matrix": PaperSizes(40_127, 254.8, 48.06, 0.0210),
    "sort": PaperSizes(22.66, 3.38, 2.76, 2.79),
    "image filter": PaperSizes(4.288, 1.96, 1.06, 0.0104),
    "LIME": PaperSizes(24.09, 0.529, 0.123, 0.0121),
    "DRISE": PaperSizes(8.82, 0.0898, 8.242, 0.0108),
    "group by": PaperSizes(183.43, 32.62, 13.56, 13.62),
    "inner join": PaperSizes(2330, 195.44, 53.44, 6.36),
}
"""Sizes of twelve operations. 8.242 for DRISE stands so in the table; its share, 0.271 %, says 0.0239."""

BARS = {"sort": 2.2, "group by": 6.0, "inner join": 1.6, "image filter": 0.002, "LIME": 0.002, "DRISE": 0.002}
"""Megabytes that ours may take; all others 200 bytes for each relation."""

TABLE_9 = {"element": (75, 75, 75, 0), "complex": (55, 51, 24, 1), "total": (130, 126, 99, 1)}
"""Operations that are compressed, reused by dim_sig and by gen_sig, and reused wrongly; of 75, 61 and 136."""

FIGURES = {
    "Fig. 7": "formats lie within one order of magnitude; ProvRC-GZip is slower than Parquet on one-to-one lineage.",
    "Fig. 9": (
        "milliseconds, mean and most of 20 random chains. The paper says: DSLog is up to 20 times as fast as the next "
        "best on average, and no faster in some chains; ten steps take about 4 times as long as five."
    ),
    "Fig. 8": ("DSLog is faster than the others, at most 1,500 times, but for the most selective questions on images."),
}
"""What the text says of figures that give no numbers."""
