package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * Tag 01: a set of ids as a reduced ordered BDD over the bits of the id.   [Zhang 2007, §4.2; bytes in FORMAT.md]
 *
 * Built in bulk from ascending ids, level by level from the least significant bit: the sequence of (prefix, reference) is
 * halved on each level by pairing neighbours, and equal pairs become one node. Nodes of a level are numbered in the order
 * of (lo, hi), so equal sets have equal bytes by construction.
 */
object BddCodec {
  val Tag = 1

  /**
   * The value's bytes, tag included, or null when they would be more than `limit`: then the build stops as soon as that is
   * certain, which for most small sets is before it starts.
   */
  def encode(ids: IdSource, limit: Long): Array[Byte] = {
    val count = ids.count
    if (count == 0) return constant(0, root = 0, limit)
    val nbits = 64 - java.lang.Long.numberOfLeadingZeros(ids.largest)
    if (count == 1L << nbits) return constant(nbits, root = 1, limit)
    // Tag, nbits, a count for each level, and one node of two bytes.
    if (limit < 2L + nbits + 2 || BddBound.mayBeAbove(limit, count, nbits) && new BddBound(ids, nbits, limit).isAbove) null
    else new BddBuild(nbits, limit).run(ids)
  }

  private def constant(nbits: Int, root: Int, limit: Long): Array[Byte] =
    if (limit < nbits + 3) null
    else {
      val bytes = new Array[Byte](nbits + 3)
      bytes(0) = Tag.toByte
      bytes(1) = nbits.toByte
      bytes(nbits + 2) = root.toByte
      bytes
    }
}

/** One build; `limit` is the most bytes the value may take. */
private final class BddBuild(nbits: Int, limit: Long) {
  private val sink = new ByteSink(256)
  private var base = 2 // references below are in use
  private var level = 0
  // The sequence: positions on the current level that hold ids, and what stands there.
  private var prefixes: Array[Long] = _
  private var refs: Array[Int] = _
  private var n = 0
  // Pairs of the current level that need a node, and the place in the sequence each came from.
  private var keys: Array[Long] = _
  private var places: Array[Int] = _

  def run(ids: IdSource): Array[Byte] = {
    sink.byte(BddCodec.Tag)
    sink.byte(nbits)
    val alive = if (nbits >= 4 && ids.count >= BddBuild.PatternsFrom) startWithPatterns(ids) else startWithIds(ids)
    while (alive && level < nbits) {
      val created = number(pairUp())
      if (tooLong(created)) return null
    }
    if (!alive || sink.length > limit) null else sink.toArray
  }

  private def startWithIds(ids: IdSource): Boolean = {
    val all = new BddBuild.Collector(ids.count.toInt)
    ids.foreach(all)
    prefixes = all.ids
    refs = new Array[Int](all.ids.length)
    Arrays.fill(refs, 1)
    n = refs.length
    allocate()
    true
  }

  private def allocate(): Unit = {
    keys = new Array[Long](n)
    places = new Array[Int](n)
  }

  /** The four lowest levels at once: 16 ids are a pattern of 16 bits, and there are no more than 2^16 of those. */
  private def startWithPatterns(ids: IdSource): Boolean = {
    val patterns = new BddBuild.Patterns(ids.count)
    ids.foreach(patterns)
    n = patterns.n
    prefixes = patterns.prefixes
    val wide = new Array[Array[Boolean]](5)
    wide(4) = new Array[Boolean](1 << 16)
    var i = 0
    while (i < n) {
      wide(4)(patterns.words(i)) = true
      i += 1
    }
    for (k <- 3 to 0 by -1) wide(k) = halves(wide(k + 1), 1 << k)
    var known = Array(0, 1)
    var k = 1
    while (k <= 4 && known != null) {
      known = numberPatterns(wide(k), known, 1 << (k - 1))
      k += 1
    }
    if (known == null) return false
    refs = new Array[Int](n)
    i = 0
    while (i < n) {
      refs(i) = known(patterns.words(i))
      i += 1
    }
    allocate()
    true
  }

  /** Which patterns of `width` bits are halves of the given ones. */
  private def halves(present: Array[Boolean], width: Int): Array[Boolean] = {
    val half = new Array[Boolean](1 << width)
    var p = 0
    while (p < present.length) {
      if (present(p)) {
        half(p & half.length - 1) = true
        half(p >>> width) = true
      }
      p += 1
    }
    half
  }

  /** References of the patterns present, from those of their halves of `width` bits; null when the value is too long. */
  private def numberPatterns(present: Array[Boolean], known: Array[Int], width: Int): Array[Int] = {
    val table = new Array[Int](present.length)
    var total = 0
    present.foreach(p => if (p) total += 1)
    refs = table
    keys = new Array[Long](total)
    places = new Array[Int](total)
    var pairs = 0
    var p = 0
    while (p < present.length) {
      if (present(p)) {
        val lo = known(p & (1 << width) - 1)
        val hi = known(p >>> width)
        if (lo == hi) table(p) = lo
        else {
          keys(pairs) = lo.toLong << 32 | hi
          places(pairs) = p
          pairs += 1
        }
      }
      p += 1
    }
    if (tooLong(number(pairs))) null else table
  }

  /** Halves the sequence; returns how many of its places need a node (elimination rule: lo = hi needs none). */
  private def pairUp(): Int = {
    var out = 0
    var pairs = 0
    var i = 0
    while (i < n) {
      val prefix = prefixes(i) >>> 1
      var lo = 0
      var hi = 0
      if ((prefixes(i) & 1) != 0) hi = refs(i)
      else {
        lo = refs(i)
        if (i + 1 < n && prefixes(i + 1) == prefixes(i) + 1) {
          i += 1
          hi = refs(i)
        }
      }
      prefixes(out) = prefix
      if (lo == hi) refs(out) = lo
      else {
        keys(pairs) = lo.toLong << 32 | hi
        places(pairs) = out
        pairs += 1
      }
      out += 1
      i += 1
    }
    n = out
    pairs
  }

  /** Merging rule: equal pairs are one node. Writes the level and stores the references; returns how many nodes it has. */
  private def number(pairs: Int): Int = {
    SortPairs.sort(keys, places, pairs)
    var created = 0
    var i = 0
    while (i < pairs) {
      if (i == 0 || keys(i) != keys(i - 1)) created += 1
      i += 1
    }
    if (base + created.toLong > Int.MaxValue) LineageErrors.tooLarge("a BDD of more than 2^31 nodes")
    sink.varint(created)
    var ref = base - 1
    var previousLo = 0
    i = 0
    while (i < pairs) {
      if (i == 0 || keys(i) != keys(i - 1)) {
        ref += 1
        val lo = (keys(i) >>> 32).toInt
        val hi = keys(i).toInt
        sink.varint(lo - previousLo)
        sink.varint(if (hi < 2) hi else 1 + base - hi)
        previousLo = lo
      }
      refs(places(i)) = ref
      i += 1
    }
    base += created
    level += 1
    created
  }

  /** Each node of the level just made is used above: that takes at least `created` - 1 more nodes of two bytes. */
  private def tooLong(created: Int): Boolean =
    sink.length.toLong + (nbits - level) + 2 * math.max(0, created - 1) > limit
}

private object BddBuild {
  val PatternsFrom = 4096

  final class Collector(count: Int) extends IdConsumer {
    val ids = new Array[Long](count)
    private var n = 0

    override def accept(slice: Array[Long], from: Int, until: Int): Unit = {
      System.arraycopy(slice, from, ids, n, until - from)
      n += until - from
    }
  }

  /** Ids as (id >>> 4, 16 bits). */
  final class Patterns(count: Long) extends IdConsumer {
    var prefixes = new Array[Long](math.min(count, 1 << 12).toInt)
    var words = new Array[Int](prefixes.length)
    var n = 0
    private var last = -1L

    override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
      var i = from
      while (i < until) {
        val prefix = ids(i) >>> 4
        if (prefix != last) {
          if (n == words.length) grow()
          prefixes(n) = prefix
          words(n) = 0
          n += 1
          last = prefix
        }
        words(n - 1) |= 1 << (ids(i).toInt & 15)
        i += 1
      }
    }

    private def grow(): Unit = {
      val size = math.min(n * 2L, Int.MaxValue - 16).toInt
      prefixes = Arrays.copyOf(prefixes, size)
      words = Arrays.copyOf(words, size)
    }
  }
}
