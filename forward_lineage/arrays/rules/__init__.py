"""Rules that give the cells each result is made of: a file for each family, a function for each rule."""

from forward_lineage.arrays.rules import (
    axes,
    choices,
    composed,
    counts,
    cumulative,
    diagonals,
    elementwise,
    joining,
    matrices,
    polynomials,
    products,
    reductions,
    sorting,
    turning,
    writing,
)

__all__ = [
    "axes",
    "choices",
    "composed",
    "counts",
    "cumulative",
    "diagonals",
    "elementwise",
    "joining",
    "matrices",
    "polynomials",
    "products",
    "reductions",
    "sorting",
    "turning",
    "writing",
]
