package org.apache.spark.sql.forwardlineage

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Arrays

/**
 * Filters of tuples, as `forward_lineage.approximate.filters` makes them: they answer as those do, bit for bit.
 *
 * A tuple is the hashes of its values, and whether each place is given; another one is free (a wildcard).
 */
sealed trait TupleFilter {
  def mayOccur(hashes: Array[Long], given: Array[Boolean]): Boolean
}

object TupleKeys {
  private val Step = 0x9E3779B97F4A7C15L

  /** The end of MurmurHash3. */
  def mixed(number: Long): Long = {
    var found = number ^ (number >>> 33)
    found *= 0xFF51AFD7ED558CCDL
    found ^= found >>> 33
    found *= 0xC4CEB9FE1A85EC53L
    found ^ (found >>> 33)
  }

  /** What a value adds to the key of a tuple, in a column. */
  def salted(hash: Long, column: Int): Long = mixed(hash + (column + 1) * Step)

  def of(hashes: Array[Long], given: Array[Boolean]): Long = {
    var sum = 0L
    for (column <- hashes.indices) if (given(column)) sum += salted(hashes(column), column)
    mixed(sum)
  }
}

/** A binary fuse filter: each key has four cells of `width` bits, whose contents add up (XOR) to its fingerprint. */
final class FuseFilter(cells: Array[Byte], width: Int, segment: Long, segments: Long, seed: Long, size: Long) {
  private val mask = (1 << width) - 1

  def contains(key: Long): Boolean =
    if (size == 0 || width == 0) size > 0
    else {
      val hash = TupleKeys.mixed(key + TupleKeys.mixed(seed + 1))
      val first = ((hash >>> 32) * (segments * segment)) >>> 32
      val within = TupleKeys.mixed(hash ^ 0xFFFFFFFFL)
      var found = at(first)
      for (place <- 1 to 3) found ^= at((first + place * segment) ^ ((within >>> (18 * (place - 1))) & (segment - 1)))
      found == (hash & mask)
    }

  private def at(cell: Long): Int = {
    val bit = cell * width
    val byte = (bit >>> 3).toInt
    (((cells(byte) & 0xff) | (cells(byte + 1) & 0xff) << 8) >>> (bit & 7).toInt) & mask
  }
}

final class FuseOfTuples(keys: FuseFilter) extends TupleFilter {
  override def mayOccur(hashes: Array[Long], given: Array[Boolean]): Boolean = keys.contains(TupleKeys.of(hashes, given))
}

/**
 * A bit for each tuple that there could be.
 *
 * @param values for each column the hashes of its values, ascending as unsigned numbers
 */
final class BitmapFilter(marked: Array[Byte], values: Array[Array[Long]]) extends TupleFilter {
  private val signed = values.map(_.map(_ ^ Long.MinValue))

  override def mayOccur(hashes: Array[Long], given: Array[Boolean]): Boolean = {
    var cell = 0L
    var known = true
    for (column <- signed.indices) {
      val place = if (given(column)) Arrays.binarySearch(signed(column), hashes(column) ^ Long.MinValue) + 1 else 0
      known &= place > 0 || !given(column)
      cell = cell * (signed(column).length + 1) + place
    }
    known && ((marked((cell >>> 3).toInt) >>> (cell & 7).toInt) & 1) == 1
  }
}

/** A prefilter, a classifier with scores in whole numbers, and a filter of those that score too low. */
final class LearnedFilter(before: FuseFilter, model: Classifier, threshold: Long, behind: FuseFilter) extends TupleFilter {
  override def mayOccur(hashes: Array[Long], given: Array[Boolean]): Boolean = {
    val key = TupleKeys.of(hashes, given)
    before.contains(key) && (model.score(hashes, given) >= threshold || behind.contains(key))
  }
}

/** For each value a vector of its bucket; their sum, negative numbers cut off, is weighted. */
final class Classifier(starts: Array[Int], buckets: Array[Int], vectors: Array[Byte], bias: Array[Int], weights: Array[Byte]) {
  def score(hashes: Array[Long], given: Array[Boolean]): Long = {
    val total = bias.clone()
    for (column <- buckets.indices) {
      val bucket = starts(column) + (if (given(column)) (hashes(column) & (buckets(column) - 1)).toInt + 1 else 0)
      for (i <- total.indices) total(i) += vectors(bucket * total.length + i)
    }
    total.indices.map(i => math.max(total(i), 0).toLong * weights(i)).sum
  }
}

/** Pairs of a value and a file, by the file's number. */
final class FileFilter(pairs: FuseFilter) {
  def mayHave(file: Int, hashes: Array[Long], given: Array[Boolean]): Boolean = {
    val place = Blake2b.hash(s"i$file".getBytes(US_ASCII))
    hashes.indices.forall(column => !given(column) || pairs.contains(TupleKeys.mixed(TupleKeys.salted(hashes(column), column) + place)))
  }
}
