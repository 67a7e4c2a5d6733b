package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * The nodes of a BDD read from bytes (FORMAT.md, tag 01), checked to be reduced, ordered and canonical.
 *
 * References are as in the format: 0 and 1 are the sinks, 2 + i is node i. Questions are answered on the nodes,
 * so a value of 2^62 ids costs as much as its bytes.
 *
 * @param levels level of each node, the least significant bit being 0
 * @param starts the nodes of level k are starts(k) until starts(k + 1)
 */
final class BddTable private (
    private val nbits: Int, starts: Array[Int], lo: Array[Int], hi: Array[Int], levels: Array[Byte], private val root: Int) {

  private def level(ref: Int): Int = if (ref < 2) -1 else levels(ref - 2)

  def contains(id: Long): Boolean = {
    if (id < 0 || nbits < 63 && id >>> nbits != 0) return false
    var ref = root
    while (ref > 1) ref = if ((id >>> levels(ref - 2) & 1) == 0) lo(ref - 2) else hi(ref - 2)
    ref == 1
  }

  /** Number of ids; 2^63 comes out negative. */
  def count: Long = {
    val few = spread(root, nbits)
    if (few < Int.MaxValue) few else countMany
  }

  /** Ids under each node, over the bits up to its own; `Int.MaxValue` for so many and more. */
  private lazy val counts = {
    val counts = new Array[Int](starts(nbits))
    for (level <- 0 until nbits) {
      var i = starts(level)
      while (i < starts(level + 1)) {
        counts(i) = math.min(spread(lo(i), level, counts) + spread(hi(i), level, counts), Int.MaxValue).toInt
        i += 1
      }
    }
    counts
  }

  private def spread(ref: Int, level: Int): Long = spread(ref, level, counts)

  /** Ids under `ref` when it stands for all bits below `level`, at most `Int.MaxValue`. */
  private def spread(ref: Int, level: Int, counts: Array[Int]): Long =
    if (ref == 0) 0
    else if (ref == 1) if (level >= 31) Int.MaxValue else 1L << level
    else if (ref - 2 >= starts(level - 1)) counts(ref - 2)
    else {
      val skipped = level - 1 - levels(ref - 2)
      if (skipped >= 31) Int.MaxValue else math.min(counts(ref - 2).toLong << skipped, Int.MaxValue)
    }

  private def countMany: Long = {
    val counts = new Array[Long](starts(nbits))
    def spread(ref: Int, level: Int): Long =
      if (ref < 2) ref.toLong << level else counts(ref - 2) << (level - 1 - levels(ref - 2))
    var i = 0
    while (i < counts.length) {
      counts(i) = spread(lo(i), levels(i)) + spread(hi(i), levels(i))
      i += 1
    }
    spread(root, nbits)
  }

  /** The ids in ascending order; the caller has looked at `count`. */
  def ids: Array[Long] = {
    val out = new Array[Long](count.toInt)
    if (out.length > 0) paths(out.length).write(root, nbits, 0L, out)
    out
  }

  private def paths(most: Int) = new BddIds(most, nbits, starts, lo, hi, counts)

  /** Gives the ids to `sink` in ascending order. */
  def decode(sink: IdSink): Unit = if (root != 0) new Walk(sink).visit(root, math.max(nbits, 6), 0L)

  /** Depth first down to parts that are scattered, which go out as single ids, or dense, which do as words and runs. */
  private final class Walk(sink: IdSink) {
    private val scratch = new Array[Long](math.min(Walk.Most, spread(root, nbits)).toInt)
    private val below = paths(scratch.length)

    def visit(ref: Int, bits: Int, from: Long): Unit =
      if (ref == 0) ()
      else if (bits == 6) sink.addWord(from, below.bitsOf(ref))
      else if (ref == 1 && bits <= 16) sink.addRun(from, from + (1L << bits) - 1)
      else if (spread(ref, bits) <= math.min(Walk.Most, 1L << bits - 2)) scattered(ref, bits, from)
      else {
        val half = bits - 1
        if (level(ref) == half) {
          visit(lo(ref - 2), half, from)
          visit(hi(ref - 2), half, from | 1L << half)
        } else {
          visit(ref, half, from)
          visit(ref, half, from | 1L << half)
        }
      }

    private def scattered(ref: Int, bits: Int, from: Long): Unit = {
      below.write(ref, bits, from, scratch)
      val n = spread(ref, bits).toInt
      var i = 0
      while (i < n) {
        sink.add(scratch(i))
        i += 1
      }
    }
  }

  private object Walk {
    val Most = 1 << 14
  }

  /** Whether a common id exists: pairs of nodes, each visited once. */
  def intersects(other: BddTable): Boolean = new Meet(other).visit(root, other.root, nbits, other.nbits)

  private final class Meet(other: BddTable) {
    private val seen = new java.util.HashSet[java.lang.Long]

    def visit(a: Int, b: Int, aBits: Int, bBits: Int): Boolean = {
      // Bits that only one side has are 0 in every id of the other, so go down on lo until both have the same number.
      var left = a
      while (aBits > bBits && level(left) >= bBits) left = lo(left - 2)
      var right = b
      while (bBits > aBits && other.level(right) >= aBits) right = other.lowOf(right)
      meet(left, right)
    }

    private def meet(a: Int, b: Int): Boolean =
      if (a == 0 || b == 0) false
      else if (a == 1 || b == 1) true // a reduced node that is not 0 has an id under it
      else if (!seen.add(a.toLong << 32 | b)) false
      else {
        val top = math.max(level(a), other.level(b))
        val aHere = level(a) == top
        val bHere = other.level(b) == top
        meet(if (aHere) lo(a - 2) else a, if (bHere) other.lowOf(b) else b) ||
        meet(if (aHere) hi(a - 2) else a, if (bHere) other.highOf(b) else b)
      }
  }

  private def lowOf(ref: Int): Int = lo(ref - 2)
  private def highOf(ref: Int): Int = hi(ref - 2)
}

object BddTable {

  /** Reads the body of tag 01 to its end. */
  def read(in: ByteReader): BddTable = {
    val nbits = in.byte("the number of variables")
    if (nbits > 63) LineageErrors.corrupt("nbits", s"$nbits variables, 63 are the most", in.position - 1)
    val nodes = new Nodes(in)
    var level = 0
    while (level < nbits) {
      nodes.readLevel(level)
      level += 1
    }
    val root = if (nodes.n == 0) readConstant(in, nbits) else nodes.n + 1
    in.expectEnd()
    nodes.checkUsed()
    if (nodes.n > 0 && nodes.levels(nodes.n - 1) == nbits - 1 && nodes.hi(nodes.n - 1) == 0)
      LineageErrors.corrupt("nbits", s"$nbits variables, but the first is 0 in every id", 1)
    nodes.table(nbits, root)
  }

  private def readConstant(in: ByteReader, nbits: Int): Int = {
    val root = in.byte("the root")
    if (root > 1) LineageErrors.corrupt("root", s"$root is neither 0 nor 1", in.position - 1)
    if (root == 0 && nbits > 0) LineageErrors.corrupt("nbits", s"$nbits variables for the empty set", 1)
    root
  }

  /** Arrays that grow with what has been read: never by a count alone. */
  private final class Nodes(in: ByteReader) {
    var n = 0
    var lo = new Array[Int](16)
    var hi = new Array[Int](16)
    var levels = new Array[Byte](16)
    val starts = new Array[Int](64)

    def readLevel(level: Int): Unit = {
      val count = in.varint("the number of nodes of a level")
      if (count > in.remaining / 2) LineageErrors.corrupt("truncated", s"$count nodes announced on level $level", in.position)
      reserve(n + count.toInt)
      val base = n + 2
      var previousLo = 0
      var previousHi = -1
      var left = count.toInt
      while (left > 0) {
        val step = in.varint("a node")
        if (step >= base - previousLo) reference(level, base)
        lo(n) = previousLo + step.toInt
        hi(n) = readHi(level, base)
        levels(n) = level.toByte
        if (lo(n) == hi(n)) LineageErrors.corrupt("redundant", s"a node of level $level has equal children", in.position)
        if (step == 0 && hi(n) <= previousHi)
          LineageErrors.corrupt("order", s"the nodes of level $level are not ascending", in.position)
        previousLo = lo(n)
        previousHi = hi(n)
        n += 1
        left -= 1
      }
      starts(level + 1) = n
    }

    private def readHi(level: Int, base: Int): Int = {
      val code = in.varint("a node")
      if (code < 2) code.toInt
      else {
        if (code >= base) reference(level, base)
        1 + base - code.toInt
      }
    }

    private def reference(level: Int, base: Int): Nothing =
      LineageErrors.corrupt("reference", s"on level $level, beyond the ${base - 2} nodes below it", in.position)

    private def reserve(size: Int): Unit =
      if (size > lo.length) {
        val room = math.max(size, 2 * lo.length)
        lo = Arrays.copyOf(lo, room)
        hi = Arrays.copyOf(hi, room)
        levels = Arrays.copyOf(levels, room)
      }

    def checkUsed(): Unit = {
      val used = new Array[Boolean](n + 2)
      var i = 0
      while (i < n) {
        used(lo(i)) = true
        used(hi(i)) = true
        i += 1
      }
      i = 0
      while (i < n - 1) { // the last node is the root
        if (!used(i + 2)) LineageErrors.corrupt("unused", s"no node above uses node ${i + 2}", in.position)
        i += 1
      }
    }

    def table(nbits: Int, root: Int): BddTable =
      new BddTable(nbits, starts, lo, hi, levels, root)
  }
}
