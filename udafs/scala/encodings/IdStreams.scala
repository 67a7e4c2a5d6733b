package org.apache.spark.sql.forwardlineage

import java.util.Arrays

/**
 * How ids travel between buffers and codecs: always strictly ascending, in slices of a primitive array, so that each side
 * runs a plain loop. A 2^16 block of ids (equal `id >>> 16`) is never split over two slices.
 */
abstract class IdConsumer {
  def accept(ids: Array[Long], from: Int, until: Int): Unit
}

/** A finite set of ids that can be read more than once. */
trait IdSource {
  def count: Long

  /** The largest id; only when `count > 0`. */
  def largest: Long
  def foreach(consumer: IdConsumer): Unit
}

/** Ids out of a decoder, in no particular order as far as the receiver knows. */
abstract class IdSink {

  /** `id` is known not to be negative. */
  def add(id: Long): Unit

  /** Adds ids(from until until), none of them negative. */
  def addSlice(ids: Array[Long], from: Int, until: Int): Unit = {
    var i = from
    while (i < until) {
      add(ids(i))
      i += 1
    }
  }

  /** Adds from .. last, both inclusive, within one 2^16 block. */
  def addRun(from: Long, last: Long): Unit = {
    var id = from
    while (id <= last) {
      add(id)
      id += 1
    }
  }

  /** Adds base + i for each bit i of `word`; `base` is a multiple of 64. */
  def addWord(base: Long, word: Long): Unit = {
    var left = word
    while (left != 0) {
      add(base | java.lang.Long.numberOfTrailingZeros(left))
      left &= left - 1
    }
  }

  /** Adds the ids whose bits are set in 1024 words; `key` is their common `id >>> 16`. */
  def addBitmap(key: Long, words: Array[Long]): Unit = {
    var i = 0
    while (i < words.length) {
      addWord(key << 16 | i.toLong << 6, words(i))
      i += 1
    }
  }
}

object SortedIds {

  private val MostRuns = 64
  private val LeastIds = 512 // of fewer, sorting is done before runs are found

  /** Sorts ids(from until until) and drops duplicates; returns how many are left. */
  def settle(ids: Array[Long], from: Int, until: Int): Int = {
    if (endOfRun(ids, from, until) >= until) return until - from
    if (until - from < LeastIds || !putRunsInOrder(ids, from, until)) Arrays.sort(ids, from, until)
    var kept = from + 1
    var i = from + 1
    while (i < until) {
      if (ids(i) != ids(kept - 1)) {
        ids(kept) = ids(i)
        kept += 1
      }
      i += 1
    }
    kept - from
  }

  private def endOfRun(ids: Array[Long], from: Int, until: Int): Int = {
    var i = from + 1
    while (i < until && ids(i - 1) < ids(i)) i += 1
    i
  }

  /**
   * Sorts what is a few ascending runs, none of which reaches into another, as partial sets of one table's splits are when they come in any order;
   * returns false, and has changed nothing, where that is not so.
   */
  private def putRunsInOrder(ids: Array[Long], from: Int, until: Int): Boolean = {
    val starts = new Array[Int](MostRuns + 1)
    var runs = 0
    var at = from
    while (at < until) {
      if (runs == MostRuns) return false
      starts(runs) = at
      runs += 1
      at = endOfRun(ids, at, until)
    }
    starts(runs) = until
    val order = Array.range(0, runs).sortBy(run => ids(starts(run)))
    for (i <- 1 until runs) if (ids(starts(order(i - 1) + 1) - 1) > ids(starts(order(i)))) return false
    val before = Arrays.copyOfRange(ids, from, until)
    at = from
    for (run <- order) {
      val size = starts(run + 1) - starts(run)
      System.arraycopy(before, starts(run) - from, ids, at, size)
      at += size
    }
    true
  }
}

/** The first `n` of `ids`, strictly ascending. */
final class SortedIds(ids: Array[Long], n: Int) extends IdSource {
  override def count: Long = n
  override def largest: Long = ids(n - 1)
  override def foreach(consumer: IdConsumer): Unit = if (n > 0) consumer.accept(ids, 0, n)
}

/** Collects ids of a decoder that gives them in ascending order. */
final class ArraySink(size: Int) extends IdSink {
  val ids = new Array[Long](size)
  private var n = 0

  override def add(id: Long): Unit = {
    ids(n) = id
    n += 1
  }

  override def addSlice(some: Array[Long], from: Int, until: Int): Unit = {
    System.arraycopy(some, from, ids, n, until - from)
    n += until - from
  }
}

/** Only counts. */
final class CountIds extends IdSink {
  var count = 0L
  override def add(id: Long): Unit = count += 1
  override def addSlice(ids: Array[Long], from: Int, until: Int): Unit = count += until - from
  override def addWord(base: Long, word: Long): Unit = count += java.lang.Long.bitCount(word)
  override def addRun(from: Long, last: Long): Unit = count += last - from + 1
}

/** Only looks for one id. */
final class FindId(wanted: Long) extends IdSink {
  var found = false
  override def add(id: Long): Unit = if (id == wanted) found = true
  override def addRun(from: Long, last: Long): Unit = if (from <= wanted && wanted <= last) found = true
  override def addWord(base: Long, word: Long): Unit =
    if (base == (wanted & ~63L) && (word >>> wanted & 1) == 1) found = true
}
