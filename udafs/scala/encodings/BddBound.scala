package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * A lower bound on the bytes of a BDD, found by counting functions instead of building it: most sets are shorter in another
 * encoding, by far, and need no BDD to know.
 *
 * Cut the ids into blocks of 2^cut. What a block holds is a function of the lowest `cut` bits, and different contents are
 * different nodes below the cut; only the full block is none. Joining neighbours moves the cut up by one bit; contents with two
 * different halves are the nodes of the level just passed. So with d contents at the cut, the full block left out:
 *
 *   - below it are all nodes counted so far, each of two bytes at least;
 *   - above it, u nodes have 2u edges, which lead to each content and to each node but the root, that is to d + u - 1 places.
 *     So u >= d - 1. At most u of the places are reached by `lo`; the other d - 1 by `hi` alone, which takes one byte for
 *     `NearBelow` places from each level at most, and two for the others.
 *
 * Contents are compared by hashes. Equal hashes of different contents only make the bound smaller.
 */
private final class BddBound(ids: IdSource, nbits: Int, limit: Long) {
  import BddBound._

  private val capacity = limit / 4 + 2 // so many contents at one cut put the bound above the limit
  private var cut = lowestCut
  // The blocks that hold ids: their numbers, and hashes of their contents.
  private val blocks = new Array[Long](ids.count.toInt)
  private val hashes = new Array[Long](blocks.length)
  private var n = 0

  private var below = 0L // nodes known to be below the cut
  private var contents = 0 // different ones at the cut
  private var seen: Array[Long] = _ // their hashes, by open addressing; 0 is free

  /** Whether the bound is above the limit: the BDD's bytes then surely are. */
  def isAbove: Boolean = {
    cutIds()
    below = contents - 1
    var bound = 0L
    var next = currentBound
    while (bound < next && next <= limit && cut < nbits) {
      bound = next
      joinNeighbours()
      next = currentBound
    }
    next > limit
  }

  /**
   * There blocks hold one id on average, if ids lie evenly. But it takes about as many places in a block as there are blocks, since
   * contents of one id hardly differ; two levels below that is where many begin to.
   */
  private def lowestCut: Int = math.max(0, math.min(blockOfOne(ids.count, nbits), (nbits + 1) / 2 - 2))

  private def currentBound: Long = {
    val places = math.max(0, contents - 2) // one may be the full block, and one the root
    2 + nbits + 2 * below + 2 * places + math.max(0, places - NearBelow * (nbits - cut))
  }

  private def cutIds(): Unit = {
    ids.foreach(new IdConsumer {
      private val mask = (1L << cut) - 1
      override def accept(ids: Array[Long], from: Int, until: Int): Unit = {
        var i = from
        while (i < until) {
          val block = ids(i) >>> cut
          if (n == 0 || blocks(n - 1) != block) {
            blocks(n) = block
            n += 1
          }
          hashes(n - 1) = mixed(hashes(n - 1), (ids(i) & mask) + 1)
          i += 1
        }
      }
    })
    seen = new Array[Long](4 * Integer.highestOneBit(math.min(n, capacity).toInt))
    var i = 0
    while (i < n && contents < capacity) {
      meet(hashes(i))
      i += 1
    }
  }

  /** Moves the cut up by one bit. */
  private def joinNeighbours(): Unit = {
    cut += 1
    contents = 0
    Arrays.fill(seen, 0)
    var joined = 0
    var i = 0
    while (i < n && contents < capacity) {
      val block = blocks(i) >>> 1
      var low = 0L
      var high = 0L
      if ((blocks(i) & 1) != 0) high = hashes(i)
      else {
        low = hashes(i)
        if (i + 1 < n && blocks(i + 1) == blocks(i) + 1) {
          i += 1
          high = hashes(i)
        }
      }
      blocks(joined) = block
      hashes(joined) = if (low == high) low else mixed(low, high) // two equal halves are the same function
      if (meet(hashes(joined)) && low != high) below += 1
      joined += 1
      i += 1
    }
    n = joined
  }

  /** Whether a content is met for the first time at this cut. */
  private def meet(hash: Long): Boolean = {
    var at = (hash >>> 32).toInt & (seen.length - 1)
    while (seen(at) != 0 && seen(at) != hash) at = at + 1 & (seen.length - 1)
    val isNew = seen(at) == 0
    if (isNew) {
      seen(at) = hash
      contents += 1
    }
    isNew
  }
}

private object BddBound {
  private val NearBelow = 126 // codes 2 to 127
  private val Dense = 4

  /**
   * Whether the bound may say something. It does not where a level with a node for each id would not do; nor where ids are dense:
   * contents repeat then, and the build, which takes 16 ids at once, is as fast as counting them.
   */
  def mayBeAbove(limit: Long, count: Long, nbits: Int): Boolean =
    limit < 3 * count * nbits && blockOfOne(count, nbits) >= Dense

  /** Bits of a block that holds one or two ids on average. */
  private def blockOfOne(count: Long, nbits: Int): Int = nbits - (64 - java.lang.Long.numberOfLeadingZeros(count))

  /** Never 0. */
  private def mixed(a: Long, b: Long): Long = {
    val hash = (a * 0x9e3779b97f4a7c15L ^ b) * 0xbf58476d1ce4e5b9L
    (hash ^ hash >>> 29) | 1
  }
}
