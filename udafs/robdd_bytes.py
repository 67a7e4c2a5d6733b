"""Tag 01: the bytes of a roBDD, as FORMAT.md describes them."""

from __future__ import annotations

import numpy as np

from udafs import varint
from udafs.robdd import NodeTable, Refs

MAX_BITS = 63


def columns(table: NodeTable) -> tuple[varint.UInt64s, varint.UInt64s, varint.UInt64s]:
    """A table as small numbers: nodes on each level; steps of lo and distances of hi, as FORMAT.md has them."""
    count = np.diff(table.starts)
    base = 2 + np.repeat(table.starts[:-1], count)
    new_level = np.ones(table.nodes, bool)
    new_level[1:] = np.diff(base) > 0
    lo = np.diff(table.lo, prepend=0)
    lo[new_level] = table.lo[new_level]
    hi = np.where(table.hi < 2, table.hi, 1 + base - table.hi)
    return count.astype(np.uint64), lo.astype(np.uint64), hi.astype(np.uint64)


def from_columns(count: varint.UInt64s, lo_step: varint.UInt64s, hi_code: varint.UInt64s, root: int) -> NodeTable:
    """The inverse of `columns`; `root` matters only where there is no node.

    Raises:
        CorruptLineageError: with a keyword of FORMAT.md; the numbers of nodes must add up.

    """
    if not lo_step.size:
        return NodeTable.constant(bool(root), count.size)
    numbers = _interleaved(count, lo_step, hi_code)
    return _connected(*_decode_levels(numbers, count.size))


def _interleaved(count: varint.UInt64s, lo: varint.UInt64s, hi: varint.UInt64s) -> varint.UInt64s:
    """The bytes between `nbits` and the end, number by number."""
    levels = count.astype(np.int64)
    starts = np.cumsum(levels) - levels
    # Each level is announced by its count, so the node i of level k stands behind 2·i + k + 1 other numbers.
    node_at = 2 * np.arange(lo.size) + np.repeat(np.arange(count.size), levels) + 1
    out = np.empty(2 * lo.size + count.size, np.uint64)
    out[2 * starts + np.arange(count.size)] = count
    out[node_at] = lo
    out[node_at + 1] = hi
    return out


def encode(table: NodeTable) -> bytes:
    """The body of tag 01. The table's highest code must have `nbits` bits (`NodeTable.with_bits`)."""
    body = bytes([table.nbits]) + varint.encode(_interleaved(*columns(table)))
    return body if table.nodes else body + bytes([table.root])


def size(table: NodeTable) -> int:
    """Bytes of the body that `encode` would write."""
    return 1 + sum(int(varint.sizes(column).sum()) for column in columns(table)) + (table.nodes == 0)


def least_size(nbits: int, nodes: int) -> int:
    """No body of so many variables and nodes is shorter than this."""
    return 1 + nbits + 2 * nodes + (nodes == 0)


def decode(body: varint.Bytes) -> NodeTable:
    """The roBDD of a body of tag 01; canonical, or refused.

    Raises:
        CorruptLineageError: with a keyword of FORMAT.md.

    """
    if not body.size:
        raise varint.corrupt("truncated", "no number of variables")
    nbits = int(body[0])
    if nbits > MAX_BITS:
        raise varint.corrupt("nbits", f"{nbits} variables, {MAX_BITS} are the most")
    if not np.any(body[1 : 1 + nbits]):
        return _decode_constant(nbits, body[1 + nbits :], body.size - 1 < nbits)
    table = _connected(*_decode_levels(varint.decode(body[1:]), nbits))
    if table.hi[-1] == 0 and table.level(table.root) == nbits - 1:
        raise varint.corrupt("nbits", f"{nbits} variables, but the first is 0 in every id")
    return table


def _connected(starts: Refs, lo: Refs, hi: Refs) -> NodeTable:
    """The table whose root is the last node, if that reaches all others."""
    table = NodeTable(starts, lo, hi, 1 + len(lo))
    used = np.zeros(2 + table.nodes, bool)
    used[lo] = used[hi] = used[table.root] = True
    if not np.all(used[2:]):
        raise varint.corrupt("unused", f"no node above uses node {2 + int(np.argmin(used[2:]))}")
    return table


def _decode_constant(nbits: int, rest: varint.Bytes, cut: bool) -> NodeTable:
    if cut or not rest.size:
        raise varint.corrupt("truncated", "no root")
    root = int(rest[0])
    if root > 1:
        raise varint.corrupt("root", f"{root:#04x} is neither 00 nor 01")
    if root == 0 and nbits:
        raise varint.corrupt("nbits", f"{nbits} variables for the empty set")
    if rest.size > 1:
        raise varint.corrupt("trailing", f"{rest.size - 1} bytes after the root")
    return NodeTable.constant(bool(root), nbits)


def _decode_levels(numbers: varint.UInt64s, nbits: int) -> tuple[Refs, Refs, Refs]:
    starts = np.zeros(nbits + 1, np.int64)
    lo: list[Refs] = []
    hi: list[Refs] = []
    at = 0
    for level in range(nbits):
        if at == numbers.size:
            raise varint.corrupt("truncated", f"no level {level}")
        count = int(numbers[at])
        at += 1
        if 2 * count > numbers.size - at:
            raise varint.corrupt("truncated", f"{count} nodes announced on level {level}")
        if count:
            nodes = _decode_nodes(numbers[at : at + 2 * count], 2 + int(starts[level]), level)
            lo.append(nodes[0])
            hi.append(nodes[1])
        at += 2 * count
        starts[level + 1] = starts[level] + count
    if at < numbers.size:
        raise varint.corrupt("trailing", f"{numbers.size - at} numbers after the last level")
    return starts, np.concatenate(lo), np.concatenate(hi)


def _decode_nodes(numbers: varint.UInt64s, base: int, level: int) -> tuple[Refs, Refs]:
    lo_step, hi_code = numbers[0::2], numbers[1::2]
    # No code of `hi` exceeds base − 1: hi = 2 has 2 + (base − 1 − 2). Only then do the sums below fit into 63 bits.
    if np.any(lo_step >= np.uint64(base)) or np.any(hi_code >= np.uint64(base)):
        raise varint.corrupt("reference", f"on level {level}, beyond the {base - 2} nodes below it")
    lo = np.cumsum(lo_step.astype(np.int64))
    hi = hi_code.astype(np.int64)
    hi = np.where(hi < 2, hi, 1 + base - hi)
    if lo[-1] >= base:
        raise varint.corrupt("reference", f"on level {level}, beyond the {base - 2} nodes below it")
    if np.any(lo == hi):
        raise varint.corrupt("redundant", f"a node of level {level} has equal children")
    if np.any((np.diff(lo) == 0) & (np.diff(hi) <= 0)):
        raise varint.corrupt("order", f"the nodes of level {level} are not ascending")
    return lo, hi
