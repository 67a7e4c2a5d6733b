"""Masks decide how long an axis is, and what is made of it hides that: all of the mask counts."""

from __future__ import annotations

import numpy as np

from tests.forward_lineage.arrays.cases import Case, _fill

WHY = "one cell alone need not change how many there are"

LENGTHS = [
    Case("sum of masked", lambda x, mask: x[mask].sum(), still=WHY),
    Case("last of masked", lambda x, mask: x[mask][-1], still=WHY),
    Case("masked rows sum0", lambda x, rows: x[rows].sum(axis=0), still=WHY),
    Case("masked rows sum1", lambda x, rows: x[rows].sum(axis=1), still=WHY),
    Case("join masked", lambda v, line, u: np.concatenate([v[line], u])[:4], still=WHY),
    Case("two halves", lambda v, line: np.concatenate([v[line], v[~line]]), still=WHY),
    Case("matmul masked", lambda x, rows: x[rows].T @ x[rows], still=WHY),
    Case("argmax masked", lambda v, line: v[line].argmax(), flat=WHY, still=WHY),
    Case("unique size", lambda few: np.unique(few).sum(), flat=WHY, still=WHY),
    Case("nonzero then take", lambda v, line: v[np.flatnonzero(line)].mean(), still=WHY),
    Case("compress sum", lambda x, rows: np.compress(rows, x, axis=0).max(axis=0), flat=WHY, still=WHY),
    Case("delete sum", lambda v, line: np.delete(v, line).sum(), still=WHY),
    Case("repeat sum", lambda u, codes: np.repeat(u, codes[:3]).sum(), still=WHY),
    Case("trim sum", lambda zeros: np.trim_zeros(zeros).sum(), flat=WHY, still=WHY),
    Case("write to masked", lambda x, rows, row: _fill(x[rows], 0, row).sum(), still=WHY),
    Case("masked view", lambda v, line: v[line][::-1][:1], still=WHY),
    Case("roll masked", lambda v, line: np.roll(v[line], 1)[0], still=WHY),
    Case("tile masked", lambda v, line: np.tile(v[line], 2)[3], still=WHY),
    Case("diff masked", lambda v, line: np.diff(v[line]).sum(), still=WHY),
    Case("ravel masked rows", lambda x, rows: x[rows].ravel()[5], still=WHY),
    Case("stack masked", lambda v, line: np.stack([v[line], v[line]]).sum(axis=1), still=WHY),
    Case("outer masked", lambda v, line: np.outer(v[line], v[line]).sum(), still=WHY),
    Case("einsum masked", lambda v, line: np.einsum("i,i->", v[line], v[line]), still=WHY),
    Case("dot masked", lambda v, line: v[line] @ v[line], still=WHY),
    Case("searchsorted masked", lambda places, line, u: np.searchsorted(places[line], u), flat=WHY, still=WHY),
    Case("nested mask", lambda v, line: v[line][v[line] > 0].sum(), still=WHY),
    Case("out masked", lambda v, line, number: np.add.reduce(v[line]) + number, still=WHY),
    Case("insert masked", lambda v, line, u: np.insert(v[line], 1, u)[-1], still=WHY),
    Case("pad masked", lambda v, line: np.pad(v[line], 1)[-2], still=WHY),
    Case("cov masked", lambda v, line: np.cov(v[line]), still=WHY),
    Case("fft masked", lambda v, line: np.fft.fft(v[line])[0], still=WHY),
    Case("bincount masked", lambda codes, line: np.bincount(codes[line], minlength=3), still=WHY),
    Case("hist masked", lambda v, line: np.histogram(v[line], [-3, 0, 3])[0], flat=WHY, still=WHY),
    Case("isin masked", lambda few, line: np.isin(few, few[line]), flat=WHY, still=WHY, choices=("few",)),
    Case("interp masked", lambda u, places, v, line: np.interp(u, places[line], v[line]), flat=WHY, still=WHY),
    Case("take masked idx", lambda v, index, line: v[index[:4][line[:4]]].sum(), still=WHY),
]
