package org.apache.spark.sql.forwardlineage

/**
 * The ids of a BDD, many paths at a time.
 *
 * Nodes lie in the order of the format, so each step down jumps through memory. Depth first, one jump waits for the one
 * before; here up to `Chunk` paths go down a level together and their jumps overlap, in a loop that does nothing else: a
 * branch on what a jump finds would be guessed wrong too often, and then the jumps behind it are made again. The number of
 * ids under each node says where in the result a path's ids belong, so a path can be finished as soon as there is one id
 * left on it: scattered ids are done at the level where they part, and the chains below are walked once a node, not once an id.
 *
 * @param most ids that are written at a time, at most
 * @param counts ids under each node over the bits up to its own; above `Int.MaxValue` anything that is
 */
private final class BddIds(
    most: Int, nbits: Int, starts: Array[Int], lo: Array[Int], hi: Array[Int], counts: Array[Int]) {
  import BddIds._

  private val low = starts(math.min(WordBits, nbits)) // nodes below level 6
  private val valid = if (nbits >= WordBits) -1L else (1L << (1 << nbits)) - 1

  /**
   * What there is to know about each reference in one place: below level 6 its truth table over 64 ids (variables it skips
   * repeat the bits, which is just what they mean); above, its children, or `Single` and the id where only one is left.
   */
  private val codes = {
    val codes = new Array[Long](starts(nbits) + 2)
    codes(1) = -1
    for (level <- 0 until math.min(WordBits, nbits)) {
      val ones = Variables(level)
      var i = starts(level)
      while (i < starts(level + 1)) {
        codes(i + 2) = codes(lo(i)) & ~ones | codes(hi(i)) & ones
        i += 1
      }
    }
    for (level <- WordBits until nbits) {
      var i = starts(level)
      while (i < starts(level + 1)) {
        codes(i + 2) =
          if (counts(i) != 1) lo(i).toLong << 32 | hi(i)
          else Single | (if (hi(i) == 0) only(codes, lo(i)) else only(codes, hi(i)) | 1L << level)
        i += 1
      }
    }
    codes
  }

  /** Ids under the `lo` of each reference to a node, over the bits up to the node's own. */
  private val lefts = {
    val lefts = new Array[Int](codes.length)
    for (level <- 0 until nbits) {
      var i = starts(level)
      while (i < starts(level + 1)) {
        lefts(i + 2) = countOf(lo(i), level)
        i += 1
      }
    }
    lefts
  }

  /** The ids under `ref`, which stands below bit 6, as bits. */
  def bitsOf(ref: Int): Long = codes(ref) & valid

  private def only(codes: Array[Long], ref: Int): Long =
    if (ref - 2 < low) java.lang.Long.numberOfTrailingZeros(codes(ref)).toLong else codes(ref) & ~Single

  private def countOf(ref: Int, level: Int): Int =
    if (ref == 0) 0
    else if (ref == 1) 1 << level
    else if (ref - 2 >= starts(level - 1)) counts(ref - 2)
    else counts(ref - 2) << (level - 1 - levelOf(ref))

  private def levelOf(ref: Int): Int = {
    var level = 0
    while (starts(level + 1) <= ref - 2) level += 1
    level
  }

  // The paths that wait above each level: where they stand, the bits on their way, the place of their first id.
  private val refs = new Array[Array[Int]](64)
  private val prefixes = new Array[Array[Long]](64)
  private val places = new Array[Array[Int]](64)

  // What the jumps of the paths now on their way have found.
  private val foundCodes = new Array[Long](math.min(Chunk, most + 1))
  private val foundLefts = new Array[Int](foundCodes.length)

  // Each path has an id of its own; and one place more, see `expand`.
  private val room = math.min(2 * Chunk, most + 1)

  private def reserve(level: Int): Unit =
    if (refs(level) == null) {
      refs(level) = new Array[Int](room)
      prefixes(level) = new Array[Long](room)
      places(level) = new Array[Int](room)
    }

  /** Writes the ids under `ref`, which stands below bit `bits`, to `out` from 0 on; `from` is added to each. */
  def write(ref: Int, bits: Int, from: Long, out: Array[Long]): Unit = {
    val top = math.max(bits, WordBits)
    reserve(top)
    refs(top)(0) = ref
    prefixes(top)(0) = from
    places(top)(0) = 0
    drain(top, 1, out)
  }

  /** Takes the `n` paths above `bits` to their ends. */
  private def drain(bits: Int, n: Int, out: Array[Long]): Unit =
    if (bits == WordBits) writeWords(n, out)
    else {
      reserve(bits - 1)
      var from = 0
      while (from < n) {
        val until = math.min(from + Chunk, n)
        val left = expand(bits, from, until, out)
        if (left > 0) drain(bits - 1, left, out)
        from = until
      }
    }

  private def writeWords(n: Int, out: Array[Long]): Unit = {
    val (ref, prefix, place) = (refs(WordBits), prefixes(WordBits), places(WordBits))
    var i = 0
    while (i < n) {
      var left = bitsOf(ref(i))
      val base = prefix(i)
      var at = place(i)
      while (left != 0) {
        out(at) = base | java.lang.Long.numberOfTrailingZeros(left)
        at += 1
        left &= left - 1
      }
      i += 1
    }
  }

  /** One level down; returns how many paths there are then. */
  private def expand(bits: Int, from: Int, until: Int, out: Array[Long]): Int = {
    val level = bits - 1
    val here = if (level < nbits) starts(level) + 2 else Int.MaxValue
    val one = 1L << level
    val (ref, prefix, place) = (refs(bits), prefixes(bits), places(bits))
    val (nextRef, nextPrefix, nextPlace) = (refs(level), prefixes(level), places(level))
    var i = from
    while (i < until) {
      foundCodes(i - from) = codes(ref(i))
      foundLefts(i - from) = lefts(ref(i))
      i += 1
    }
    var n = 0
    i = from
    while (i < until) {
      val r = ref(i)
      val p = prefix(i)
      val at = place(i)
      val skips = r < here
      val code = if (skips) r.toLong << 32 | r else foundCodes(i - from)
      if (code < 0) out(at) = p | code & ~Single
      else {
        val l = (code >>> 32).toInt
        val h = code.toInt
        // No branches: a child that is the sink 0 is written and then written over.
        nextRef(n) = l
        nextPrefix(n) = p
        nextPlace(n) = at
        n += (if (l != 0) 1 else 0)
        if (h != 0) {
          nextRef(n) = h
          nextPrefix(n) = p | one
          nextPlace(n) = at + (if (skips) countOf(r, level) else foundLefts(i - from))
          n += 1
        }
      }
      i += 1
    }
    n
  }
}

private object BddIds {
  val WordBits = 6
  private val Chunk = 1024
  private val Single = Long.MinValue

  /** Truth tables of the six lowest variables over 64 ids. */
  private val Variables = Array(
    0xaaaaaaaaaaaaaaaaL, 0xccccccccccccccccL, 0xf0f0f0f0f0f0f0f0L, 0xff00ff00ff00ff00L, 0xffff0000ffff0000L,
    0xffffffff00000000L)
}
