package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * A mutable set of row ids: the state of one group.
 *
 * Carrier: finite sets of 0 .. 2^63-1.  Operations: add, union.  Laws: associative, commutative, idempotent, {} is neutral.
 *
 * Most groups are tiny, so it starts as a small `Array[Long]` to which ids are appended unsorted; row ids mostly come in scan
 * order, and then nothing is ever sorted. When the array is full and large it is sorted, and each 2^16 block that holds at
 * least 1024 ids moves into a bitmap of its own (8 KiB, so never more than the 8 bytes an id took in the array).
 * Hence memory stays below 16 bytes an id for scattered ids, and goes down to one bit for dense ones.
 */
final class IdBuffer extends IdSink with IdSource {
  import IdBuffer._

  private var ids = NoIds
  private var n = 0
  private var ascending = true // ids(0 until n) strictly ascend
  private var blocks: DenseBlocks = _

  def isEmpty: Boolean = n == 0 && blocks == null

  override def add(id: Long): Unit = {
    if (blocks != null) {
      val words = blocks.find(id >>> 16)
      if (words != null) {
        words(id.toInt >>> 6 & 1023) |= 1L << id
        return
      }
    }
    if (n > 0 && id <= ids(n - 1)) {
      if (id == ids(n - 1)) return
      ascending = false
    }
    if (n == ids.length) {
      makeRoom()
      add(id) // its block may have become a bitmap
    } else {
      ids(n) = id
      n += 1
    }
  }

  override def addSlice(from: Array[Long], start: Int, until: Int): Unit = {
    var i = start
    while (i < until && blocks == null) { // until it is full, and blocks become bitmaps
      if (n == ids.length) makeRoom()
      else {
        val end = math.min(until, i + ids.length - n)
        appendAll(from, i, end)
        i = end
      }
    }
    if (i < until) super.addSlice(from, i, until)
  }

  /** Appends ids for which there is room, and which have no bitmap. */
  private def appendAll(from: Array[Long], start: Int, until: Int): Unit = {
    var latest = if (n > 0) ids(n - 1) else -1L
    var strictly = ascending
    var at = n
    var i = start
    while (i < until) {
      val id = from(i)
      if (id != latest) {
        strictly &= id > latest
        ids(at) = id
        at += 1
        latest = id
      }
      i += 1
    }
    n = at
    ascending = strictly
  }

  override def addRun(from: Long, last: Long): Unit = {
    val words = if (last - from >= DenseCount) blockFor(from >>> 16) else if (blocks == null) null else blocks.find(from >>> 16)
    if (words == null) super.addRun(from, last)
    else {
      var id = from
      while (id <= last) {
        val until = math.min(id | 63, last)
        words(id.toInt >>> 6 & 1023) |= (-1L << id) & (-1L >>> (63 - until))
        id = until + 1
        if (id < 0) return // 2^63-1 was the last
      }
    }
  }

  override def addWord(base: Long, word: Long): Unit = {
    val words = if (blocks == null) null else blocks.find(base >>> 16)
    if (words == null) super.addWord(base, word) else words(base.toInt >>> 6 & 1023) |= word
  }

  override def addBitmap(key: Long, bits: Array[Long]): Unit = {
    val words = blockFor(key)
    var i = 0
    while (i < words.length) {
      words(i) |= bits(i)
      i += 1
    }
  }

  /** Union; `other` is left settled but otherwise as it was. */
  def addAll(other: IdBuffer): Unit = {
    if (other.blocks != null) other.blocks.foreach((key, words) => addBitmap(key, words))
    var i = 0
    while (i < other.n) {
      add(other.ids(i))
      i += 1
    }
  }

  /** Bitmap of a block, made when missing; ids of that block which stand in the array are picked up by `settle`. */
  private def blockFor(key: Long): Array[Long] = {
    if (blocks == null) blocks = new DenseBlocks
    blocks.findOrMake(key)
  }

  private def makeRoom(): Unit =
    if (n < SettleFrom) grow()
    else {
      settle()
      promote()
      if (n > ids.length / 2) grow()
    }

  private def grow(): Unit = {
    if (n >= MaxIds) LineageErrors.tooLarge(s"a group of more than $MaxIds scattered row ids does not fit into one lineage value")
    ids = Arrays.copyOf(ids, if (n == 0) 4 else math.min(n * 2L, MaxIds).toInt)
  }

  /** After it the array ascends strictly, and shares no block with the bitmaps. */
  def settle(): Unit = {
    if (!ascending) {
      n = SortedIds.settle(ids, 0, n)
      ascending = true
    }
    if (blocks != null) moveRuns(minimum = 1, onlyExisting = true)
  }

  private def promote(): Unit = moveRuns(DenseCount, onlyExisting = false)

  /** Moves the blocks of the (ascending) array that hold `minimum` ids or more into bitmaps. */
  private def moveRuns(minimum: Int, onlyExisting: Boolean): Unit = {
    var kept = 0
    var i = 0
    while (i < n) {
      val key = ids(i) >>> 16
      val from = i
      i += 1
      while (i < n && (ids(i) >>> 16) == key) i += 1
      val words =
        if (onlyExisting) blocks.find(key) else if (i - from >= minimum) blockFor(key) else null
      if (words != null) {
        var j = from
        while (j < i) {
          words(ids(j).toInt >>> 6 & 1023) |= 1L << ids(j)
          j += 1
        }
      } else {
        if (kept != from) System.arraycopy(ids, from, ids, kept, i - from)
        kept += i - from
      }
    }
    n = kept
  }

  // As a source: call `settle` first.

  override def count: Long = n + (if (blocks == null) 0L else blocks.count)

  override def largest: Long = {
    val inArray = if (n == 0) -1L else ids(n - 1)
    if (blocks == null) inArray else math.max(inArray, blocks.largest)
  }

  override def foreach(consumer: IdConsumer): Unit =
    if (blocks == null) {
      if (n > 0) consumer.accept(ids, 0, n)
    } else {
      val expanded = new Array[Long](1 << 16)
      var at = 0
      blocks.foreachAscending { (key, words) =>
        var until = at
        while (until < n && ids(until) >>> 16 < key) until += 1
        if (until > at) consumer.accept(ids, at, until)
        at = until
        consumer.accept(expanded, 0, DenseBlocks.expand(key, words, expanded))
      }
      if (at < n) consumer.accept(ids, at, n)
    }

  def hasBitmaps: Boolean = blocks != null
}

object IdBuffer {
  private val NoIds = Array.emptyLongArray
  private val SettleFrom = 1 << 14
  private val DenseCount = 1024
  private val MaxIds = Int.MaxValue - 16
}

/** Bitmaps of 2^16 ids each, by `id >>> 16`: open addressing, and the last one found is tried first. */
private final class DenseBlocks {
  private var keys = Array.fill(16)(-1L)
  private var bitmaps = new Array[Array[Long]](16)
  private var n = 0
  private var lastKey = -1L
  private var lastWords: Array[Long] = _

  def find(key: Long): Array[Long] =
    if (key == lastKey) lastWords
    else {
      val words = bitmaps(slot(key))
      if (words != null) {
        lastKey = key
        lastWords = words
      }
      words
    }

  def findOrMake(key: Long): Array[Long] = {
    var words = find(key)
    if (words == null) {
      if (2 * n >= keys.length) rehash()
      words = new Array[Long](1024)
      put(key, words)
      n += 1
    }
    words
  }

  private def slot(key: Long): Int = {
    var i = ((key * 0x9e3779b97f4a7c15L) >>> 32).toInt & (keys.length - 1)
    while (keys(i) != -1 && keys(i) != key) i = i + 1 & (keys.length - 1)
    i
  }

  private def put(key: Long, words: Array[Long]): Unit = {
    val i = slot(key)
    keys(i) = key
    bitmaps(i) = words
  }

  private def rehash(): Unit = {
    val oldKeys = keys
    val oldBitmaps = bitmaps
    keys = Array.fill(oldKeys.length * 2)(-1L)
    bitmaps = new Array[Array[Long]](keys.length)
    for (i <- oldKeys.indices if oldKeys(i) != -1) put(oldKeys(i), oldBitmaps(i))
  }

  def count: Long = {
    var total = 0L
    foreach { (_, words) =>
      var i = 0
      while (i < words.length) {
        total += java.lang.Long.bitCount(words(i))
        i += 1
      }
    }
    total
  }

  def largest: Long = {
    val key = keys.max
    val words = bitmaps(slot(key))
    val top = words.lastIndexWhere(_ != 0)
    key << 16 | top.toLong << 6 | (63 - java.lang.Long.numberOfLeadingZeros(words(top)))
  }

  def foreach(visit: (Long, Array[Long]) => Unit): Unit =
    for (i <- keys.indices if keys(i) != -1) visit(keys(i), bitmaps(i))

  def foreachAscending(visit: (Long, Array[Long]) => Unit): Unit = {
    val sorted = keys.filter(_ != -1)
    Arrays.sort(sorted)
    for (key <- sorted) visit(key, bitmaps(slot(key)))
  }
}

private object DenseBlocks {

  /** Writes the ids of a bitmap in ascending order and returns how many they are. */
  def expand(key: Long, words: Array[Long], into: Array[Long]): Int = {
    var n = 0
    var i = 0
    while (i < words.length) {
      var word = words(i)
      val base = key << 16 | i.toLong << 6
      while (word != 0) {
        into(n) = base | java.lang.Long.numberOfTrailingZeros(word)
        n += 1
        word &= word - 1
      }
      i += 1
    }
    n
  }
}
